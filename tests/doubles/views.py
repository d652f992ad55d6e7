"""The views of runs in memory: computed anew whenever somebody asks."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from kova_auto.core.delivery.alert import alert_rows
from kova_auto.core.delivery.alert import fold as fold_alert
from kova_auto.core.delivery.alert import load as load_alert
from kova_auto.core.event import (
    Previous,
)
from kova_auto.core.fault import LASTING
from kova_auto.core.holding import Hold
from kova_auto.core.ids import DISPATCHED, BlobHash, DeliveryId, EndpointName, JobName, RunId
from kova_auto.core.owed import OPEN, URGENT
from kova_auto.core.pausing import Pause
from kova_auto.core.ports import Agenda
from kova_auto.core.view import (
    ApprovalRow,
    DeliveryRow,
    DueEndpoint,
    FamilyUse,
    RunRow,
    UsageRow,
    approval_rows,
    delivery_rows,
    run_row,
    usage_rows,
)
from tests.doubles.facts import Lease, MemoryFacts


class MemoryViews(MemoryFacts):
    """Answer from the facts themselves; `Views`."""

    async def runs(self, *, job: JobName | None = None, unfinished: bool = False, limit: int = 50) -> Sequence[RunRow]:
        """Return the runs that no other has dispatched, newest first."""
        rows = [row for row in self._top() if job in (None, row.job) and not (unfinished and row.finished_at)]
        return rows[::-1][:limit]

    async def run(self, run_id: RunId) -> RunRow | None:
        """Return one run's row."""
        return run_row(self._state(run_id)) if run_id in self._texts else None

    async def matching(self, prefix: str) -> Sequence[RunId]:
        """Return the ids that begin with a text, at most 20, newest first; of children where it names a parent."""
        rows = (row for row in self._runs() if bool(row.root) is (DISPATCHED in prefix))
        return [row.run_id for row in rows if row.run_id.startswith(prefix)][::-1][:20]

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
        rows = [row for row in self._top() if row.job == job and row.run_id != before and not row.staged]
        ended = [(row.finished_at, row.run_id, row) for row in rows if row.finished_at]
        return [row for *_, row in sorted(ended)[::-1][:limit]]

    async def ended(self, since: datetime, *, limit: int = 1000) -> Sequence[RunRow]:
        """Return the not staged runs that have ended since an instant, excluded, the newest `limit`, oldest first."""
        rows = [(row.finished_at, row.run_id, row) for row in self._top() if row.finished_at and not row.staged]
        return [row for at, _, row in sorted(rows, key=lambda found: found[:2]) if at > since][-limit:]

    async def meant_for(
        self, job: JobName | None, since: datetime, until: datetime, *, limit: int = 10_000
    ) -> Sequence[RunRow]:
        """Return the not staged runs that were meant for an instant of a stretch, oldest first."""
        rows = [row for row in self._top() if job in (None, row.job) and not row.staged]
        meant = [(row.nominal_at, row.requested_at, row.run_id, row) for row in rows if row.nominal_at]
        return [row for at, *_, row in sorted(meant, key=lambda found: found[:3]) if since <= at < until][:limit]

    async def descendants(self, root: RunId) -> Sequence[RunRow]:
        """Return the runs that a run, its children and so on have dispatched, oldest first."""
        return [row for row in self._runs() if row.root == root]

    async def family_use(self, root: RunId, besides: RunId, since: datetime | None) -> FamilyUse:
        """Return what the runs of a family, but one, have used since an instant, and how many have not finished."""
        family = [row for row in self._runs() if root in (row.run_id, row.root)]
        ids = {row.run_id for row in family} - {besides}
        used = [row for row in await self.usage(since=since) if row.run_id in ids]
        tokens = sum(row.input_tokens - row.cache_read_tokens + row.output_tokens for row in used)
        cost_usd = sum((row.cost_usd or 0.0 for row in used), 0.0)
        others = [row for row in family if row.run_id != besides]
        return FamilyUse(
            tokens=tokens,
            cost_usd=cost_usd,
            members=sum(not row.finished_at for row in family),
            reserved_tokens=sum(row.reserved_tokens for row in others),
            reserved_usd=sum((row.reserved_usd for row in others), 0.0),
        )

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

    async def due_endpoints(self, now: datetime, *, run_id: RunId | None = None) -> Sequence[DueEndpoint]:
        """Return the endpoints that are owed something now, or by one run alone, by name."""
        due: dict[EndpointName, list[bool]] = {}
        for row in await MemoryViews.due_deliveries(self, now, run_id=run_id, limit=100_000):
            due.setdefault(row.endpoint, []).append(row.cause in URGENT)
        return [DueEndpoint(endpoint=name, due=len(are), urgent=sum(are)) for name, are in sorted(due.items())]

    async def due_deliveries(
        self, now: datetime, *, run_id: RunId | None = None, endpoint: str | None = None, limit: int = 100
    ) -> Sequence[DeliveryRow]:
        """Return duties to be done now and not leased: what somebody waits for first, and then the oldest."""
        due = [row for row in self._deliveries() if self._is_due(row, now) and endpoint in (None, row.endpoint)]
        due.sort(key=lambda row: row.cause not in URGENT)
        return [row for row in due if run_id in (None, row.run_id)][:limit]

    async def lease_delivery(self, delivery_id: DeliveryId, *, owner: str, now: datetime, lease: timedelta) -> bool:
        """Take one duty; False where another has it, or it is not to be done now."""
        row = await self.delivery(delivery_id)
        if row is None or not self._is_due(row, now):
            return False
        self._leases[delivery_id] = Lease(owner, now + lease)
        return True

    async def release_delivery(self, delivery_id: DeliveryId, *, owner: str) -> None:
        """Give a duty back."""
        if (held := self._leases.get(delivery_id)) and held.owner == owner:
            del self._leases[delivery_id]

    def _is_due(self, row: DeliveryRow, now: datetime) -> bool:
        waited = row.next_at is None or row.next_at <= now
        return row.status in OPEN and waited and self._free(row.delivery_id, now)

    def _top(self) -> list[RunRow]:
        return [row for row in self._runs() if not row.root]

    def _runs(self) -> list[RunRow]:
        return sorted(map(run_row, self._states()), key=lambda row: (row.requested_at, row.run_id))

    def _deliveries(self) -> list[DeliveryRow]:
        rows = [row for state in self._states() for row in delivery_rows(state)]
        rows += [row for texts in self._alerts.values() for row in alert_rows(fold_alert(map(load_alert, texts)))]
        return sorted(rows, key=lambda row: (row.owed_at, row.delivery_id))
