"""Let what waits for its turn begin, stop what it waits for where the job says so, and give up what waited too long."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import StopRequested
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.ledger import Occurrence, OccurrenceStatus
from kova_auto.core.pausing import PAUSED
from kova_auto.core.schedule.occurrences import Due
from kova_auto.core.schedule.overlap import EXPIRED, STUCK, is_stuck, last_start_at, may_begin, why_given_up
from kova_auto.scheduling.claiming import said, settled
from kova_auto.scheduling.means import Means, Occasion
from kova_auto.scheduling.roster import Roster, Scheduled
from kova_auto.scheduling.triggering import given_at

LOG = logging.getLogger(__name__)
FOR_THE_NEXT: Final = "the next instant is due (policy.overlap = cancel_previous)"
BY: Final = "schedule"
_LOOK_AGAIN: Final = timedelta(seconds=5)


class Waiting:
    """Look after the rows that wait."""

    def __init__(self, means: Means, roster: Roster) -> None:
        """Take what it works with."""
        self._means, self._roster = means, roster

    async def look(self, rows: Sequence[Occurrence], paused: Collection[JobName]) -> datetime | None:
        """Settle what can be; return when there is to be looked again at the latest, None where nothing waits."""
        by_job: dict[JobName, list[Occurrence]] = defaultdict(list)
        for row in rows:
            if not self._roster.is_parked(row.job):
                by_job[row.job].append(row)
        soonest: list[datetime] = []
        now = self._means.clock.now()
        for name, waiting in by_job.items():
            at: datetime | None = now + _LOOK_AGAIN
            with self._means.grumbles.about(name, now):
                at = await self._look_after(name, waiting, PAUSED if name in paused else "")
            soonest += [at] if at else []
        return min(soonest, default=None)

    async def _look_after(self, name: JobName, rows: list[Occurrence], paused: str) -> datetime | None:
        """Settle what can be of one job's rows, oldest first."""
        now, scheduled = self._means.clock.now(), self._roster.get(name)
        policy, key = (scheduled.job.policy, scheduled.key) if scheduled else (None, None)
        left: list[Occurrence] = []
        for row in rows:
            if why := why_given_up(row, key, policy, now) or paused:
                await self._give_up(row, why)
            else:
                left.append(row)
        if not left or scheduled is None:
            return None
        running = [row.run_id for row in await self._means.views.runs(job=name, unfinished=True, limit=1000)]
        while left and may_begin(scheduled.job.policy, len(running)):
            running += await self._promote(scheduled, left.pop(0))
        at = [last for row in left if (last := last_start_at(row, scheduled.job.policy))]
        if left and scheduled.job.policy.overlap == "cancel_previous":
            at.append(await self._stop(scheduled, left, running))
        return max(min(at), now) + timedelta(microseconds=1) if at else None

    async def _promote(self, scheduled: Scheduled, row: Occurrence) -> list[RunId]:
        """Let a row's run begin, unless another service did."""
        item = Due(row.nominal_at, OccurrenceStatus.RAN, due_at=row.due_at)
        given = await given_at(self._means, scheduled, row.nominal_at)
        run = await self._means.opening(scheduled.job, Occasion(row.nominal_at, row.due_at, given))
        began, opened, more = settled(self._means, scheduled, item, run)
        if row.late_at is not None:  # That was told already, and it is late for as long as no success has come.
            began = began.model_copy(update={"expect_at": row.expect_at, "late_at": row.late_at})
        if not await self._means.ledger.settle([row], [began], [opened] if opened else []):
            return [RunId("")]  # Who was first has opened it: it runs.
        LOG.info("%s", said(began, more))
        if opened:
            self._means.ring()
        return [opened.run_id] if opened else []

    async def _give_up(self, row: Occurrence, why: str) -> None:
        status = OccurrenceStatus.MISSED if why == EXPIRED else OccurrenceStatus.SKIPPED
        gone = {"status": status, "why": why, "settled_at": self._means.clock.now()}
        if why not in {EXPIRED, STUCK} and row.late_at is None:
            gone["expect_at"] = None
        after = row.model_copy(update=gone)
        if await self._means.ledger.settle([row], [after]):
            LOG.log(logging.ERROR if why == STUCK else logging.INFO, "%s", said(after))

    async def _stop(self, scheduled: Scheduled, rows: Sequence[Occurrence], running: Sequence[RunId]) -> datetime:
        """Have the runs before stop; where one does not, give up what waits. Return when to look again."""
        now, patience = self._means.clock.now(), scheduled.job.limits.cancel_grace
        asked_at = [await self._ask(run_id) for run_id in running if run_id]
        if any(is_stuck(at, patience, now) for at in asked_at):
            for row in rows:
                await self._give_up(row, STUCK)
            return now + _LOOK_AGAIN
        return min((at + patience for at in asked_at), default=now + _LOOK_AGAIN)

    async def _ask(self, run_id: RunId) -> datetime:
        """Ask a run to stop, once; return when it was asked."""
        state = await self._means.journal.load(run_id)
        now = self._means.clock.now()
        if state.stop is not None:
            return state.stop.at
        stop = StopRequested(at=now, outcome=Outcome.CANCELLED, reason=FOR_THE_NEXT, by=BY)
        try:
            await self._means.journal.append(state, stop)
        except IllegalEventError:  # It has ended, or somebody else was first.
            return now
        self._means.asked(run_id)
        return now
