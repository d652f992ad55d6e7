"""The `task_output` and `task_stop` tools: look after the commands that this run left running.

Both are the run's own notes to adjudication: they reach nothing but what the run itself was allowed to start.
"""

from __future__ import annotations

import asyncio

from pydantic import BaseModel, Field

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import CallId
from kova_auto.core.message import ResultStatus, ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value
from kova_auto.tools.bash import BashTool
from kova_auto.tools.commands import Commands, Left, Remains
from kova_auto.tools.output import printable
from kova_auto.tools.printed import SHOWN_BYTES, Finished, how_it_ended, last_part, reported, set_aside, unreached
from kova_auto.tools.tool import Tool

_MAX_WAIT_S = 60
_TASK_ID = Field(max_length=64, description="The id that bash gave when it started the command.")
_RESTARTED = "[it ended when the service was restarted; start it again if it is still needed]"


class TaskOutputArguments(Value):
    """Say which task to look at."""

    task_id: str = _TASK_ID
    wait_s: float = Field(default=0, ge=0, le=_MAX_WAIT_S, description="Seconds to wait for its end first.")


class TaskOutputTool:
    """Show what a background command printed."""

    name = "task_output"
    description = (
        "Show the end of what a background command of this run has printed, at most 16 KiB, and whether it still runs. "
        f"With wait_s (at most {_MAX_WAIT_S}) it waits so long for the command to end; use that instead of calling "
        "again and again."
    )
    effect = Effect.NOTE
    replay_safe = True
    polling = True
    arguments: type[BaseModel] = TaskOutputArguments

    def __init__(self, commands: Commands) -> None:
        """Take what runs commands."""
        self._commands = commands

    async def facts(self, call: ToolCall, args: TaskOutputArguments, scene: Scene) -> CallFacts:
        """Touch nothing but what the run itself started."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: TaskOutputArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Show it."""
        del verdict
        left = self._commands.left(scene.run_id, CallId(args.task_id))
        if left is None:
            yield _restarted(await _remains(self._commands, args.task_id, scene))
            return
        await asyncio.wait({left.over}, timeout=min(args.wait_s, scene.left_s))
        yield await _seen(left, left.over.result() if left.over.done() else None)

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be looked at again."""
        del call, scene
        return None


class TaskStopArguments(Value):
    """Say which task to end."""

    task_id: str = _TASK_ID


class TaskStopTool:
    """End a background command."""

    name = "task_stop"
    description = (
        "End a background command of this run, with everything it started: it is asked politely, and killed after a "
        "second. Shows the end of what it printed."
    )
    effect = Effect.NOTE
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = TaskStopArguments

    def __init__(self, commands: Commands) -> None:
        """Take what runs commands."""
        self._commands = commands

    async def facts(self, call: ToolCall, args: TaskStopArguments, scene: Scene) -> CallFacts:
        """Touch nothing but what the run itself started."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: TaskStopArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """End it."""
        del verdict
        left = self._commands.left(scene.run_id, CallId(args.task_id))
        if left is None:
            yield _restarted(await _remains(self._commands, args.task_id, scene))
            return
        output = await _seen(left, await left.stop())
        yield ToolOutput(output.result.model_copy(update={"status": ResultStatus.OK}), output.blobs)

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: it can be ended again."""
        del call, scene
        return None


def command_tools(commands: Commands) -> tuple[Tool, ...]:
    """Return the tools that run commands, in the order in which the model is told of them."""
    return BashTool(commands), TaskOutputTool(commands), TaskStopTool(commands)


async def _seen(left: Left, finished: Finished | None) -> ToolOutput:
    """Return how a task is doing; the status is the command's own once it has ended."""
    output = left.running.process.output()
    whole: bytes | None = None
    if output.total_bytes > SHOWN_BYTES:
        has_all = output.total_bytes <= left.running.limits.spool_bytes
        whole = await asyncio.to_thread(left.running.spool.read_bytes) if has_all else output.tail
    text = last_part(output.tail, output.total_bytes)
    if finished is None:
        notes = ["[still running]", *unreached(left.running.refused())]
        return reported(ResultStatus.OK, text, notes, whole=whole)
    status = ResultStatus.OK if finished.succeeded else ResultStatus.ERROR
    notes = how_it_ended(finished, left.running.limits) or ["[ended with exit code 0]"]
    return reported(status, text, notes, exit_code=finished.ended.exit_code, whole=whole)


async def _remains(commands: Commands, task_id: str, scene: Scene) -> Remains:
    """End what an earlier process of the service left of a task.

    Raises:
        ToolFailedError: This run has no such task.
    """
    process = scene.processes.get(CallId(task_id))
    if process is None:
        tasks = ", ".join(scene.processes) or "none"
        message = f"this run has no background task {printable(task_id)}; there are: {tasks}"
        raise ToolFailedError(message)
    return await commands.recover(scene, process)


def _restarted(remains: Remains) -> ToolOutput:
    printed = remains.printed or b""
    text = "[what it printed was not kept]" if remains.printed is None else last_part(printed, len(printed))
    whole = printed if len(printed) > SHOWN_BYTES else None
    return reported(ResultStatus.ERROR, text, [*set_aside(remains.set_aside), _RESTARTED], whole=whole)
