"""Lay side by side what a job's schedules implied and what the ledger says became of it: every instant, and why.

What was implied is computed anew from the versions that the schedule has had; so a row that is missing is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from kova_auto.core.ids import JobName, RunId
from kova_auto.core.ledger import Occurrence, ScheduleVersion
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.value import Value
from kova_auto.core.view import RunRow

EDITED = "the schedule was changed before anybody looked"
UNSEEN = "no service has looked since"
FOR_ANOTHER = "waits for the job's run before it"
FOR_A_SLOT = "waits for a slot"
FOR_ITS_WORKSPACE = "waits for its workspace"
TICK = timedelta.resolution


class Fate(StrEnum):
    """Say what became of an instant, or is to become of it.

    The first four are the ledger's own; what has its run, but no slot or no workspace for it yet, is pending. `DUE`:
    its time has come and nobody has looked since. `SUPERSEDED`: nobody had looked when the schedule was changed.
    `MISSING`: the ledger has gone past it, and has no row.
    """

    RAN = "ran"
    PENDING = "pending"
    SKIPPED = "skipped"
    MISSED = "missed"
    UPCOMING = "upcoming"
    DUE = "due"
    SUPERSEDED = "superseded"
    MISSING = "missing"


class Meant(Value):
    """Hold a run that was meant for an instant: the schedule's own, or one that filled it in afterwards."""

    run_id: RunId
    execution: str
    outcome: str | None
    reason: str
    started_at: datetime | None
    finished_at: datetime | None
    waits_for: str = ""

    @property
    def waits(self) -> str:
        """Say what it waits for, where it has not begun; empty where it has, or never will."""
        if self.started_at or self.finished_at:
            return ""
        return f"{FOR_ITS_WORKSPACE}: {self.waits_for} has it" if self.waits_for else FOR_A_SLOT


class Line(Value):
    """Hold one instant, or a stretch of them that shares a row.

    Attributes:
        nominal_at: UTC; the first of them where there are several.
        until_at: The last of several; else None.
        count: How many instants it stands for.
        due_at: Nominal plus jitter.
        schedule: Hash of the version that implied it.
        why: Empty where there is nothing to say.
        settled_at: When it became what it is; None where that is not known.
        late_s: How long after it was due that was; None where that is not known.
        expect_at: A success was expected by then; None where none was, or it came in time.
        late_at: When it was noticed that none had come.
        recovered_at: When one came after all.
        run_id: The schedule's own run; None where there is none.
        runs: All runs that were meant for it, oldest first.
    """

    job: JobName
    nominal_at: datetime
    until_at: datetime | None = None
    count: int = 1
    due_at: datetime
    schedule: str
    fate: Fate
    why: str = ""
    settled_at: datetime | None = None
    late_s: float | None = None
    expect_at: datetime | None = None
    late_at: datetime | None = None
    recovered_at: datetime | None = None
    run_id: RunId | None = None
    runs: tuple[Meant, ...] = ()


@dataclass(frozen=True, slots=True)
class Spell:
    """Hold how long a version of a schedule was in effect.

    Attributes:
        schedule: Its hash.
        timetable: None where it implies nothing that can be foretold.
        begun_at: Excluded: what it implies lies behind.
        ended_at: Included; None while it is in effect.
        cursor: Up to here, included, each instant must have its row.
    """

    schedule: str
    timetable: Timetable | None
    begun_at: datetime
    ended_at: datetime | None
    cursor: datetime


@dataclass(frozen=True, slots=True)
class Record:
    """Hold what is on record of one job.

    Attributes:
        spells: Oldest first.
        rows: Of which an instant lies in the stretch, oldest first.
        runs: That were meant for an instant of the stretch, oldest first.
    """

    job: JobName
    spells: Sequence[Spell]
    rows: Sequence[Occurrence]
    runs: Sequence[RunRow] = ()


def spells(
    versions: Sequence[ScheduleVersion],
    timetables: Sequence[Timetable | None],
    cursor: datetime | None,
    rows: Iterable[Occurrence],
) -> list[Spell]:
    """Return how long each version of one job's schedule was in effect.

    Args:
        versions: Oldest first.
        timetables: What each of them implies.
        cursor: Of the newest version; None where no service has seen it.
        rows: Of the job: an earlier version is accounted for up to its newest row.
    """
    newest: dict[str, list[datetime]] = {}
    for row in rows:
        newest.setdefault(row.schedule, []).append(row.until_at or row.nominal_at)
    found: list[Spell] = []
    for place, (version, timetable) in enumerate(zip(versions, timetables, strict=True), start=1):
        ended_at = versions[place].begun_at if place < len(versions) else None
        if ended_at is None:
            seen = cursor or version.begun_at
        else:
            instants = [at for at in newest.get(version.schedule, ()) if version.begun_at < at <= ended_at]
            seen = max(instants, default=version.begun_at)
        found.append(Spell(version.schedule, timetable, version.begun_at, ended_at, seen))
    return found


