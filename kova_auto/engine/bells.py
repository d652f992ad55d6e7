"""Ring a loop awake: hints only, and losing one loses nothing."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum, auto

from kova_auto.core.ids import RunId


class Ear(IntEnum):
    """Say who listens: a loop that looks for work, the drive of a run, somebody who follows a run."""

    WORK = auto()
    DRIVE = auto()
    FOLLOW = auto()


class Bell:
    """Wake one waiter, for whatever reason; it takes a tenth of the room of an event with a task that waits for it.

    Attributes:
        rung: Somebody has written what the listener does not know yet.
    """

    __slots__ = ("_waiter", "rung")

    def __init__(self) -> None:
        """Begin silent, with nobody waiting."""
        self.rung = False
        self._waiter: asyncio.Future[None] | None = None

    def set(self) -> None:
        """Ring."""
        self.rung = True
        self.wake()

    def wake(self, _reason: object = None) -> None:
        """Wake the waiter without a ring."""
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    def waiter(self) -> asyncio.Future[None]:
        """Return what the next ring or waking ends."""
        self._waiter = asyncio.get_running_loop().create_future()
        return self._waiter


class Alarm(asyncio.Event):
    """Be an event that wakes, besides those who wait for it, whoever listens to one of its bells."""

    def __init__(self) -> None:
        """Begin unset."""
        super().__init__()
        self.bells: set[Bell] = set()

    def set(self) -> None:
        """Set it, for good."""
        super().set()
        for bell in tuple(self.bells):
            bell.wake()


class Bells:
    """Hold the bells of one process."""

    def __init__(self) -> None:
        """Begin with silence."""
        self._hung: dict[tuple[Ear, RunId | None], set[asyncio.Event | Bell]] = defaultdict(set)

    @contextmanager
    def hung(self, ear: Ear, run_id: RunId | None = None) -> Iterator[asyncio.Event]:
        """Give a new bell for as long as the block lasts."""
        bell = asyncio.Event()
        self.hang(bell, ear, run_id)
        try:
            yield bell
        finally:
            self.take_down(bell, ear, run_id)

    def hang(self, bell: asyncio.Event | Bell, ear: Ear, run_id: RunId | None = None) -> None:
        """Have a bell rung, until it is taken down."""
        self._hung[ear, run_id].add(bell)

    def take_down(self, bell: asyncio.Event | Bell, ear: Ear, run_id: RunId | None = None) -> None:
        """Have a bell rung no more."""
        self._hung[ear, run_id].discard(bell)
        if not self._hung[ear, run_id]:
            del self._hung[ear, run_id]

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
