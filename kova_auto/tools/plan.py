"""The tools of plan mode: `plan_write` keeps the plan in a file of its own, `plan_exit` asks that it be carried out."""

from __future__ import annotations

import asyncio
from pathlib import PurePath

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Mode, Verdict
from kova_auto.core.context.plan import BENEATH, plan_name
from kova_auto.core.message import ResultStatus, TextPart, ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.tool_names import PLAN_EXIT, PLAN_WRITE
from kova_auto.core.value import Value
from kova_auto.tools.changing import Change, carry_out, recovered
from kova_auto.tools.files import existing
from kova_auto.tools.roots import Ground, Roots, Target

MAX_PLAN = 50_000


class PlanWriteArguments(Value):
    """Hold the plan."""

    markdown: str = Field(min_length=1, max_length=MAX_PLAN, description="The whole plan; it replaces the one before.")
    title: str = Field(default="", max_length=200, description="A few words on what is planned; names the file.")


class PlanWriteTool:
    """Write the run's plan."""

    name = PLAN_WRITE
    description = (
        "Write your plan, in Markdown of at most 50,000 characters. Each call replaces the whole of it; it is kept in "
        "a file of the workspace's .kova/plans, which is named on the first write. It is what a person will judge: say "
        "what is to be done, in which files and order, how it is checked, and what could go wrong."
    )
    effect = Effect.PLAN
    replay_safe = False
    polling = False
    arguments: type[BaseModel] = PlanWriteArguments

    def __init__(self, roots: Roots) -> None:
        """Take the boundary."""
        self._roots = roots

    async def facts(self, call: ToolCall, args: PlanWriteArguments, scene: Scene) -> CallFacts:
        """Say which file would be written."""
        fact = await asyncio.to_thread(lambda: self._roots.fact(self._target(args, scene)))
        return CallFacts(call, self.effect, paths=(fact,))

    async def run(self, args: PlanWriteArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Write it, and keep its text with the run."""
        del verdict  # whether it may be written was decided before
        target = self._target(args, scene)
        found = await asyncio.to_thread(existing, self._roots, target)
        text = args.markdown.rstrip() + "\n"
        change = Change(target, found, text.encode(errors="replace"))
        said = f"The plan is in {target.shown}. When it is complete, call {PLAN_EXIT} alone."
        async for fact in carry_out(self._roots, change, scene, said=said):
            if isinstance(fact, ToolOutput):
                yield ToolOutput(fact.result.model_copy(update={"plan": text}), fact.blobs)
            else:
                yield fact

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say whether the file holds the plan; then it is the run's plan, too."""
        found = await recovered(self._roots, call, scene)
        text = call.call.args.get("markdown")
        if found.status is not ResultStatus.OK or not isinstance(text, str):
            return found
        return found.model_copy(update={"plan": text.rstrip() + "\n"})

    def _target(self, args: PlanWriteArguments, scene: Scene) -> Target:
        path = scene.plan_file or str(PurePath(*BENEATH, plan_name(args.title, scene.run_id)))
        return self._roots.locate(path, Ground.of_scene(scene), writes=True, keeps=True)


class PlanExitArguments(Value):
    """Say why the plan is ready."""

    rationale: str = Field(
        default="", max_length=2000, description="Why the plan is complete, and what a person should look at first."
    )


class PlanExitTool:
    """Ask a person to let the plan be carried out."""

    name = PLAN_EXIT
    description = (
        "Ask that your plan be carried out; plan_write must have written it, and this must be the only call of your "
        "reply. Where a person lets it through, you go on with all tools and carry it out. Where nobody decides about "
        "plans, the run ends, and the plan is its result."
    )
    effect = Effect.LEAVE_PLAN
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = PlanExitArguments

    async def facts(self, call: ToolCall, args: PlanExitArguments, scene: Scene) -> CallFacts:
        """Touch nothing; without a plan there is nothing to ask."""
        del args
        problem = "" if scene.plan_file else f"there is no plan yet: write it with {PLAN_WRITE} first"
        return CallFacts(call, self.effect, problem=problem)

    async def run(self, args: PlanExitArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Have the run go on in agent mode."""
        del args, scene, verdict
        said = "The plan is let through: carry it out now, step by step, with all the tools you are given from here on."
        yield ToolOutput(ToolResult(status=ResultStatus.OK, parts=(TextPart(text=said),), enters=Mode.AGENT))

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be said again."""
        del call, scene
        return None
