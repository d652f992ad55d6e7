"""The `report_failure` tool: lets a run say that it could not do its job, where nothing but the model knows it."""

from __future__ import annotations

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus, TextPart, ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.tool_names import REPORT_FAILURE
from kova_auto.core.value import Value


class FailureArguments(Value):
    """Say why."""

    reason: str = Field(
        min_length=1, max_length=1000, description="What could not be done and what stood in the way, in a sentence."
    )


class ReportFailureTool:
    """Conclude that the job was not done."""

    name = REPORT_FAILURE
    description = (
        "Say that the job could not be done: what it is about could not be read, reached or made, and what you have is "
        "not what was asked for. The run then ends as failed, and people are told. Call it last, and then end with a "
        "message that says what you did find. Bad news that you were to look for is a result, not a failure."
    )
    effect = Effect.NOTE
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = FailureArguments

    async def facts(self, call: ToolCall, args: FailureArguments, scene: Scene) -> CallFacts:
        """Touch nothing but how the run ends."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: FailureArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Give the run its outcome."""
        del args, scene, verdict  # the reason is kept with the call itself
        said = "Noted: the run fails. End now with a message that says what you did find, and make no further calls."
        yield ToolOutput(
            ToolResult(status=ResultStatus.OK, parts=(TextPart(text=said),), concludes=str(Outcome.FAILED))
        )

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be said again."""
        del call, scene
        return None