def calendar(record: Record, since: datetime, until: datetime, now: datetime, *, limit: int) -> list[Line]:
    """Return every instant from `since`, included, to `until`, excluded, with what became of it, oldest first.

    Args:
        record: Of one job.
        since: UTC.
        until: UTC.
        now: UTC: what is later is to come.
        limit: So many lines at most, the oldest.
    """
    runs: dict[datetime, list[RunRow]] = {}
    for run in record.runs:
        if run.nominal_at is not None:
            runs.setdefault(run.nominal_at, []).append(run)
    lines = [_of_row(row, runs) for row in record.rows]
    covered = _Covered(record.rows)
    for spell in record.spells:
        # `limit` of a spell's own are enough: whatever is left out is later than all of them.
        lines += _take(_uncovered(record.job, spell, covered, since, until, now), limit, runs)
    return sorted(lines, key=lambda line: line.nominal_at)[:limit]


class _Covered:
    """Know which instants have a row."""

    def __init__(self, rows: Iterable[Occurrence]) -> None:
        self._single = {row.nominal_at for row in rows}
        self._spans = sorted((row.nominal_at, row.until_at, row.schedule) for row in rows if row.until_at)

    def until(self, nominal: datetime, schedule: str) -> datetime | None:
        """Return up to where, included, an instant is covered by the row that holds it; None where none does."""
        if nominal in self._single:
            found = [last for first, last, _ in self._spans if first == nominal]
            return found[0] if found else nominal
        for first, last, of in self._spans:
            if first <= nominal <= last and of == schedule:
                return last
        return None


def _uncovered(
    job: JobName, spell: Spell, covered: _Covered, since: datetime, until: datetime, now: datetime
) -> Iterator[Line]:
    """Yield the instants that a version implies and that have no row, oldest first."""
    timetable = spell.timetable
    if timetable is None:
        return
    last = until - TICK if spell.ended_at is None else min(until - TICK, spell.ended_at)
    nominal = timetable.next_nominal(max(spell.begun_at, since - TICK))
    while nominal is not None and nominal <= last:
        end = covered.until(nominal, spell.schedule)
        if end is None:
            yield _without_row(job, spell, timetable, nominal, now)
        nominal = timetable.next_nominal(end or nominal)


def _without_row(job: JobName, spell: Spell, timetable: Timetable, nominal: datetime, now: datetime) -> Line:
    due_at, why = timetable.due_at(nominal), timetable.why_excluded(nominal)
    if nominal <= spell.cursor:
        fate, why = Fate.MISSING, ""
    elif spell.ended_at is not None:
        fate, why = Fate.SUPERSEDED, EDITED
    elif due_at <= now:
        fate, why = Fate.DUE, UNSEEN
    else:
        fate = Fate.UPCOMING
    return Line(job=job, nominal_at=nominal, due_at=due_at, schedule=spell.schedule, fate=fate, why=why)


def _take(found: Iterable[Line], limit: int, runs: dict[datetime, list[RunRow]]) -> Iterator[Line]:
    for line, _ in zip(found, range(limit), strict=False):
        yield line.model_copy(update={"runs": _meant(runs.get(line.nominal_at, ()))})


def _of_row(row: Occurrence, runs: dict[datetime, list[RunRow]]) -> Line:
    end = row.until_at or row.nominal_at
    inside = [run for at, found in runs.items() if row.nominal_at <= at <= end for run in found] if row.until_at else []
    lateness, meant = row.lateness, _meant(inside or runs.get(row.nominal_at, ()))
    fate, why = Fate(row.status.value), row.why
    if fate is Fate.RAN and (waits := next((one.waits for one in meant if one.run_id == row.run_id), "")):
        fate, why = Fate.PENDING, waits
    return Line(
        job=row.job,
        nominal_at=row.nominal_at,
        until_at=row.until_at,
        count=row.count,
        due_at=row.due_at,
        schedule=row.schedule,
        fate=fate,
        why=why or (FOR_ANOTHER if fate is Fate.PENDING else ""),
        settled_at=row.settled_at,
        late_s=None if lateness is None else lateness.total_seconds(),
        expect_at=row.expect_at,
        late_at=row.late_at,
        recovered_at=row.recovered_at,
        run_id=row.run_id,
        runs=meant,
    )


def _meant(runs: Iterable[RunRow]) -> tuple[Meant, ...]:
    return tuple(
        Meant(
            run_id=run.run_id,
            execution=run.execution,
            outcome=run.outcome,
            reason=run.reason,
            started_at=run.started_at,
            finished_at=run.finished_at,
            waits_for=run.waits_for,
        )
        for run in runs
    )
