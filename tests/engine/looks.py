"""A double whose tools only look, and runs that look at much at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.job import Job
from kova_auto.core.message import CallRequest, ResultStatus, TextPart, ToolCall, ToolMessage, told
from kova_auto.core.tool import Scene, ToolFact, ToolOutput
from tests.doubles.journal import MemoryJournal
from tests.doubles.model import ScriptedModel
from tests.doubles.toolbox import Hands
from tests.engine.worlds import Stage
from tests.support import a_job, call, says


@dataclass
class Looking(Hands):
    """Look, and end a look only when it may.

    Attributes:
        gates: Looks that do not end before theirs is open, by what they look at.
        begun: What was looked at, in order.
        crowd: No look ends before so many are under way.
        fails: What a look raises.
        blobs: What is to be kept of a look: it is written at once.
        taints: What brings words from outside.
        most: So many were under way at the same time.
    """

    effects: dict[str, Effect] = field(
        default_factory=lambda: {
            "read": Effect.READ,
            "grep": Effect.READ,
            "web_fetch": Effect.WEB_READ,
            "change": Effect.WRITE,
            "bash": Effect.COMMAND,
        }
    )
    safe: frozenset[str] = frozenset({"read", "grep", "web_fetch"})
    gates: dict[str, asyncio.Event] = field(default_factory=dict)
    begun: list[str] = field(default_factory=list)
    crowd: int = 1
    fails: dict[str, Exception] = field(default_factory=dict)
    blobs: dict[str, tuple[bytes, ...]] = field(default_factory=dict)
    taints: AbstractSet[str] = frozenset()
    under_way: int = 0
    most: int = 0
    crowded: asyncio.Event = field(default_factory=asyncio.Event)

    async def execute(self, call: ToolCall, verdict: Verdict, scene: Scene) -> AsyncGenerator[ToolFact, None]:
        if call.tool not in self.safe:
            async for fact in super().execute(call, verdict, scene):
                yield fact
            return
        what = str(call.args["path"])
        self.meanwhile()
        self.begun.append(what)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if len(self.begun) >= self.crowd:
                self.crowded.set()
            await self.crowded.wait()
            if what in self.gates:
                await self.gates[what].wait()
            if what in self.fails:
                raise self.fails[what]
            self.done.append(f"{scene.call_id} {call.tool}")
            result = told(ResultStatus.OK, f"this is {what}").but(taints="a page" if what in self.taints else "")
            yield ToolOutput(result, self.blobs.get(what, ()))
        except asyncio.CancelledError:
            self.left.append(scene.call_id)
            raise
        finally:
            self.under_way -= 1


async def comes_to(hands: Looking, count: int) -> None:
    """Wait until so many looks have ended, and their worker knows it."""
    for _ in range(1000):
        if len(hands.done) >= count:
            break
        await asyncio.sleep(0)
    assert len(hands.done) >= count
    for _ in range(20):
        await asyncio.sleep(0)


def reads(*names: str) -> list[CallRequest]:
    return [call("read", path=name) for name in names]


def results(model: ScriptedModel) -> list[str]:
    """Return what the model was told in the end, in the order in which it was."""
    messages = [message for message in model.requests[-1].messages if isinstance(message, ToolMessage)]
    return [part.text for message in messages for part in message.parts if isinstance(part, TextPart)]


async def a_run(
    hands: Looking, *calls: CallRequest, job: Job | None = None, journal: MemoryJournal | None = None
) -> tuple[Stage, ScriptedModel]:
    stage = Stage(hands=hands, journal=journal or MemoryJournal())
    await stage.opened(job=job or a_job(automation="full"))
    return stage, ScriptedModel(says("Let me see.", *calls), says("Done."))
