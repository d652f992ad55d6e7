"""Say what becomes of the requests from outside that were accepted: each has its own row, whatever comes with it.

None is let go for being one of several: each says something else. What `policy` says of instants that come too late
counts where it says so: `start_deadline`, `missed_window`, and `missed = "skip"`.
"""

from __future__ import annotations

import logging
from datetime import datetime

from kova_auto.core.inbound.hook import HookRequest
from kova_auto.core.job import Policy
from kova_auto.core.ledger import NO_SCHEDULE, Occurrence, OccurrenceStatus
from kova_auto.core.schedule.occurrences import OUTSIDE, SKIP, Due, grace
from kova_auto.core.schedule.overlap import CHANGED, EXPIRED
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.scheduling.claiming import said
from kova_auto.scheduling.means import Means
from kova_auto.scheduling.roster import Scheduled
from kova_auto.scheduling.triggering import Occurred

LOG = logging.getLogger(__name__)
BEFORE, AFTER = "before schedule.start", "after schedule.end"


def asked_for(scheduled: Scheduled, request: HookRequest, cursor: datetime, now: datetime) -> Occurred:
    """Return what becomes of a request, with regard to nothing but itself."""
    at = request.received_at
    item = Due(at, OccurrenceStatus.RAN, due_at=at)
    if why := _why_closed(scheduled.timetable, at):
        item = item.skipped(why)
    elif why := _why_late(scheduled.job.policy, at, now):
        item = Due(at, OccurrenceStatus.MISSED, why)
    return Occurred((item,), max(cursor, at), {at: request.given})


async def let_go(means: Means, request: HookRequest) -> None:
    """Account for a request whose job is gone, or is started by something else now."""
    row = Occurrence(
        job=request.job,
        schedule=NO_SCHEDULE,
        nominal_at=request.received_at,
        due_at=request.received_at,
        status=OccurrenceStatus.SKIPPED,
        why=CHANGED,
        settled_at=means.clock.now(),
    )
    if await means.ledger.settle((), (row,)):
        LOG.info("%s", said(row))


def _why_closed(timetable: Timetable, at: datetime) -> str:
    if timetable.covers(at):
        return timetable.why_excluded(at)
    return BEFORE if timetable.start is not None and at < timetable.start else AFTER


def _why_late(policy: Policy, at: datetime, now: datetime) -> str:
    late = now - at
    if late <= grace(policy):
        return ""
    if policy.start_deadline is not None:
        return EXPIRED
    if policy.missed == "skip":
        return SKIP
    return OUTSIDE if policy.missed_window is not None and late > policy.missed_window else ""
