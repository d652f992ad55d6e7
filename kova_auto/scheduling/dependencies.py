"""Check jobs against one another: those that wait for others, at the places where their files say so."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from kova_auto.core.errors import ConfigError, JobFileError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.schedule.dependencies import Fault, faults
from kova_auto.core.toml.document import parse_document, together
from kova_auto.core.toml.places import Key, spell
from kova_auto.settings.text import read_text


def dependency_errors(jobs: Iterable[Job], known: Collection[str]) -> dict[JobName, JobFileError]:
    """Return what is wrong with whom jobs wait for: unknown jobs, circles, chains that are too long.

    Args:
        jobs: Those that were loaded.
        known: Names of all jobs there are, those whose file is broken among them.

    Returns:
        One error for each such job, with file, line and key; the file is read again for the line.
    """
    waiting = {job.name: job for job in jobs if job.schedule and job.schedule.after}
    waits = {name: _parents(job) for name, job in waiting.items()}
    found: dict[JobName, list[JobFileError]] = {}
    for fault in faults(waits, known):
        found.setdefault(JobName(fault.job), []).append(_at_its_place(waiting[fault.job], fault))
    return {name: together(problems) for name, problems in found.items()}


def _parents(job: Job) -> list[str]:
    return [after.job for after in (job.schedule.after if job.schedule else None) or ()]


def _at_its_place(job: Job, fault: Fault) -> JobFileError:
    key: Key = ("schedule", "after", fault.index, "job")
    try:
        document = parse_document(read_text(Path(job.path)), job.path, JobFileError)
    except ConfigError:  # It was changed since: what is wrong with it now is said elsewhere.
        return JobFileError(fault.message, path=job.path, key=spell(key), hint=fault.hint)
    return document.error(key, fault.message, fault.hint)
