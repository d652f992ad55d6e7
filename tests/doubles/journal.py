"""A journal, its views and its ledger in memory: what the engine's tests run on.

It keeps the JSON of the facts and folds it anew whenever it is asked, so that it cannot disagree with the journal it
stands for; the same suite in `tests/ports` runs against both.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from typing import TypeVar

from kova_auto.core.errors import FencedError, JournalError, UnknownRunError
from kova_auto.core.event import (
    Event,
    Previous,
    RunAcquired,
    RunFinished,
    RunRequested,
    WorkspaceAwaited,
    dump,
    load,
)
from kova_auto.core.fault import LASTING
from kova_auto.core.holding import Hold, rival, wants_workspace, workspace_held, workspace_wanted
from kova_auto.core.ids import BlobHash, DeliveryId, JobName, RunId, blob_hash
from kova_auto.core.ledger import NO_SCHEDULE, Occurrence, OccurrenceStatus, ScheduleVersion, Standing
from kova_auto.core.owed import OPEN
from kova_auto.core.pausing import JobMark, Pause
from kova_auto.core.ports import Agenda, Renewal, Unavailable
from kova_auto.core.run import RunState, apply, fold, opened
from kova_auto.core.view import (
    ApprovalRow,
    DeliveryRow,
    RunRow,
    UsageRow,
    approval_rows,
    delivery_rows,
    run_row,
    usage_rows,
)

R = TypeVar("R")
Hook = Callable[[RunId, Event], None]


@dataclass(frozen=True, slots=True)
class _Lease:
    """Hold who has a run or a delivery, and until when."""

    owner: str
    until: datetime


class _Facts:
    """Keep facts, blobs and leases; `Journal`."""

    def __init__(self, *, before_append: Hook | None = None, after_append: Hook | None = None) -> None:
        """Take what is called just before and just after each fact is kept.

        A hook that raises plays a crash: before, nothing was kept; after, it was, and the writer never hears of it.
        """
        self.before_append, self.after_append = before_append, after_append
        self._texts: dict[RunId, list[str]] = {}
        self._blobs: dict[BlobHash, bytes] = {}
        self._leases: dict[str, _Lease] = {}

    async def open(self, event: RunRequested) -> tuple[RunState, bool]:
        """Open a run, or return the one of this id that is there already (then with False)."""
        if event.run_id in self._texts:
            return self._state(event.run_id), False
        self._keep(event.run_id, event)
        return opened(event), True

    async def load(self, run_id: RunId) -> RunState:
        """Fold a run."""
        return self._state(run_id)

    async def events(self, run_id: RunId, after: int = 0) -> Sequence[tuple[int, Event]]:
        """Return the facts behind position `after`, with their positions, oldest first."""
        texts = self._texts.get(run_id, [])[after:]
        return [(seq, load(text)) for seq, text in enumerate(texts, after + 1)]

    async def append(
        self,
        state: RunState,
        event: Event,
        *,
        first: Sequence[Event] = (),
        epoch: int | None = None,
        blobs: Sequence[bytes] = (),
    ) -> RunState:
        """Write a fact, those that come before it, and the blobs they point to; fold in what others wrote."""
        await asyncio.sleep(0)  # Others get their turn here, as they do in a real journal.
        current = self._state(state.run_id)
        if epoch is not None and epoch != current.epoch:
            msg = f"run {state.run_id} was taken by another worker (epoch {current.epoch}, this one has {epoch})"
            raise FencedError(msg)
        after = reduce(apply, (*first, event), current)
        self._blobs.update((blob_hash(data), data) for data in blobs)
        for one in (*first, event):
            self._keep(state.run_id, one)
        return after

    async def acquire(
        self, run_id: RunId, *, worker: str, now: datetime, lease: timedelta, known: RunState | None = None
    ) -> RunState | Unavailable:
        """Take a run whose lease is free or has run out: raises its epoch, writes `RunAcquired`."""
        del known  # Nothing is quicker to read than what is in memory.
        state, held = self._state(run_id), self._leases.get(run_id)
        if state.finished:
            return Unavailable.FINISHED
        if held and held.until > now:
            return Unavailable.HELD
        if wants_workspace(state) and (found := rival(self._holds(), workspace_wanted(state), run_id)):
            if state.awaited is None or state.awaited.holder != found.run_id:
                self._keep(run_id, WorkspaceAwaited(at=now, holder=found.run_id, job=found.job))
            return Unavailable.WORKSPACE
        event = RunAcquired(at=now, epoch=state.epoch + 1, worker=worker, lease_broken=held is not None)
        self._keep(run_id, event, _Lease(worker, now + lease))
        return apply(state, event)

    async def renew(self, run_id: RunId, *, epoch: int, now: datetime, lease: timedelta) -> Renewal:
        """Extend the lease, if the epoch still holds it."""
        held = self._leases.get(run_id)
        if run_id not in self._texts:
            return Renewal(held=False, seq=0)
        state = self._state(run_id)
        if held is None or state.epoch != epoch:
            return Renewal(held=False, seq=state.seq)
        self._leases[run_id] = _Lease(held.owner, now + lease)
        return Renewal(held=True, seq=state.seq)

    async def release(self, run_id: RunId, *, epoch: int) -> None:
        """Give the lease back; does nothing where the epoch does not hold it."""
        if run_id in self._texts and self._state(run_id).epoch == epoch:
            self._leases.pop(run_id, None)

    async def keep(self, data: bytes) -> BlobHash:
        """Keep a blob; twice is once."""
        key = blob_hash(data)
        self._blobs[key] = data
        return key

    async def blob(self, key: BlobHash) -> bytes:
        """Return a blob."""
        if key not in self._blobs:
            msg = f"the journal holds no blob {key}"
            raise JournalError(msg)
        return self._blobs[key]

    def _keep(self, run_id: RunId, event: Event, lease: _Lease | None = None) -> None:
        if self.before_append:
            self.before_append(run_id, event)
        self._texts.setdefault(run_id, []).append(dump(event))
        if lease:
            self._leases[run_id] = lease
        if isinstance(event, RunFinished):
            self._leases.pop(run_id, None)
        if self.after_append:
            self.after_append(run_id, event)

    def _state(self, run_id: RunId) -> RunState:
        if run_id not in self._texts:
            msg = f"the journal holds no run {run_id}"
            raise UnknownRunError(msg)
        return fold(map(load, self._texts[run_id]))

    def _states(self) -> Iterable[RunState]:
        return map(self._state, list(self._texts))

    def _holds(self) -> list[Hold]:
        return [
            Hold(run_id=state.run_id, job=JobName(state.job.name), workspace=workspace_held(state))
            for state in self._states()
            if workspace_held(state)
        ]

    def _free(self, key: str, now: datetime) -> bool:
        held = self._leases.get(key)
        return held is None or held.until <= now


class _Views(_Facts):
    """Answer from the facts themselves; `Views`."""

    async def runs(self, *, job: JobName | None = None, unfinished: bool = False, limit: int = 50) -> Sequence[RunRow]:
        """Return runs, newest first."""
        rows = [row for row in self._runs() if job in (None, row.job) and not (unfinished and row.finished_at)]
        return rows[::-1][:limit]

    async def run(self, run_id: RunId) -> RunRow | None:
        """Return one run's row."""
        return run_row(self._state(run_id)) if run_id in self._texts else None

    async def matching(self, prefix: str) -> Sequence[RunId]:
        """Return the ids that begin with a text, at most 20, newest first."""
        return [row.run_id for row in self._runs() if row.run_id.startswith(prefix)][::-1][:20]

    async def agenda(self, now: datetime, limit: int = 1000) -> Agenda:
        """Return which runs can go on now, at most so many, and when the next will."""
        rows = [row for row in self._runs() if not row.finished_at]
        holders = {hold.run_id for hold in self._holds()}
        awake = [
            row
            for row in rows
            if not row.resting
            or (row.wake_at is not None and row.wake_at <= now)
            or (row.waits_for and row.waits_for not in holders)
        ]
        ready = tuple(row.run_id for row in awake if self._free(row.run_id, now))[:limit]
        later = (row.wake_at for row in rows if row.wake_at and row.wake_at > now)
        return Agenda(ready, min(later, default=None))

    async def next_wake(self, now: datetime) -> datetime | None:
        """Return the next instant, after `now`, at which a resting run goes on or a delivery is tried again."""
        runs = [row.wake_at for row in self._runs() if not row.finished_at]
        deliveries = [row.next_at for row in self._deliveries() if row.status in OPEN]
        return min((instant for instant in (*runs, *deliveries) if instant and instant > now), default=None)

    async def previous(self, job: JobName, before: RunId) -> Previous | None:
        """Return what came of the job's last finished, not staged run other than `before`."""
        for last in await self.last_runs(job, before=before):
            assert last.outcome is not None
            return Previous(outcome=last.outcome, answer_hash=BlobHash(last.answer_hash))
        return None

    async def last_runs(self, job: JobName, *, before: RunId | None = None, limit: int = 1) -> Sequence[RunRow]:
        """Return the job's finished, not staged runs other than `before`, newest end first."""
        rows = [row for row in self._runs() if row.job == job and row.run_id != before and not row.staged]
        ended = [(row.finished_at, row.run_id, row) for row in rows if row.finished_at]
        return [row for *_, row in sorted(ended)[::-1][:limit]]

    async def ended(self, since: datetime, *, limit: int = 1000) -> Sequence[RunRow]:
        """Return the not staged runs that have ended since an instant, excluded, the newest `limit`, oldest first."""
        rows = [(row.finished_at, row.run_id, row) for row in self._runs() if row.finished_at and not row.staged]
        return [row for at, _, row in sorted(rows, key=lambda found: found[:2]) if at > since][-limit:]

    async def meant_for(
        self, job: JobName | None, since: datetime, until: datetime, *, limit: int = 10_000
    ) -> Sequence[RunRow]:
        """Return the not staged runs that were meant for an instant of a stretch, oldest first."""
        rows = [row for row in self._runs() if job in (None, row.job) and not row.staged]
        meant = [(row.nominal_at, row.requested_at, row.run_id, row) for row in rows if row.nominal_at]
        return [row for at, *_, row in sorted(meant, key=lambda found: found[:3]) if since <= at < until][:limit]

    async def holds(self) -> Sequence[Hold]:
        """Return the runs that have a workspace to themselves."""
        return sorted(self._holds(), key=lambda hold: hold.run_id)

    async def pausing(self) -> Sequence[Pause]:
        """Return, of each job whose schedule rests since a run ended, what that run says; a later end may lift it."""
        ends = [await self.last_runs(job, limit=1000) for job in {row.job for row in self._runs()}]
        last = [next((row for row in rows if row.pauses or row.fault not in LASTING), None) for rows in ends]
        ended = [(row, row.finished_at) for row in last if row and row.pauses]
        return sorted(
            (Pause(job=row.job, at=at, by=f"run {row.run_id}", reason=row.pauses) for row, at in ended if at),
            key=lambda pause: pause.job,
        )

    async def usage(
        self, *, job: JobName | None = None, run_id: RunId | None = None, since: datetime | None = None
    ) -> Sequence[UsageRow]:
        """Return what calls of models have used, oldest first."""
        rows = [row for state in self._states() for row in usage_rows(state) if job in (None, row.job)]
        asked = [row for row in rows if run_id in (None, row.run_id) and (since is None or row.at >= since)]
        return sorted(asked, key=lambda row: (row.at, row.run_id, row.seq))

    async def spent_usd(self, job: JobName, since: datetime) -> float:
        """Return what a job's calls of models have cost since an instant (included), as far as prices are known."""
        return sum((row.cost_usd or 0.0 for row in await self.usage(job=job, since=since)), 0.0)

    async def approvals(self, *, open_only: bool = True, limit: int = 100) -> Sequence[ApprovalRow]:
        """Return calls that need or needed a person, newest first."""
        rows = [row for state in self._states() for row in approval_rows(state) if row.open or not open_only]
        return sorted(rows, key=lambda row: (row.requested_at, row.run_id, row.call_id), reverse=True)[:limit]

    async def deliveries(
        self, *, status: str | None = None, endpoint: str | None = None, run_id: RunId | None = None, limit: int = 100
    ) -> Sequence[DeliveryRow]:
        """Return duties to tell, newest first."""
        rows = [row for row in self._deliveries() if status in (None, row.status) and endpoint in (None, row.endpoint)]
        return [row for row in rows if run_id in (None, row.run_id)][::-1][:limit]

    async def delivery(self, delivery_id: DeliveryId) -> DeliveryRow | None:
        """Return one duty."""
        return next((row for row in self._deliveries() if row.delivery_id == delivery_id), None)

    async def due_deliveries(
        self, now: datetime, *, run_id: RunId | None = None, without: Collection[str] = (), limit: int = 100
    ) -> Sequence[DeliveryRow]:
        """Return duties to be done now and not leased, oldest first."""
        due = [row for row in self._deliveries() if self._is_due(row, now) and row.endpoint not in without]
        return [row for row in due if run_id in (None, row.run_id)][:limit]

    async def lease_delivery(self, delivery_id: DeliveryId, *, owner: str, now: datetime, lease: timedelta) -> bool:
        """Take one duty; False where another has it, or it is not to be done now."""
        row = await self.delivery(delivery_id)
        if row is None or not self._is_due(row, now):
            return False
        self._leases[delivery_id] = _Lease(owner, now + lease)
        return True

    async def release_delivery(self, delivery_id: DeliveryId, *, owner: str) -> None:
        """Give a duty back."""
        if (held := self._leases.get(delivery_id)) and held.owner == owner:
            del self._leases[delivery_id]

    def _is_due(self, row: DeliveryRow, now: datetime) -> bool:
        waited = row.next_at is None or row.next_at <= now
        return row.status in OPEN and waited and self._free(row.delivery_id, now)

    def _runs(self) -> list[RunRow]:
        return sorted(map(run_row, self._states()), key=lambda row: (row.requested_at, row.run_id))

    def _deliveries(self) -> list[DeliveryRow]:
        rows = [row for state in self._states() for row in delivery_rows(state)]
        return sorted(rows, key=lambda row: (row.owed_at, row.delivery_id))


