"""Keep the requests of webhooks in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kova_auto.core.ids import JobName
from kova_auto.core.inbound.hook import HookRequest, HookRow, HookStatus, Kept
from kova_auto.core.ledger import Ledger


@dataclass
class MemoryHooks:
    """Be `Hooks`, beside a ledger."""

    ledger: Ledger
    kept: list[HookRequest] = field(default_factory=list)

    async def keep(self, request: HookRequest, ids: Sequence[str], *, by_body: bool) -> Kept:
        mine = [one for one in self.kept if (one.job, one.source) == (request.job, request.source)]
        same = [one for one in mine if one.delivery_id in ids]
        same += [one for one in mine if by_body and one.digest == request.digest]
        if same:
            return Kept(request=same[0], is_new=False)
        last = max((one.received_at for one in self.kept if one.job == request.job), default=None)
        at = request.received_at if last is None else max(request.received_at, last + timedelta(microseconds=1))
        self.kept.append(request.model_copy(update={"received_at": at}))
        return Kept(request=self.kept[-1], is_new=True)

    async def waiting(self) -> Sequence[HookRequest]:
        rows = {row.key for row in await self.ledger.occurrences(limit=10_000)}
        found = [one for one in self.kept if one.status is HookStatus.ACCEPTED]
        waits = [one for one in found if (one.job, one.received_at) not in rows]
        return sorted(waits, key=lambda one: one.received_at)

    async def settle(self, requests: Sequence[HookRequest]) -> None:
        ids = {one.hook_id for one in requests}
        for place, one in enumerate(self.kept):
            if one.hook_id in ids and one.status is HookStatus.ACCEPTED:
                self.kept[place] = one.model_copy(update={"status": HookStatus.SETTLED})

    async def at(self, job: JobName, received_at: datetime) -> HookRequest | None:
        return next((one for one in self.kept if (one.job, one.received_at) == (job, received_at)), None)

    async def rows(self, job: JobName | None = None, *, like: str = "", limit: int = 100) -> Sequence[HookRow]:
        ledger = {row.key: row for row in await self.ledger.occurrences(job, limit=10_000)}
        found = [one for one in self.kept if job in (None, one.job) and one.hook_id.startswith(like)]
        order = sorted(sorted(found, key=lambda one: one.job), key=lambda one: one.received_at, reverse=True)
        rows = []
        for one in order[:limit]:
            row = ledger.get((one.job, one.received_at))
            became = {"became": row.status.value, "became_why": row.why, "run_id": row.run_id} if row else {}
            rows.append(HookRow.model_validate(one.model_dump() | became))
        return rows
