"""A run of hundreds of iterations in a small window, on a real journal, by workers that may die at any fact."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

from kova_auto.core.approval.levels import Verdict
from kova_auto.core.event import ContextCompacted, Event
from kova_auto.core.ids import RunId, blob_hash
from kova_auto.core.message import FileChange, ResultStatus, TextPart, ToolCall, ToolResult
from kova_auto.core.pin import Capability, ModelPin
from kova_auto.core.ports import Journal, Model
from kova_auto.core.run import RunState
from kova_auto.core.tool import Scene, ToolFact, ToolOutput
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.service import Engine
from kova_auto.store.store import Store, open_store
from tests.crash.points import DyingJournal, Points
from tests.doubles.toolbox import Hands
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, a_request

WINDOW = 16_000
PADDING = "All of this was looked at, and none of it matters. " * 30


class Paper(Hands):
    """Look with many words; the first call leaves a list of what is to be done, and the second a file."""

    def only_looks(self, tool: str) -> bool:
        del tool
        return False  # So that more of its facts are written by themselves.

    async def execute(self, call: ToolCall, verdict: Verdict, scene: Scene) -> AsyncGenerator[ToolFact, None]:
        del verdict
        self.done.append(str(scene.call_id))
        said = f"{call.tool} {call.args.get('path')}: {PADDING}"
        found: dict[str, Any] = {"status": ResultStatus.OK, "parts": (TextPart(text=said),)}
        if call.args.get("path") == "todo":
            items = ({"subject": "say the word zebra when you are done", "status": "pending"},)
            found |= {"todo": items, "parts": (TextPart(text="1 item: say the word zebra when you are done"),)}
        if call.tool == "change":
            change = FileChange(path="/srv/app/notes/tally.txt", before=None, after=blob_hash(b"0"))
            found |= {"changes": (change,), "parts": (TextPart(text="notes/tally.txt is written"),)}
        yield ToolOutput(ToolResult(**found))


class DiedError(BaseException):
    """Play a process that is gone: nothing catches it."""


class Last(Points):
    """Die at one point, and at every point after it."""

    def __init__(self, kill_at: int) -> None:
        self._left = kill_at
        self.is_dead = False

    def passed(self, name: str) -> None:
        self._left -= 1
        self.is_dead = self._left <= 0
        if self.is_dead:
            raise DiedError(name)


class Mortal(DyingJournal):
    """Be the journal of a worker that dies before or after a write; who is dead gives nothing back."""

    def __init__(self, journal: Journal, last: Last) -> None:
        super().__init__(journal, last)
        self._last = last

    async def release(self, run_id: RunId, *, epoch: int) -> None:
        if not self._last.is_dead:
            await super().release(run_id, epoch=epoch)


@dataclass
class LongRun:
    """Hold the run with its journal.

    Attributes:
        deaths: Workers that died.
    """

    place: Path
    model: Model
    window: int = WINDOW
    stage: Stage = field(default_factory=lambda: Stage(hands=Paper()))
    deaths: int = 0
    _store: Store | None = None

    @property
    def store(self) -> Store:
        self._store = self._store or open_store(str(self.place), create=True)
        return self._store

    async def open(self, prompt: str) -> None:
        limits = {"iterations": 1_000, "tokens": 100_000_000, "timeout": "48h"}
        job = a_job(prompt=prompt, automation="full", limits=limits)
        pin = ModelPin(name="test/model", capability=Capability(window=self.window))
        await self.store.journal.open(a_request(RUN, job=job, pins=(pin,)))

    async def live(self, kills: Sequence[int] = ()) -> None:
        """Let workers die at these points, one after the other, and one live."""
        for kill_at in kills:
            journal = Mortal(self.store.journal, Last(kill_at))
            try:
                if await self._engine(journal).advance(RUN) is Advanced.DONE:
                    return
            except DiedError:
                self.deaths += 1
            self.stage.clock.later(self.stage.lease / timedelta(seconds=1) + 1)
        await self.drive(self.store.journal)

    async def drive(self, journal: Journal) -> None:
        """Have one worker bring it to its end."""
        while await self._engine(journal).advance(RUN) is not Advanced.DONE:
            self.stage.clock.later(31)

    def _engine(self, journal: Journal) -> Engine:
        world = self.stage.engine(model=self.model)._world
        return Engine(
            replace(world, journal=journal, views=self.store.views, worker=f"worker {self.deaths}"),
            self.stage.bells,
            lease=self.stage.lease,
        )

    async def state(self) -> RunState:
        return await self.store.journal.load(RUN)

    async def facts(self) -> list[Event]:
        return [event for _, event in await self.store.journal.events(RUN)]

    async def compactions(self) -> list[ContextCompacted]:
        return [event for event in await self.facts() if isinstance(event, ContextCompacted)]

    async def close(self) -> None:
        await self.store.close()


def random_kills(seed: int, number: int) -> list[int]:
    """Return at which point each of so many workers dies; there is one before, and one after, every write."""
    chance = Random(seed)
    return [chance.randint(3, 40) for _ in range(number)]
