"""Which jobs' schedules rest: because somebody said so, or because of how a run of theirs ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kova_auto.core.ids import JobName
from kova_auto.core.value import Value

PAUSED = "paused"
"""Why an occurrence is skipped while its job's schedule rests."""


class JobMark(Value):
    """Say that a job's schedule rests, or goes on, since an instant.

    A run may let its job rest too (`RunFinished.pauses`): whichever is newer holds.

    Attributes:
        catch_up: What was skipped while it rested is still to be caught up with, as far as `missed` says so.
    """

    job: JobName
    at: datetime
    paused: bool
    by: str
    reason: str = ""
    catch_up: bool = False


class Pause(Value):
    """Hold since when a job's schedule rests, and why.

    Attributes:
        by: Who said so, or `run` and the id of the run whose end did.
    """

    job: JobName
    at: datetime
    by: str
    reason: str = ""


def pauses(marks: Iterable[JobMark], ended: Iterable[Pause]) -> dict[JobName, Pause]:
    """Return the jobs whose schedules rest.

    Args:
        marks: The newest of each job.
        ended: Of each job whose last run ended in a way that lets its schedule rest, what that end says.
    """
    newest = {mark.job: mark for mark in marks}
    said = {mark.job: _said(mark) for mark in newest.values() if mark.paused}
    by_runs = {pause.job: pause for pause in ended if pause.job not in newest or pause.at > newest[pause.job].at}
    return said | by_runs


def _said(mark: JobMark) -> Pause:
    return Pause(job=mark.job, at=mark.at, by=mark.by, reason=mark.reason)
