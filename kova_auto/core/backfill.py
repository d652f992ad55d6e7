"""Fill in instants that had no good run: asked for by a person, done one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

from kova_auto.core.ids import JobName, RunId
from kova_auto.core.value import Value

DROPPED = "dropped"
OVERLAP = "overlap"


class BackfillOverlap(StrEnum):
    """Say what becomes of an instant that is to be filled in while a run of the job has not finished."""

    QUEUE = "queue"  # it waits for the end
    SKIP = "skip"
    ALLOW = "allow"  # it runs beside it, as far as policy.max_parallel lets it


class BackfillStatus(StrEnum):
    """Say what became of an instant that is to be filled in."""

    WAITING = "waiting"
    OPENED = "opened"
    SKIPPED = "skipped"


class Backfill(Value):
    """Hold one instant that is to be filled in.

    Attributes:
        nominal_at: The instant, UTC: what the run is told is its date.
        asked_at: Tells this request from every other.
        path: Of the job file, absolute.
        by: Who asked.
        at_once: With `allow`: so many runs of the job may go on.
        why: Why it was skipped, or waits though nothing is in its way; else empty.
        run_id: Of the run that was opened.
    """

    job: JobName
    nominal_at: datetime
    asked_at: datetime
    path: str
    by: str
    overlap: BackfillOverlap = BackfillOverlap.QUEUE
    at_once: int = 1
    status: BackfillStatus = BackfillStatus.WAITING
    why: str = ""
    run_id: RunId | None = None

    @property
    def key(self) -> str:
        """Return what tells its run from others that were asked for at the same time."""
        return f"{self.nominal_at.astimezone(UTC):%Y%m%dT%H%M%SZ}"


class Backfills(Protocol):
    """Keep what is to be filled in."""

    async def ask(self, items: Sequence[Backfill]) -> Sequence[Backfill]:
        """Keep items, and return them; those whose instant waits already are left out."""

    async def waiting(self, job: JobName | None = None) -> Sequence[Backfill]:
        """Return what waits, in the order in which it is to be done: as it was asked for, oldest instant first."""

    async def settle(self, item: Backfill) -> bool:
        """Write an item anew; return False where it waits no longer."""

    async def drop(self, job: JobName) -> int:
        """Let a job's items wait no longer; return how many did."""


def next_up(items: Sequence[Backfill], running: int) -> tuple[Backfill | None, tuple[Backfill, ...]]:
    """Return the item of one job whose turn it is, and those before it that are to be skipped.

    Args:
        items: Of one job, that wait, in their order.
        running: Its runs that have not finished.
    """
    skipped: list[Backfill] = []
    for item in items:
        if running < (item.at_once if item.overlap is BackfillOverlap.ALLOW else 1):
            return item, tuple(skipped)
        if item.overlap is not BackfillOverlap.SKIP:
            break
        skipped.append(item.model_copy(update={"status": BackfillStatus.SKIPPED, "why": OVERLAP}))
    return None, tuple(skipped)
