"""Tools with a goal: those of goal mode are the real ones, and commands that judge are only played."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.event import ProcessStarted
from kova_auto.core.message import ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, ProcessAnnounced, Scene, ToolFact
from kova_auto.core.tool_names import GOAL_TOOLS
from kova_auto.core.turn_facts import CheckResult
from kova_auto.tools.goal import BlockedTool, CompleteTool, ProposeCriteriaTool
from kova_auto.tools.toolbox import LocalToolbox
from kova_auto.tools.verifying import Verifier, Verifying
from tests.doubles.toolbox import Hands


class PlayedVerifier(Verifier):
    """Announce a process for each command, and let it pass or not.

    Attributes:
        ran: Commands, in the order in which they were run.
        ended: Processes that were ended after a crash.
    """

    def __init__(self, passes: Callable[[str], bool]) -> None:
        """Take what says whether a command passes now."""
        self._passes = passes
        self.ran: list[str] = []
        self.ended: list[int] = []

    async def verify(self, command: str, scene: Scene) -> Verifying:
        """Play a command."""
        del scene
        yield ProcessAnnounced(pid=7000 + len(self.ran), started="77")
        self.ran.append(command)
        has_passed = self._passes(command)
        yield CheckResult(command=command, exit_code=0 if has_passed else 1, output="so it is" if has_passed else "no")

    async def recover(self, scene: Scene, process: ProcessStarted) -> None:
        """End a process."""
        del scene
        self.ended.append(process.pid)


def _effects() -> dict[str, Effect]:
    goal = {"goal_propose_criteria": Effect.CONTRACT, "goal_complete": Effect.GOAL, "goal_blocked": Effect.GOAL}
    return {"look": Effect.READ, "change": Effect.WRITE, "run": Effect.COMMAND, "todo": Effect.NOTE, **goal}


@dataclass
class GoalHands(Hands):
    """Do what tools are asked; a command that judges passes once something was changed.

    Attributes:
        passes: Says whether a command that judges passes.
    """

    effects: dict[str, Effect] = field(default_factory=_effects)
    passes: Callable[[str], bool] | None = None

    def __post_init__(self) -> None:
        """Build the tools of goal mode."""
        self.verifier = PlayedVerifier(self.passes or (lambda _: any(done.endswith(" change") for done in self.done)))
        tools = (ProposeCriteriaTool(), CompleteTool(self.verifier), BlockedTool())
        self._real = LocalToolbox(tools, redact=str, holds_secret=lambda _: False)

    def replay_safe(self, tool: str) -> bool:
        return self._real.replay_safe(tool) if tool in GOAL_TOOLS else super().replay_safe(tool)

    async def facts(self, call: ToolCall, scene: Scene) -> CallFacts:
        if call.tool in GOAL_TOOLS:
            return await self._real.facts(call, scene)
        return await super().facts(call, scene)

    async def execute(self, call: ToolCall, verdict: Verdict, scene: Scene) -> AsyncGenerator[ToolFact, None]:
        played = super().execute(call, verdict, scene)
        doing = self._real.execute(call, verdict, scene) if call.tool in GOAL_TOOLS else played
        async with aclosing(played), aclosing(doing) as facts:
            async for fact in facts:
                yield fact

    async def recover(self, call: CallState, scene: Scene) -> ToolResult:
        if call.call.tool in GOAL_TOOLS:
            return await self._real.recover(call, scene)
        return await super().recover(call, scene)
