"""`kova-auto jobs backfill`: have instants of the past filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kova_auto.cli.accounted import accounted
from kova_auto.cli.asking import change, person
from kova_auto.cli.instants import named
from kova_auto.cli.job_rows import JsonDict, iso, local, zone_of
from kova_auto.cli.job_source import JobSource
from kova_auto.cli.options import ConfigOption, JsonOption, now_of, settings_of
from kova_auto.cli.output import say, say_json, table
from kova_auto.core.backfill import Backfill, BackfillOverlap
from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job
from kova_auto.core.schedule.calendar import Record
from kova_auto.core.schedule.parents import SUCCESSES
from kova_auto.core.schedule.search import TICK
from kova_auto.core.schedule.timetable import fates
from kova_auto.core.view import RunRow
from kova_auto.scheduling.triggers import timetable_of

if TYPE_CHECKING:
    from kova_auto.app.control import Control
    from kova_auto.settings.model import Settings

HELP = """\
Have the instants of the past filled in that had no good run: one run for each, told that instant as its date.

The instants are those that the job's schedule, as it is now, implies from --from, included, to --to, not included.
Excluded ones and those to come are left out; so are those that had a run which ended as done or nothing_to_report,
unless you say --all, and those whose run goes on or waits already. More than --limit is an error, and nothing is done.

The service works them off, oldest first, each by itself; with --overlap queue one begins when no other run of the job
goes on. --dry-run only lists them. --drop lets what still waits be.
"""
SHORT = "Have instants of the past filled in."
_LOOKED_AT: Final = 100_000
GOOD, UNDER_WAY, WAITS, FILLS = "had a good run", "its run goes on", "waits already", "is filled in"


@dataclass(frozen=True, slots=True)
class Gap:
    """Hold one instant of the range: what is known of it, and whether it is to be filled in."""

    nominal_at: datetime
    what: str
    run: RunRow | None = None

    @property
    def fills(self) -> bool:
        """Say whether a run is to be opened for it."""
        return self.what == FILLS


def backfill(  # noqa: PLR0913 - one for each option
    context: typer.Context,
    job: Annotated[str, typer.Argument(metavar="JOB", help="Name of a job, or a job file.", show_default=False)],
    *,
    since: Annotated[
        str | None, typer.Option("--from", metavar="INSTANT", help="Begin here, included, as 2026-03-28.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--to", metavar="INSTANT", help="End here, not included. A date is its midnight.")
    ] = None,
    overlap: Annotated[
        BackfillOverlap, typer.Option(metavar="HOW", help=f"Beside other runs of it: {', '.join(BackfillOverlap)}.")
    ] = BackfillOverlap.QUEUE,
    every: Annotated[bool, typer.Option("--all", help="Fill in those that had a good run too.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=10_000, metavar="NUMBER", help="So many at most.")] = 100,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list them.")] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Let what still waits be.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Fill instants in, or say which."""
    settings, now = settings_of(config), now_of(context)
    source = JobSource(settings)
    path = source.paths([job])[0]
    if drop:
        _drop(settings, path.stem, alone=not (since or until or every or dry_run))
        return
    loaded = source.load(path)
    begin, end = _stretch(source, since, until)
    gaps = _gaps(settings, loaded, begin, min(end, now), now, every=every, limit=limit)
    items = [_item(loaded, path, gap, overlap, now) for gap in gaps if gap.fills]
    if items and not dry_run:

        async def question(control: Control) -> tuple[Backfill, ...]:
            return await control.backfill(tuple(items))

        kept = {item.nominal_at for item in change(settings, question, kind="jobs")}
        gaps = [gap if not gap.fills or gap.nominal_at in kept else Gap(gap.nominal_at, WAITS) for gap in gaps]
    if json:
        say_json([_json(loaded, gap, overlap, now, done=not dry_run) for gap in gaps])
    else:
        _say(loaded, gaps, overlap, done=not dry_run)


def _stretch(source: JobSource, since: str | None, until: str | None) -> tuple[datetime, datetime]:
    if since is None or until is None:
        message = f"wanted --from and --to, found {'neither' if since == until else 'one of them'}"
        raise ConfigError(message, hint="for example --from 2026-03-01 --to 2026-04-01")
    begin, end = named("--from", source.instant, since), named("--to", source.instant, until)
    if end <= begin:
        message = f"wanted an end behind the beginning, found {begin.isoformat()} to {end.isoformat()}"
        raise ConfigError(message, key="--to", hint="the end is not included, and a date is its midnight")
    return begin, end


