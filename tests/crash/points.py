"""Points at which a victim kills itself: before and after every append and every effect, counted from 1."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel

from kova_auto.core.approval.facts import CallFacts
from kova_auto.core.approval.levels import Verdict
from kova_auto.core.event import Event, RunRequested
from kova_auto.core.ids import BlobHash, RunId
from kova_auto.core.message import ToolCall, ToolResult
from kova_auto.core.net.http import Exchange, HttpFailure, HttpRequest, HttpResponse
from kova_auto.core.ports import Journal, Renewal, Unavailable
from kova_auto.core.run import CallState, RunState
from kova_auto.core.tool import Scene, ToolOutput, ToolRun
from kova_auto.tools.tool import Tool
from kova_auto.tools.toolbox import Chosen


class Points:
    """Count the points that are passed, and die at one of them."""

    def __init__(self, kill_at: int, log: Path) -> None:
        """Die at point `kill_at`; 0 lives. Each point is logged before it is passed."""
        self._kill_at, self._log, self._passed = kill_at, log, 0

    def passed(self, name: str) -> None:
        """Pass one point."""
        self._passed += 1
        with self._log.open("a") as log:
            log.write(f"{self._passed} {name}\n")
        if self._passed == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


class DyingJournal:
    """Pass a point before and after every write of a fact."""

    def __init__(self, journal: Journal, points: Points) -> None:
        self._journal, self._points = journal, points

    async def open(self, event: RunRequested) -> tuple[RunState, bool]:
        self._points.passed("before run_requested")
        opened = await self._journal.open(event)
        self._points.passed("after run_requested")
        return opened

    async def load(self, run_id: RunId) -> RunState:
        return await self._journal.load(run_id)

    async def events(self, run_id: RunId, after: int = 0) -> Sequence[tuple[int, Event]]:
        return await self._journal.events(run_id, after)

    async def append(
        self,
        state: RunState,
        event: Event,
        *,
        first: Sequence[Event] = (),
        epoch: int | None = None,
        blobs: Sequence[bytes] = (),
        reached: RunState | None = None,
    ) -> RunState:
        kinds = " ".join(one.kind for one in (*first, event))
        self._points.passed(f"before {kinds}")
        after = await self._journal.append(state, event, first=first, epoch=epoch, blobs=blobs, reached=reached)
        self._points.passed(f"after {kinds}")
        return after

    async def acquire(
        self,
        run_id: RunId,
        *,
        worker: str,
        now: datetime,
        lease: timedelta,
        known: RunState | None = None,
        then: Sequence[Event] = (),
        reached: RunState | None = None,
    ) -> RunState | Unavailable:
        kinds = " ".join(["run_acquired", *(one.kind for one in then)])
        self._points.passed(f"before {kinds}")
        acquired = await self._journal.acquire(
            run_id, worker=worker, now=now, lease=lease, known=known, then=then, reached=reached
        )
        self._points.passed(f"after {kinds}")
        return acquired

    async def renew(self, run_id: RunId, *, epoch: int, now: datetime, lease: timedelta) -> Renewal:
        return await self._journal.renew(run_id, epoch=epoch, now=now, lease=lease)

    async def release(self, run_id: RunId, *, epoch: int) -> None:
        await self._journal.release(run_id, epoch=epoch)

    async def keep(self, data: bytes) -> BlobHash:
        return await self._journal.keep(data)

    async def blob(self, key: BlobHash) -> bytes:
        return await self._journal.blob(key)


class WitnessedTool:
    """Do what a tool does, with a line in the witness for each effect, and a point on either side of it."""

    def __init__(self, tool: Tool, points: Points, witness: Path) -> None:
        self.name, self.description, self.effect = tool.name, tool.description, tool.effect
        self.replay_safe, self.polling, self.arguments = tool.replay_safe, tool.polling, tool.arguments
        self._tool, self._points, self._witness = tool, points, witness

    def offered(self, scene: Scene) -> bool:
        return not isinstance(self._tool, Chosen) or self._tool.offered(scene)

    async def facts(self, call: ToolCall, args: BaseModel, scene: Scene) -> CallFacts:
        return await self._tool.facts(call, args, scene)

    async def run(self, args: BaseModel, scene: Scene, verdict: Verdict) -> ToolRun:
        self._points.passed(f"before the effect of {self.name}")
        async for fact in self._tool.run(args, scene, verdict):
            if isinstance(fact, ToolOutput):
                with self._witness.open("a") as witness:
                    witness.write(f"{_place(scene)} {self.name}\n")
                self._points.passed(f"after the effect of {self.name}")
            yield fact

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        return await self._tool.recover(call, scene)


def _place(scene: Scene) -> str:
    """Return which call it is; in a child, behind those that dispatched it."""
    return "~".join((*scene.run_id.split("~")[1:], scene.call_id))


class DyingExchange:
    """Pass a point before and after every request."""

    def __init__(self, exchange: Exchange, points: Points) -> None:
        self._exchange, self._points = exchange, points

    async def exchange(self, request: HttpRequest) -> HttpResponse | HttpFailure:
        self._points.passed("before the delivery")
        answer = await self._exchange.exchange(request)
        self._points.passed("after the delivery")
        return answer
