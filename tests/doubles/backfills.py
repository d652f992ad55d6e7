"""Keep in memory what is to be filled in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kova_auto.core.backfill import DROPPED, Backfill, BackfillStatus
from kova_auto.core.ids import JobName


@dataclass
class MemoryBackfills:
    """Be `Backfills`."""

    items: dict[tuple[JobName, datetime, datetime], Backfill] = field(default_factory=dict)

    async def ask(self, items: Sequence[Backfill]) -> Sequence[Backfill]:
        there = {(item.job, item.nominal_at) for item in await self.waiting()}
        new = [item for item in items if (item.job, item.nominal_at) not in there]
        self.items |= {_key(item): item for item in new}
        return new

    async def waiting(self, job: JobName | None = None) -> Sequence[Backfill]:
        found = [item for item in self.items.values() if item.status is BackfillStatus.WAITING]
        order = sorted(found, key=lambda item: (item.asked_at, item.nominal_at, item.job))
        return [item for item in order if job in (None, item.job)]

    async def settle(self, item: Backfill) -> bool:
        if self.items[_key(item)].status is not BackfillStatus.WAITING:
            return False
        self.items[_key(item)] = item
        return True

    async def drop(self, job: JobName) -> int:
        waiting = await self.waiting(job)
        for item in waiting:
            await self.settle(item.model_copy(update={"status": BackfillStatus.SKIPPED, "why": DROPPED}))
        return len(waiting)


def _key(item: Backfill) -> tuple[JobName, datetime, datetime]:
    return item.job, item.nominal_at, item.asked_at
