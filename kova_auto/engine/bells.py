"""Ring a loop awake: hints only, and losing one loses nothing."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

from kova_auto.core.ids import RunId


class Ear(Enum):
    """Say who listens: a loop that looks for work, the drive of a run, somebody who follows a run."""

    WORK = auto()
    DRIVE = auto()
    FOLLOW = auto()


class Bells:
    """Hold the bells of one process."""

    def __init__(self) -> None:
        """Begin with silence."""
        self._hung: dict[tuple[Ear, RunId | None], set[asyncio.Event]] = defaultdict(set)

    @contextmanager
    def hung(self, ear: Ear, run_id: RunId | None = None) -> Iterator[asyncio.Event]:
        """Give a new bell for as long as the block lasts."""
        bell, key = asyncio.Event(), (ear, run_id)
        self._hung[key].add(bell)
        try:
            yield bell
        finally:
            self._hung[key].discard(bell)
            if not self._hung[key]:
                del self._hung[key]

    def work(self) -> None:
        """Wake the loops that look for work."""
        self._ring(Ear.WORK, None)

    def told(self, run_id: RunId) -> None:
        """Say that a fact was written: wakes who follows the run."""
        self._ring(Ear.FOLLOW, run_id)

    def asked(self, run_id: RunId) -> None:
        """Say that somebody else than its worker wrote a fact: wakes its drive, who follows it, and the loops."""
        self._ring(Ear.DRIVE, run_id)
        self.told(run_id)
        self.work()

    def _ring(self, ear: Ear, run_id: RunId | None) -> None:
        for bell in tuple(self._hung.get((ear, run_id), ())):
            bell.set()


async def heard(bell: asyncio.Event, timeout_s: float) -> bool:
    """Wait for a bell at most so long; say whether it rang, and silence it."""
    try:
        async with asyncio.timeout(timeout_s):
            await bell.wait()
    except TimeoutError:
        return False
    bell.clear()
    return True