def _gaps(
    settings: Settings, job: Job, begin: datetime, end: datetime, now: datetime, *, every: bool, limit: int
) -> list[Gap]:
    """Return the instants of the range that are not excluded, oldest first.

    Raises:
        ConfigError: The job has no such schedule, or more than `limit` were to be filled in.
    """
    if begin >= end:
        return []
    (record,) = accounted(settings, [job.path], begin, end, now).records
    begun_at = record.spells[-1].begun_at if record.spells else None
    timetable = timetable_of(job, begun_at, settings.calendar_dates)
    if timetable is None or timetable.next_nominal(begin - TICK) is None:
        message = "wanted a schedule that implies instants from then on, found none"
        raise ConfigError(message, path=job.path, key="schedule")
    known, waiting = _runs(record), _waiting(settings, job.name)
    found: list[Gap] = []
    for nominal, excluded in fates(timetable, begin - TICK, end - TICK, limit=_LOOKED_AT):
        if not excluded:
            found.append(_gap(nominal, known.get(nominal, ()), is_waiting=nominal in waiting, every=every))
    if (wanted := sum(gap.fills for gap in found)) > limit:
        message = f"wanted at most {limit} instants to fill in, found {wanted}"
        raise ConfigError(message, key="--limit", hint="ask for a shorter time, or raise it")
    return found


def _gap(nominal: datetime, runs: Sequence[RunRow], *, is_waiting: bool, every: bool) -> Gap:
    if is_waiting:
        return Gap(nominal, WAITS)
    if going := next((run for run in runs if run.finished_at is None), None):
        return Gap(nominal, UNDER_WAY, going)
    good = next((run for run in runs if run.outcome in SUCCESSES), None)
    return Gap(nominal, GOOD, good) if good and not every else Gap(nominal, FILLS, good)


def _runs(record: Record) -> Mapping[datetime, list[RunRow]]:
    found: dict[datetime, list[RunRow]] = {}
    for run in record.runs:
        if run.nominal_at:
            found.setdefault(run.nominal_at, []).append(run)
    return found


def _waiting(settings: Settings, job: str) -> set[datetime]:
    async def question(control: Control) -> tuple[Backfill, ...]:
        return await control.backfills(job)

    return {item.nominal_at for item in change(settings, question, kind="jobs")}


def _item(job: Job, path: Path, gap: Gap, overlap: BackfillOverlap, now: datetime) -> Backfill:
    return Backfill(
        job=JobName(job.name),
        nominal_at=gap.nominal_at,
        asked_at=now,
        path=str(path.absolute()),
        by=person(),
        overlap=overlap,
        at_once=job.policy.max_parallel,
    )


def _drop(settings: Settings, job: str, *, alone: bool) -> None:
    if not alone:
        message = "--drop lets everything of the job be that waits: wanted it without --from, --to, --all, --dry-run"
        raise ConfigError(message)

    async def question(control: Control) -> int:
        return await control.drop_backfills(job)

    count = change(settings, question, kind="jobs")
    say(f"{count} of {job} waited, and {'is' if count == 1 else 'are'} not filled in.")


def _say(job: Job, gaps: Sequence[Gap], overlap: BackfillOverlap, *, done: bool) -> None:
    zone = zone_of(job)
    rows = [(local(gap.nominal_at, zone), iso(gap.nominal_at) or "", _what(gap)) for gap in gaps]
    if rows:
        say(table(("LOCAL", "UTC", "WHAT"), rows))
    count = sum(gap.fills for gap in gaps)
    if not count:
        say("Nothing is to be filled in.")
        return
    runs = "1 instant" if count == 1 else f"{count} instants"
    if done:
        say(f"{runs} to fill in ({overlap}): kova-auto serve works them off; kova-auto jobs calendar shows how far.")
    else:
        say(f"{runs} would be filled in ({overlap}); nothing was done.")


def _what(gap: Gap) -> str:
    return f"{gap.what}: {gap.run.run_id}" if gap.run and not gap.fills else gap.what


def _json(job: Job, gap: Gap, overlap: BackfillOverlap, now: datetime, *, done: bool) -> JsonDict:
    return {
        "job": job.name,
        "nominal_at": iso(gap.nominal_at),
        "local": gap.nominal_at.astimezone(zone_of(job)).isoformat(),
        "what": gap.what,
        "fills": gap.fills,
        "asked_at": iso(now) if gap.fills and done else None,
        "overlap": overlap.value,
        "run_id": gap.run.run_id if gap.run else None,
    }
