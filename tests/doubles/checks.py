"""Commands of the job file that only remember, and fail when they are told to."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.event import CheckResult
from kova_auto.core.message import ToolCall
from kova_auto.core.tool import CallFacts, Scene


@dataclass
class Proof:
    """Run such commands, and count it.

    Attributes:
        fails: How often a command fails before it passes.
        ran: Each with the call that it ran as and its confinement, in order.
        scenes: Of these.
        cleared: How often what an earlier worker left was ended.
        confinable: What is proven.
        waits: No command ends before `goes_on`.
    """

    fails: dict[str, int] = field(default_factory=dict)
    ran: list[tuple[str, str, str]] = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)
    cleared: int = 0
    confinable: frozenset[str] = frozenset({"reading", "workspace"})
    waits: bool = False
    working: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def facts(self, command: str, scene: Scene) -> CallFacts:
        call = ToolCall(id=scene.call_id, tool="check", args={"command": command})
        return CallFacts(call, Effect.COMMAND, command=command, confinable=self.confinable)

    async def check(self, command: str, verdict: Verdict, scene: Scene, timeout_s: float) -> CheckResult:
        del timeout_s
        self.working.set()
        if self.waits:
            await self.goes_on.wait()
        self.ran.append((command, scene.call_id, verdict.confinement))
        self.scenes.append(scene)
        left = self.fails.get(command, 0)
        self.fails[command] = max(left - 1, 0)
        if left:
            return CheckResult(command=command, exit_code=1, output="it is not there\n[exit code 1]")
        return CheckResult(command=command, exit_code=0, output="[no output]")

    async def clear(self, scene: Scene) -> None:
        del scene
        self.cleared += 1
