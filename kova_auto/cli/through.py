"""See one run through: follow it, drive it where no service does, heed Ctrl-C, and make its deliveries."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from kova_auto.cli.account import Account
from kova_auto.cli.following import Following
from kova_auto.cli.presses import Presses
from kova_auto.core.errors import IllegalEventError, JournalBusyError
from kova_auto.core.family import waits_for_persons
from kova_auto.core.ids import RunId
from kova_auto.core.owed import OPEN, Owed
from kova_auto.core.ports import Clock
from kova_auto.core.run import RunState

if TYPE_CHECKING:
    from kova_auto.app.connect import Connection
    from kova_auto.app.house import House

GLANCE_S: Final = 1.0
FAMILY_GLANCE_S: Final = 0.2
"""The same where subagents are at work: nothing rings when one of them gets on."""
PATIENCE: Final = timedelta(seconds=30)
_LEAVE_S: Final = 10.0
_LOST: Final = 30


@dataclass
class Through:
    """See one run through.

    Attributes:
        patience: How long deliveries are waited for.
        glance_s: How often it is looked whether anything has changed, seconds.
    """

    connection: Connection
    run_id: RunId
    account: Account
    presses: Presses
    clock: Clock
    patience: timedelta = PATIENCE
    glance_s: float = GLANCE_S
    following: Following = field(init=False)
    _glanced: asyncio.Event = field(default_factory=asyncio.Event)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _has_cancelled: bool = False

    def __post_init__(self) -> None:
        """Begin with the run alone."""
        self.following = Following(self.account)

    async def catch_up(self, *, is_shown: bool = False) -> None:
        """Take in what has happened so far."""
        facts = await self.connection.control.events(self.run_id, self.account.seq, 0)
        await self.following.take(self.connection.control, facts, is_shown=is_shown)

    async def to_rest(self) -> bool:
        """Show the run until it has finished or waits for a person; False where it was left before.

        The first Ctrl-C asks it to end, the second leaves it as it is: it goes on under the next service.
        """
        house = self.connection.house
        await self.catch_up(is_shown=True)
        if house is None:
            return await self._reach(self._sees(self._is_at_rest), self._cancel())
        from kova_auto.app.driving import drive_one

        return await self._reach(drive_one(house, self.run_id, self._stop), self._cancel())

    async def to_told(self) -> bool:
        """Show deliveries until nothing is due within the patience; False where they were left before."""
        house, deadline = self.connection.house, self.clock.now() + self.patience
        if not self.owed:
            return True
        if house is None:
            return await self._reach(self._sees(lambda: self._is_told(deadline)), self._another())
        return await self._reach(self._deliver(house), self._another())

    async def _deliver(self, house: House) -> None:
        """Make what the run and its subagents owe."""
        from kova_auto.app.serving import deliver_one

        owing = [state.run_id for state in self.following.family if _owed(state)]
        await asyncio.gather(*(deliver_one(house, run_id, patience=self.patience) for run_id in owing))

    async def to_end(self) -> bool:
        """Show the run until it has finished, doing nothing for it; False where it was left before.

        Where this process is the owner nobody works on the run, so that what is there is all that comes.
        """
        house = self.connection.house
        await self.catch_up(is_shown=True)
        if house and house.settings.database == "sqlite":
            return True
        return await self._reach(self._sees(self._is_over), self._another())

    @property
    def owed(self) -> list[Owed]:
        """Return the deliveries that are still owed, by the run or its subagents."""
        return [owed for state in self.following.family for owed in _owed(state)]

    @property
    def waits_for_a_person(self) -> bool:
        """Say whether all that is left of the run and its subagents waits for persons."""
        return waits_for_persons(self.following.family, self.clock.now())

    def _is_at_rest(self) -> bool:
        """Say whether nothing comes of itself: while the first call waits, those behind it are judged and asked too."""
        return self.account.state.finished is not None or self.waits_for_a_person

    def _is_over(self) -> bool:
        now = self.clock.now()
        return self.account.state.finished is not None and not any(
            owed.in_flight or owed.next_at is None or owed.next_at <= now for owed in self.owed if not owed.put_off
        )

    def _is_told(self, deadline: datetime) -> bool:
        later = all(owed.put_off or (owed.next_at and owed.next_at > deadline) for owed in self.owed)
        return later or self.clock.now() >= deadline

    async def _reach(self, goal: Coroutine[None, None, object], leave: Coroutine[None, None, None]) -> bool:
        """Follow the run until the goal is reached; False where `leave` was first."""
        following, reaching, leaving = map(asyncio.create_task, (self._follow(), goal, leave))
        try:
            done, _ = await asyncio.wait({following, reaching, leaving}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            following.cancel()
            leaving.cancel()
            await self._end(reaching)
            await asyncio.gather(following, leaving, reaching, return_exceptions=True)
            self.account.screen.status("")
        if reaching not in done:
            return False
        await self.catch_up(is_shown=True)
        return True

    async def _end(self, reaching: asyncio.Task[object]) -> None:
        """Let what is under way be written down, but not for long."""
        if not reaching.done() and self.connection.house:
            self._stop.set()
            self.connection.house.engine.stopping.now.set()
            await asyncio.wait({reaching}, timeout=0 if self._is_at_rest() else _LEAVE_S)
        reaching.cancel()

    async def _follow(self) -> None:
        """Show facts as they come."""
        lost = 0
        while True:
            try:
                wait_s = min(self.glance_s, FAMILY_GLANCE_S) if self.following.at_work else self.glance_s
                facts = await self.connection.control.events(self.run_id, self.account.seq, wait_s)
                await self.following.take(self.connection.control, facts)
                lost = 0
            except JournalBusyError as exc:
                if (lost := lost + 1) > _LOST:
                    msg = f"{exc}; kova-auto runs tail {self.run_id} follows the run on"
                    raise JournalBusyError(msg) from exc
                await asyncio.sleep(self.glance_s)
                continue
            self.account.show_doing(self.clock.now(), self.following.children)
            self._glanced.set()

    async def _sees(self, enough: Callable[[], bool]) -> None:
        while not enough():
            self._glanced.clear()
            await self._glanced.wait()

    async def _another(self) -> None:
        """Wait for a Ctrl-C that has not been heeded yet."""
        await (self.presses.leave if self._has_cancelled else self.presses.once).wait()

    async def _cancel(self) -> None:
        await self.presses.once.wait()
        if not (self.presses.leave.is_set() or self._is_at_rest()):
            self._has_cancelled = True
            self.account.screen.line("ending the run; Ctrl-C again leaves it as it is, to go on under the next service")
            with contextlib.suppress(IllegalEventError):
                await self.connection.control.cancel(self.run_id, "terminal", "interrupted in the terminal")
        await self.presses.leave.wait()


def _owed(state: RunState) -> list[Owed]:
    return [owed for owed in state.deliveries.values() if owed.status in OPEN]
