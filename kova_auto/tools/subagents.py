"""The tools that dispatch subagents and look after them: `Task`, `TaskWait`, `TaskList`, `TaskStop`.

A child is a run of its own, with its own journal and verdicts; to adjudication these tools reach nothing but that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.child import ChildState
from kova_auto.core.children.reports import REPORT_CHARS, report_of, status_of
from kova_auto.core.children.waiting import LONGEST_S, WAIT_S
from kova_auto.core.delivery.document import count
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import child_run_id
from kova_auto.core.message import ResultStatus, TextPart, ToolCall, ToolResult
from kova_auto.core.nursery import Nursery, Task
from kova_auto.core.run import CallState, Execution
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.tool_names import TASK, TASK_LIST, TASK_STOP, TASK_WAIT
from kova_auto.core.value import Value
from kova_auto.tools.output import printable

CHANGING: Final = frozenset(("write", "edit"))
"""Tools with which a subagent is none that only reads; its commands are confined to reading in plan mode."""
_ID: Final = Field(max_length=200, description="The id that Task gave.")
_DISPATCHED: Final = (
    "Dispatched {agent} as {run_id}. It works on its own from here; TaskWait waits for its report. Go on with what "
    "does not depend on it."
)
_PERSON: Final = "waits for a person"
_EXECUTION: Final = {Execution.SUSPENDED: _PERSON, Execution.QUEUED: "queued"}
_HOURS: Final = (
    "A person may take hours to answer. Do not wait here time and again: do what is left to be done, then end your "
    "turn. Your run goes on when the subagent has ended, and its report is given to you then."
)


class TaskArguments(Value):
    """Say which subagent is to do what."""

    agent: str = Field(min_length=1, max_length=130, description="Name of the subagent, as the system prompt lists it.")
    task: str = Field(
        min_length=1,
        max_length=50_000,
        description=(
            "What it is to do, and all that it needs to know: it sees nothing of this conversation. Say what its "
            "report is to hold."
        ),
    )
    description: str = Field(default="", max_length=200, description="The same in a few words.")
    model: str = Field(default="", max_length=200, description="provider/model to ask instead of its own.")


class DispatchTool:
    """Dispatch a subagent."""

    name = TASK
    description = (
        "Dispatch a subagent: it works on a task of its own, beside you, with its own context and tools, in the same "
        "workspace and under the same permissions. The call returns at once with an id. Dispatch several in one reply "
        "for work that does not depend on one another. Your run ends only when they have, and reports that you did not "
        f"wait for are given to you then. A report is its final message, at most {REPORT_CHARS:,} characters."
    )
    effect = Effect.SUBAGENT
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = TaskArguments

    def __init__(self, nursery: Nursery) -> None:
        """Take what dispatches."""
        self._nursery = nursery

    def offered(self, scene: Scene) -> bool:
        """Say whether the job lets its runs dispatch anybody."""
        return bool(scene.job.agents.allow)

    async def facts(self, call: ToolCall, args: TaskArguments, scene: Scene) -> CallFacts:
        """Find out whether there is such a subagent, and whether it only reads."""
        agent = await self._nursery.known(args.agent, scene)
        return CallFacts(call, self.effect, changing=tuple(sorted(CHANGING.intersection(agent.tools))))

    async def run(self, args: TaskArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Open its run."""
        del verdict
        task = Task(args.agent, args.task, args.description, args.model)
        run_id = await self._nursery.dispatch(task, scene)
        yield _told(_DISPATCHED.format(agent=args.agent, run_id=run_id), child=run_id)

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say whether the child is there; where the call may be made again, that finds the same one."""
        found = await self._nursery.found(child_run_id(scene.run_id, call.call.id))
        if found is None:
            return None
        text = f"This call was cut off, and {found.run_id} was dispatched all the same."
        return ToolResult(status=ResultStatus.OK, parts=(TextPart(text=text),), child=found.run_id)


class WaitArguments(Value):
    """Say for whom to wait, and how long."""

    tasks: tuple[str, ...] = Field(
        default=(), max_length=64, description="Ids that Task gave; none waits for all whose reports you do not have."
    )
    mode: Literal["all", "any"] = Field(default="all", description="Wait for all of them, or for the first.")
    at_least: int | None = Field(default=None, ge=1, le=64, description="Wait for so many of them; instead of mode.")
    timeout_s: float = Field(default=WAIT_S, ge=0, le=LONGEST_S, description="Give up after so many seconds.")


class AwaitTool:
    """Wait for subagents, and show the reports of those that have ended. The waiting itself is a step of the run."""

    name = TASK_WAIT
    description = (
        "Wait for subagents: for all, for any, or for at least so many of them, and show their reports. That the time "
        f"is over is no error: those still at work go on. At most {LONGEST_S} seconds; waiting costs nothing else."
    )
    effect = Effect.NOTE
    replay_safe = True
    polling = True
    arguments: type[BaseModel] = WaitArguments

    def __init__(self, nursery: Nursery) -> None:
        """Take what knows how they are doing."""
        self._nursery = nursery

    def offered(self, scene: Scene) -> bool:
        """Say whether the job lets its runs dispatch anybody."""
        return bool(scene.job.agents.allow)

    async def facts(self, call: ToolCall, args: WaitArguments, scene: Scene) -> CallFacts:
        """Touch nothing but the run's own children."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: WaitArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Show what there is."""
        del verdict
        asked = [_child(name, scene) for name in args.tasks] or [one for one in _all(scene) if not one.is_told]
        if not asked:
            yield _told("There is nobody to wait for: every report was given to you already.")
            return
        ended = [child for child in asked if child.finished]
        waiting = [child for child in asked if not child.finished and await self._waits_for_person(child)]
        lines = [
            report_of(child) if child.finished else f"[{_line(child, _PERSON if child in waiting else '')}]"
            for child in asked
        ]
        output = _told("\n\n".join((*lines, *((_HOURS,) if waiting else ()))))
        reports = tuple(child.call_id for child in ended)
        taints = next(
            (child.finished.tainted_by for child in ended if child.finished and child.finished.tainted_by), ""
        )
        yield ToolOutput(output.result.but(reports=reports, taints=taints))

    async def _waits_for_person(self, child: ChildState) -> bool:
        row = await self._nursery.found(child.run_id)
        return row is not None and row.execution is Execution.SUSPENDED

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be asked again."""
        del call, scene
        return None


class ListArguments(Value):
    """Say nothing: all are shown."""


class SurveyTool:
    """Show the subagents of a run."""

    name = TASK_LIST
    description = "List the subagents that this run has dispatched, how each is doing, and how far it has come."
    effect = Effect.NOTE
    replay_safe = True
    polling = True
    arguments: type[BaseModel] = ListArguments

    def __init__(self, nursery: Nursery) -> None:
        """Take what knows how they are doing."""
        self._nursery = nursery

    def offered(self, scene: Scene) -> bool:
        """Say whether the job lets its runs dispatch anybody."""
        return bool(scene.job.agents.allow)

    async def facts(self, call: ToolCall, args: ListArguments, scene: Scene) -> CallFacts:
        """Touch nothing but the run's own children."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: ListArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Show them."""
        del args, verdict
        lines = [await self._shown(child) for child in _all(scene)]
        yield _told("\n".join(lines) or "This run has dispatched nobody.")

    async def _shown(self, child: ChildState) -> str:
        row = await self._nursery.found(child.run_id)
        if row is None or child.finished:
            return _line(child)
        at_work = _EXECUTION.get(row.execution, status_of(child))
        replies = "1 reply" if row.iterations == 1 else f"{row.iterations} replies"
        return f"{_line(child, at_work)}, {replies}, {count(row.calls, 'call')}"

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be asked again."""
        del call, scene
        return None


class StopArguments(Value):
    """Say whom to end."""

    task: str = _ID


class EndTool:
    """End a subagent."""

    name = TASK_STOP
    description = (
        "End a subagent with everything that it has started; what it has done stays done. Its last words come with "
        "TaskWait."
    )
    effect = Effect.NOTE
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = StopArguments

    def __init__(self, nursery: Nursery) -> None:
        """Take what ends them."""
        self._nursery = nursery

    def offered(self, scene: Scene) -> bool:
        """Say whether the job lets its runs dispatch anybody."""
        return bool(scene.job.agents.allow)

    async def facts(self, call: ToolCall, args: StopArguments, scene: Scene) -> CallFacts:
        """Touch nothing but the run's own child."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: StopArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Ask it to end."""
        del verdict
        child = _child(args.task, scene)
        if child.finished:
            yield _told(f"{_line(child)}: it had ended already.")
            return
        await self._nursery.stop((child.run_id,), "its parent does not need it any more")
        yield _told(f"{child.run_id} is being ended.")

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be ended again."""
        del call, scene
        return None


def _all(scene: Scene) -> Iterable[ChildState]:
    return scene.children.values()


def _child(name: str, scene: Scene) -> ChildState:
    """Return the child that a model means.

    Raises:
        ToolFailedError: The run has dispatched no such subagent.
    """
    for child in _all(scene):
        if name in (child.run_id, child.call_id):
            return child
    there = ", ".join(child.run_id for child in _all(scene)) or "none"
    message = f"this run has dispatched no subagent {printable(name)}; there are: {there}"
    raise ToolFailedError(message)


def _line(child: ChildState, stands: str = "") -> str:
    title = f" ({child.title})" if child.title else ""
    return f"{child.run_id} {child.agent}{title}: {stands or status_of(child)}"


def _told(text: str, **said: object) -> ToolOutput:
    result = ToolResult(status=ResultStatus.OK, parts=(TextPart(text=text),))
    return ToolOutput(result.but(**said) if said else result)
