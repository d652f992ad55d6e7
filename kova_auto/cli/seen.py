"""Know since when a service has seen the schedules whose grid is counted from then."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kova_auto.cli.asking import ask
from kova_auto.cli.output import complain
from kova_auto.core.errors import KovaError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job

if TYPE_CHECKING:
    from kova_auto.app.control import Answers
    from kova_auto.core.ledger import ScheduleVersion
    from kova_auto.settings.model import Settings

_NEVER: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def first_seen(settings: Settings | None, jobs: Iterable[Job], *, asks: bool = True) -> dict[JobName, datetime]:
    """Return since when a service has the schedule that a job's file has, where its grid is counted from that.

    Where that cannot be had, it is said, and the rest of the answer stands; a schedule that is new is left out.

    Args:
        settings: Of the service; None where only files were named.
        jobs: As their files have them.
        asks: A service, or its database, may be asked, where nothing can be seen at a glance.
    """
    wanted = {JobName(job.name): job.schedule for job in jobs if job.schedule and _counts_from_then(job)}
    if settings is None or not wanted:
        return {}
    try:
        known = _known(settings, asks=asks)
    except KovaError as exc:
        complain(f"since when schedules are counted is not known: {exc}", "note")
        return {}
    mine = {name: known[name] for name, schedule in wanted.items() if name in known}
    return {name: version.begun_at for name, version in mine.items() if version.body == wanted[name].model_dump_json()}


def _counts_from_then(job: Job) -> bool:
    return job.schedule is not None and job.schedule.every is not None and job.schedule.anchor is None


def _known(settings: Settings, *, asks: bool) -> dict[JobName, ScheduleVersion]:
    from kova_auto.app.glance import schedules_at_a_glance

    seen = schedules_at_a_glance(settings)
    if seen is None and asks:
        return {version.job: version for version in ask(settings, _versions, kind="jobs")}
    return seen or {}


async def _versions(answers: Answers) -> tuple[ScheduleVersion, ...]:
    return (await answers.annals(None, _NEVER, _NEVER)).versions
