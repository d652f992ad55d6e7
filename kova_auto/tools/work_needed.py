"""The `ask_needs_work` tool of ask mode: says that the answer would be work, which this mode does not do."""

from __future__ import annotations

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus, TextPart, ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.tool_names import WORK_NEEDED
from kova_auto.core.value import Value


class WorkNeededArguments(Value):
    """Say what is to be done."""

    reason: str = Field(
        min_length=1, max_length=2000, description="What would have to be changed or run, and why that is the answer."
    )


class WorkNeededTool:
    """Conclude that somebody has to do work."""

    name = WORK_NEEDED
    description = (
        "Say that the question cannot be answered by looking alone: something has to be changed or run first. The run "
        "ends as one that needs a person's input; nothing is changed. Call it alone and only once you have looked, "
        "then end with a message that says what is to be done."
    )
    effect = Effect.WORK_NEEDED
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = WorkNeededArguments

    async def facts(self, call: ToolCall, args: WorkNeededArguments, scene: Scene) -> CallFacts:
        """Touch nothing but how the run ends."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: WorkNeededArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Give the run its outcome."""
        del args, scene, verdict  # the reason is kept with the call itself
        said = "Noted: work is needed. End now with a message that says what is to be done, and make no further calls."
        result = ToolResult(status=ResultStatus.OK, parts=(TextPart(text=said),), concludes=str(Outcome.NEEDS_INPUT))
        yield ToolOutput(result)

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be said again."""
        del call, scene
        return None
