"""Give up the runs that were opened and have not begun by their start deadline: no slot was free, or no workspace.

Such a run never begins (`core/step.py` refuses it too, whoever takes it); here it ends without waiting for a slot, and
its row says that it was missed. Where this is cut off in between, the next service finds the run that has ended so.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.errors import FencedError, IllegalEventError, UnknownRunError
from kova_auto.core.event import RunFinished, RunRequested, StopRequested
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Job, Outcome
from kova_auto.core.ledger import Occurrence, OccurrenceStatus
from kova_auto.core.run import RunState
from kova_auto.core.schedule.overlap import EXPIRED
from kova_auto.core.schedule.search import TICK
from kova_auto.core.starting import TOO_LATE, last_start, missed_start
from kova_auto.core.view import RunRow
from kova_auto.scheduling.means import Means, Occasion

LOG = logging.getLogger(__name__)
BY: Final = "schedule"
_LOOK_AGAIN: Final = timedelta(seconds=5)
_BEFORE: Final = timedelta(days=1)
_MANY: Final = 10_000


class Starting:
    """Watch the runs that are to begin by an instant."""

    def __init__(self, means: Means) -> None:
        """Take what it works with."""
        self._means = means
        self._watched: dict[RunId, datetime] = {}
        self._has_looked = False

    async def opening(self, job: Job, occasion: Occasion) -> RunRequested:
        """Return the event that opens a run, and watch that it begins in time; it may come to nothing."""
        run = await self._means.opening(job, occasion)
        self._watch(run)
        return run

    async def look(self) -> datetime | None:
        """End what can begin no more; return when there is to be looked again, None where nothing is watched."""
        if not self._has_looked:
            await self._find()
            self._has_looked = True
        now = self._means.clock.now()
        for run_id in [run_id for run_id, last_at in self._watched.items() if last_at < now]:
            with self._means.grumbles.about(JobName(run_id.partition("@")[0]), now):
                await self._settle(run_id, now)
        at = min(self._watched.values(), default=None)
        return None if at is None else at + TICK if at >= now else now + _LOOK_AGAIN

    def _watch(self, run: RunRequested) -> None:
        if last_at := last_start(run):
            self._watched[run.run_id] = last_at

    async def _find(self) -> None:
        """Find what earlier services have left: runs that wait still, and those that ended without their rows."""
        waiting = await self._means.views.runs(unfinished=True, limit=_MANY)
        ended = await self._means.views.ended(self._means.clock.now() - _BEFORE)
        for row in [*filter(_waits, waiting), *filter(_gave_up, ended)]:
            self._watch((await self._means.journal.load(row.run_id)).request)

    async def _settle(self, run_id: RunId, now: datetime) -> None:
        """End a run that is too late, and have its row say so; let be what has begun, or was never opened."""
        try:
            state = await self._means.journal.load(run_id)
        except UnknownRunError:
            del self._watched[run_id]
            return
        if missed_start(state, now):
            if not state.finished and not await self._end(state, missed_start(state, now), now):
                return  # Somebody has it, and ends it; the next look sees how.
            if not state.finished or state.finished.reason.startswith(TOO_LATE):
                await self._mark(state, now)
        del self._watched[run_id]

    async def _end(self, state: RunState, why: str, now: datetime) -> bool:
        """End a run that nobody has taken yet; False where somebody has, or has asked it to end."""
        stop = StopRequested(at=now, outcome=Outcome.CANCELLED, reason=why, by=BY)
        previous = await self._means.views.previous(JobName(state.job.name), state.run_id)
        end = RunFinished(at=now, outcome=Outcome.CANCELLED, reason=why, previous=previous)
        try:
            await self._means.journal.append(state, end, first=[stop], epoch=0)
        except (FencedError, IllegalEventError):
            return False
        self._means.asked(state.run_id)
        return True

    async def _mark(self, state: RunState, now: datetime) -> None:
        nominal = state.request.nominal_at
        if nominal is None:
            return
        rows = await self._means.ledger.between(JobName(state.job.name), nominal, nominal + TICK)
        for row in [row for row in rows if row.run_id == state.run_id and row.status is OccurrenceStatus.RAN]:
            after = _missed(row, now)
            if await self._means.ledger.settle([row], [after]):
                LOG.info("%s for %s: %s (%s)", row.job, nominal.isoformat(), after.status, after.why)


def _missed(row: Occurrence, now: datetime) -> Occurrence:
    return row.model_copy(update={"status": OccurrenceStatus.MISSED, "why": EXPIRED, "settled_at": now})


def _waits(row: RunRow) -> bool:
    return row.started_at is None and row.nominal_at is not None


def _gave_up(row: RunRow) -> bool:
    return row.reason.startswith(TOO_LATE)
