"""Open runs that no clock implies: when the service starts, and when other jobs have ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.job import Outcome, Policy
from kova_auto.core.ledger import OccurrenceStatus
from kova_auto.core.schedule.occurrences import LATER, OUTSIDE, SKIP, WINDOW, Due, grace
from kova_auto.core.schedule.overlap import EXPIRED
from kova_auto.core.schedule.parents import ParentEnd, Ready, ready
from kova_auto.core.schedule.startup import why_suppressed
from kova_auto.core.schedule.triggers import AfterTrigger, StartupTrigger, WebhookTrigger
from kova_auto.core.view import RunRow
from kova_auto.scheduling.claiming import Given
from kova_auto.scheduling.means import TAINTED, Means
from kova_auto.scheduling.roster import Scheduled

OVERLOOKED: Final = timedelta(seconds=60)
"""An end may be written so long after its instant, when later ones were seen already."""


@dataclass(frozen=True, slots=True)
class Occurred:
    """Hold what happened that makes a job run: what becomes of it, and where the cursor goes."""

    due: tuple[Due, ...]
    cursor: datetime
    given: Given


def at_start(scheduled: Scheduled, cursor: datetime, started_at: datetime, previous_at: datetime | None) -> Occurred:
    """Return what becomes of a start of the service."""
    timetable = scheduled.timetable
    is_new = cursor == scheduled.begun_at  # It was found at this very start, whenever in the second that was.
    if (started_at <= cursor and not is_new) or not timetable.covers(started_at):
        return Occurred((), cursor, {})
    why = timetable.why_excluded(started_at) or why_suppressed(started_at, previous_at)
    item = Due(started_at, OccurrenceStatus.RAN, due_at=started_at)
    return Occurred((item.skipped(why) if why else item,), max(cursor, started_at), {})


async def after_ends(means: Means, scheduled: Scheduled, trigger: AfterTrigger, cursor: datetime) -> Occurred:
    """Return what becomes of the ends of a job's parents since its cursor."""
    since = max(scheduled.begun_at, cursor - OVERLOOKED)
    ends = [end for row in await means.views.ended(since) if (end := _end(row))]
    if len(trigger.parents) > 1:  # What came before the cursor is used up.
        ends = [end for end in ends if end.at > cursor]
        done = set[datetime]()
    else:
        done = {row.nominal_at for row in await means.ledger.occurrences(scheduled.name, limit=1000)}
    covers = scheduled.timetable.covers
    found = [one for one in ready(trigger, ends) if one.nominal_at not in done and covers(one.nominal_at)]
    due = _due(scheduled, found, means.clock.now())
    runs = {item.nominal_at for item in due if item.runs}
    given = {one.nominal_at: await _given(means, one) for one in found if one.nominal_at in runs}
    return Occurred(due, max([cursor, *(one.nominal_at for one in found)]), given)


def _due(scheduled: Scheduled, found: Sequence[Ready], now: datetime) -> tuple[Due, ...]:
    """Return what becomes of each time at which a job was ready."""
    late = _why_missed(scheduled.job.policy, [one.nominal_at for one in found], now)
    due: list[Due] = []
    for one in found:
        item = Due(one.nominal_at, OccurrenceStatus.RAN, due_at=one.nominal_at)
        if excluded := scheduled.timetable.why_excluded(one.nominal_at):
            item = item.skipped(excluded)
        elif why := EXPIRED if one.is_late(now) else late.get(one.nominal_at):
            item = Due(one.nominal_at, OccurrenceStatus.MISSED, why)
        due.append(item)
    return tuple(due)


def _why_missed(policy: Policy, instants: Sequence[datetime], now: datetime) -> dict[datetime, str]:
    """Return why instants that came too late do not run: `missed` counts for them."""
    window = WINDOW if policy.missed_window is None else policy.missed_window
    late = [at for at in instants if now - at > grace(policy)]
    if policy.missed == "skip":
        return dict.fromkeys(late, SKIP)
    inside = [at for at in late if now - at <= window]
    runs = inside[-(policy.missed_max if policy.missed == "all" else 1) :]
    return {at: LATER if at in inside else OUTSIDE for at in late if at not in runs}


def _end(row: RunRow) -> ParentEnd | None:
    if row.finished_at is None or row.outcome is None:
        return None
    return ParentEnd(row.job, row.run_id, row.finished_at, Outcome(row.outcome))


async def _given(means: Means, one: Ready) -> tuple[tuple[str, str], ...]:
    """Return what a run is told of its parents' ends: of each its job, run, outcome and answer."""
    answers, tainted = [], ""
    for end in one.ends:
        state = await means.journal.load(end.run_id)
        answers.append(state.finished.answer if state.finished else "")
        if state.tainted_by:
            tainted = f"the answer of {end.job}, which had read {state.tainted_by}"
    told: dict[str, list[str]] = {
        "parent": [end.job for end in one.ends],
        "parent_run": [end.run_id for end in one.ends],
        "parent_outcome": [end.outcome.value for end in one.ends],
        "parent_answer": answers,
        TAINTED: [tainted],
    }
    return tuple((name, "\n".join(values)) for name, values in told.items())


async def given_at(means: Means, scheduled: Scheduled, nominal_at: datetime) -> tuple[tuple[str, str], ...]:
    """Return what the run of an instant is told of its parents' ends, or was asked with, where that has waited."""
    trigger = scheduled.timetable.trigger
    if isinstance(trigger, WebhookTrigger):
        request = await means.hooks.at(scheduled.name, nominal_at) if means.hooks else None
        return request.given if request else ()
    if not isinstance(trigger, AfterTrigger):
        return ()
    rows = await means.views.ended(scheduled.begun_at)
    ends = [end for row in rows if (end := _end(row)) and end.at <= nominal_at]
    found = next((one for one in ready(trigger, ends) if one.nominal_at == nominal_at), None)
    return await _given(means, found) if found else ()


def is_startup(scheduled: Scheduled) -> bool:
    """Say whether a job runs when the service starts."""
    return isinstance(scheduled.timetable.trigger, StartupTrigger)
