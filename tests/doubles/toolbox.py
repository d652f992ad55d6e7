"""Tools that only remember: what the engine's tests let a model call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from kova_auto.core.approval.levels import Effect, Mode, Verdict
from kova_auto.core.consent import Target
from kova_auto.core.message import ResultStatus, ToolCall, ToolResult, ToolSpec, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, PathFact, ProcessAnnounced, Scene, ToolFact, ToolOutput, Zone


async def _at_once() -> None:
    """Do nothing else."""


@dataclass
class Hands:
    """Do what tools are asked, and count it.

    Attributes:
        effects: What each known tool declares.
        done: Calls whose effect happened, in order.
        waits: Tools whose work does not end before `goes_on`.
        safe: Tools that may run again.
        broken: Tools whose work raises what no tool may raise; those that are `stuck` do so as they are recovered.
        leaving: A tool that waits was cut off; `left` holds the calls that have tidied up after it.
        meanwhile: Called while a tool works, and while what it left is settled.
        problems: What is wrong with every call of a tool.
        answers: What was answered to each question.
        settles: What else is done as what a run left is settled.
        there: What lies where a call of `change` would write.
    """

    effects: Mapping[str, Effect] = field(
        default_factory=lambda: {"look": Effect.READ, "change": Effect.WRITE, "run": Effect.COMMAND}
    )
    done: list[str] = field(default_factory=list)
    waits: frozenset[str] = frozenset()
    safe: frozenset[str] = frozenset({"look"})
    settled: list[str] = field(default_factory=list)
    recovered: list[str] = field(default_factory=list)
    broken: frozenset[str] = frozenset()
    stuck: frozenset[str] = frozenset()
    working: asyncio.Event = field(default_factory=asyncio.Event)
    goes_on: asyncio.Event = field(default_factory=asyncio.Event)
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    left: list[str] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    problems: dict[str, str] = field(default_factory=dict)
    answers: list[tuple[str, ...]] = field(default_factory=list)
    settles: Callable[[], Awaitable[object]] = _at_once
    there: Target = field(default_factory=lambda: Target(path="/ws/a.txt"))

    def specs(self, scene: Scene, mode: Mode) -> tuple[ToolSpec, ...]:
        del scene, mode
        return tuple(ToolSpec(name=name, description=name, parameters={"type": "object"}) for name in self.effects)

    def replay_safe(self, tool: str) -> bool:
        return tool in self.safe

    def only_looks(self, tool: str) -> bool:
        return tool in self.safe and self.effects[tool] is Effect.READ

    async def facts(self, call: ToolCall, scene: Scene) -> CallFacts:
        effect = self.effects.get(call.tool)
        writes = effect is Effect.WRITE
        paths = (PathFact(f"{scene.workspace}/a.txt", Zone.INSIDE, writes),) if effect is not Effect.COMMAND else ()
        command = str(call.args.get("command", "")) if effect is Effect.COMMAND else None
        problem = self.problems.get(call.tool, "wanted text" if call.args.get("path") == 7 else "")
        confinable = frozenset({"reading", "workspace"})
        return CallFacts(call, effect, problem=problem, paths=paths, command=command, confinable=confinable)

    async def targets(self, call: ToolCall, scene: Scene) -> tuple[Target, ...]:
        del scene
        return (self.there,) if call.tool == "change" else ()

    async def execute(self, call: ToolCall, verdict: Verdict, scene: Scene) -> AsyncGenerator[ToolFact, None]:
        del verdict
        if call.tool in self.broken:
            raise ZeroDivisionError
        if self.effects[call.tool] is Effect.COMMAND:
            yield ProcessAnnounced(pid=4242, started="77")
        self.working.set()
        self.meanwhile()
        if call.tool in self.waits:
            await self._wait(scene)
        self.done.append(f"{scene.call_id} {call.tool}")
        if self.effects[call.tool] is Effect.QUESTION:
            self.answers.append(scene.answers)
        yield ToolOutput(told(ResultStatus.OK, f"{call.tool} is done"))

    async def recover(self, call: CallState, scene: Scene) -> ToolResult:
        await self._a_while()
        if call.call.tool in self.stuck:
            raise PermissionError
        self.recovered.append(f"{scene.call_id} {call.call.tool}")
        return told(ResultStatus.UNKNOWN, "it was cut off")

    async def settle(self, scene: Scene) -> None:
        await self._a_while()
        await self.settles()
        self.settled.append(scene.run_id)

    async def _wait(self, scene: Scene) -> None:
        try:
            await self.goes_on.wait()
        except asyncio.CancelledError:
            self.leaving.set()
            await self._a_while()
            self.left.append(scene.call_id)
            raise

    async def _a_while(self) -> None:
        """Take a few turns of the loop, as what kills processes and removes files does."""
        for _ in range(5):
            self.meanwhile()
            await asyncio.sleep(0)