class MemoryJournal(_Views):
    """Be `Journal`, `Views` and `Ledger` in one; this last part is the ledger."""

    def __init__(self, *, before_append: Hook | None = None, after_append: Hook | None = None) -> None:
        """Start empty; see `_Facts` for the hooks."""
        super().__init__(before_append=before_append, after_append=after_append)
        self._cursors: dict[tuple[JobName, str], datetime] = {}
        self._versions: dict[JobName, list[ScheduleVersion]] = {}
        self._occurrences: dict[tuple[JobName, datetime], Occurrence] = {}
        self._marks: dict[JobName, JobMark] = {}
        self._started: datetime | None = None

    async def begin(self, versions: Sequence[ScheduleVersion]) -> None:
        """Let schedules begin, each with its cursor at its first instant; one that its job has is left alone."""
        for version in versions:
            known = self._versions.get(version.job, [])
            if known and known[-1].schedule == version.schedule:
                continue
            self._versions[version.job] = [one for one in known if one.begun_at < version.begun_at] + [version]
            if version.schedule != NO_SCHEDULE and (known or (version.job, version.schedule) not in self._cursors):
                self._cursors[version.job, version.schedule] = version.begun_at

    async def standings(self) -> Sequence[Standing]:
        """Return where each job's schedule stands, as it was begun last; of jobs that have none too."""
        last = [versions[-1] for _, versions in sorted(self._versions.items())]
        return [
            Standing(
                job=one.job,
                schedule=one.schedule,
                begun_at=one.begun_at,
                cursor=self._cursors.get((one.job, one.schedule), one.begun_at),
            )
            for one in last
        ]

    async def versions(self, job: JobName | None = None) -> Sequence[ScheduleVersion]:
        """Return which schedules jobs had, oldest first."""
        every = [one for name, versions in self._versions.items() if job in (None, name) for one in versions]
        return sorted(every, key=lambda one: (one.begun_at, one.job))

    async def cursor(self, job: JobName, schedule: str) -> datetime | None:
        """Return the last nominal instant that has its row; None where this schedule was never seen."""
        return self._cursors.get((job, schedule))

    async def claim(
        self,
        job: JobName,
        schedule: str,
        *,
        was: datetime | None,
        cursor: datetime,
        rows: Sequence[Occurrence] = (),
        runs: Sequence[RunRequested] = (),
        instead_of: Sequence[Occurrence] = (),
    ) -> bool:
        """Move the cursor, write the rows and open the runs, all in one transaction; False where somebody was first."""
        if self._cursors.get((job, schedule)) != was or not self._fits(instead_of, rows):
            return False
        self._cursors[job, schedule] = cursor
        await self._put(instead_of, rows, runs)
        return True

    async def settle(
        self,
        instead_of: Sequence[Occurrence],
        rows: Sequence[Occurrence],
        runs: Sequence[RunRequested] = (),
        mark: JobMark | None = None,
    ) -> bool:
        """Write rows in the place of others, open the runs and set the mark; False where somebody was first."""
        if not self._fits(instead_of, rows):
            return False
        if mark is not None:
            self._marks[mark.job] = mark
        await self._put(instead_of, rows, runs)
        return True

    def _fits(self, instead_of: Sequence[Occurrence], rows: Sequence[Occurrence]) -> bool:
        there = {row.key: self._occurrences.get(row.key) for row in instead_of}
        same = all(
            (now := there[was.key]) is not None
            and (now.status, now.why, now.run_id) == (was.status, was.why, was.run_id)
            for was in instead_of
        )
        new = {row.key for row in rows}
        return same and len(new) == len(rows) and not new & (self._occurrences.keys() - there.keys())

    async def _put(
        self, instead_of: Sequence[Occurrence], rows: Sequence[Occurrence], runs: Sequence[RunRequested]
    ) -> None:
        for was in instead_of:
            del self._occurrences[was.key]
        self._occurrences.update({row.key: row for row in rows})
        for run in runs:
            await self.open(run)

    async def started(self, at: datetime) -> datetime | None:
        """Write down that a service has started; return when one had before, None where none had."""
        before, self._started = self._started, at
        return before

    async def mark(self, mark: JobMark) -> None:
        """Write down that a person, or the service, lets a job's schedule rest or go on."""
        self._marks[mark.job] = mark

    async def marks(self) -> Sequence[JobMark]:
        """Return the newest mark of each job that has one."""
        return [mark for _, mark in sorted(self._marks.items())]

    async def occurrences(self, job: JobName | None = None, *, limit: int = 100) -> Sequence[Occurrence]:
        """Return rows, newest first."""
        rows = [row for row in self._occurrences.values() if job in (None, row.job)]
        by_job = sorted(rows, key=lambda row: row.job)
        return sorted(by_job, key=lambda row: row.nominal_at, reverse=True)[:limit]

    async def between(
        self, job: JobName | None, since: datetime, until: datetime, *, limit: int = 10_000
    ) -> Sequence[Occurrence]:
        """Return the rows of which an instant lies in a stretch, oldest first."""
        rows = [row for row in self._occurrences.values() if job in (None, row.job)]
        found = [row for row in rows if row.nominal_at < until and (row.until_at or row.nominal_at) >= since]
        return sorted(found, key=lambda row: (row.nominal_at, row.job))[:limit]

    async def pending(self) -> Sequence[Occurrence]:
        """Return the rows that wait, oldest first."""
        rows = [row for row in self._occurrences.values() if row.status is OccurrenceStatus.PENDING]
        return sorted(rows, key=lambda row: (row.nominal_at, row.job))

    async def expected(self) -> Sequence[Occurrence]:
        """Return the rows by which a success is expected that nobody has found late yet, soonest first."""
        rows = [(row.expect_at, row.job, row.nominal_at, row) for row in self._occurrences.values() if row.expect_at]
        return [row for *_, row in sorted(rows, key=lambda found: found[:3]) if row.late_at is None]

    async def ran(self, job: JobName) -> int:
        """Count the instants of a job that have run."""
        return sum(row.job == job and row.status is OccurrenceStatus.RAN for row in self._occurrences.values())
