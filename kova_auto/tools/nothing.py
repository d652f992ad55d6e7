"""The `nothing_to_report` tool: lets a run say that it looked and that there is nothing worth telling."""

from __future__ import annotations

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus, TextPart, ToolCall, ToolResult, told
from kova_auto.core.mishap import mishap_in
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value

_MISHAP = (
    "The reason tells of something that went wrong ({words!r}), so there is something to report. If that kept you from "
    "doing the job, call report_failure; if not, say it in your final message. If nothing went wrong, give the reason "
    "in other words."
)


class NothingArguments(Value):
    """Say why."""

    reason: str = Field(
        min_length=1, max_length=1000, description="What was looked at, and why none of it is worth telling."
    )


class NothingToReportTool:
    """Conclude that there is nothing to report."""

    name = "nothing_to_report"
    description = (
        "Say that the job was done and that there is nothing worth telling anybody: people who want to hear only of "
        "news are then left in peace. Call it last, once you have really looked, and never because something failed or "
        "was refused: say that in your final message, or call report_failure."
    )
    effect = Effect.NOTE
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = NothingArguments

    async def facts(self, call: ToolCall, args: NothingArguments, scene: Scene) -> CallFacts:
        """Touch nothing but how the run ends."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: NothingArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Give the run its outcome, unless the reason tells of something that went wrong: that is worth telling."""
        del scene, verdict
        if words := mishap_in(args.reason):
            yield ToolOutput(told(ResultStatus.ERROR, _MISHAP.format(words=words)))
            return
        # The reason is kept with the call itself.
        said = "Noted: nothing to report. End now, with one short sentence and no further calls."
        result = ToolResult(
            status=ResultStatus.OK, parts=(TextPart(text=said),), concludes=str(Outcome.NOTHING_TO_REPORT)
        )
        yield ToolOutput(result)

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be said again."""
        del call, scene
        return None
