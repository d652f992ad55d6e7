"""The `bash` tool: runs a command in its confinement, to its end or in the background."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from pydantic import BaseModel, Field, field_validator

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.message import ResultStatus, ToolCall, ToolResult, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value
from kova_auto.tools.commands import Commands, Remains, Running
from kova_auto.tools.printed import both_ends, how_it_ended, last_part, reported, set_aside
from kova_auto.tools.process import BACKGROUND, Limits
from kova_auto.tools.sandbox.plan import Level

_DEFAULT_S = 120
_MAX_S = 600
_LEAST_S = 1.0
_LEFT_RUNNING = replace(BACKGROUND, grace_s=1.0)
_NOT_RUN = "This command was not run: the service stopped before it started. Make the call again if it is still needed."
_CUT_OFF = (
    "This command was cut off: it had been started, and may have done all of its work, a part of it, or nothing. "
    "Look at what is there before you run it again."
)


class BashArguments(Value):
    """Say what to run."""

    command: str = Field(min_length=1, max_length=100_000, description="Command line for bash.")
    timeout_s: float = Field(
        default=_DEFAULT_S, gt=0, le=_MAX_S, description="Seconds after which it is ended; not for the background."
    )
    run_in_background: bool = Field(
        default=False, description="Return at once and let it go on; see task_output and task_stop."
    )

    @field_validator("command")
    @classmethod
    def _is_text(cls, command: str) -> str:
        if "\0" in command:
            message = "a command cannot hold NUL"
            raise ValueError(message)
        return command


class BashTool:
    """Run a command."""

    name = "bash"
    description = (
        "Run a command with bash, in the workspace. Each call starts anew: no directory, variable or process of an "
        "earlier one is there. stdin is empty; stdout and stderr come as one text. At most 16 KiB are shown, the "
        "beginning and the end, and the result says how to read the rest. The command is ended, with everything it "
        f"started, after timeout_s seconds ({_DEFAULT_S}, at most {_MAX_S}) or 4 MiB of output; what it leaves running "
        "is ended with it. What it may write and reach is limited. TMPDIR lasts as long as the run. With "
        "run_in_background the call returns a task id at once; the command goes on until it ends, is stopped, or the "
        "run ends. Use read, glob, grep, write and edit for files."
    )
    effect = Effect.COMMAND
    replay_safe = False
    polling = False
    arguments: type[BaseModel] = BashArguments

    def __init__(self, commands: Commands) -> None:
        """Take what runs commands."""
        self._commands = commands

    async def facts(self, call: ToolCall, args: BashArguments, scene: Scene) -> CallFacts:
        """Say what would be run, and how it can be confined."""
        confinable, why_not = await self._commands.confinable(scene)
        return CallFacts(call, self.effect, command=args.command, confinable=confinable, no_confinement=why_not)

    async def run(self, args: BashArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Run it."""
        limits = _LEFT_RUNNING if args.run_in_background else _limits(args, scene)
        if args.run_in_background:
            self._commands.wants_room(scene)
        async with await self._commands.spawn(args.command, scene, _level(verdict), limits) as running:
            yield running.announced(background=args.run_in_background)
            running.process.release()
            if args.run_in_background:
                self._commands.leave(scene, running)
                output = ToolOutput(told(ResultStatus.OK, _left_running(scene)))
            else:
                output = await _to_its_end(running)
        yield output

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """End what a cut-off command left running, and say how far it had come."""
        if call.process is None:
            return told(ResultStatus.ERROR, _NOT_RUN)
        remains = await self._commands.recover(scene, call.process)
        return told(ResultStatus.UNKNOWN, _remains_told(remains))

    async def settle(self, scene: Scene) -> None:
        """End what a run left running, and remove what it kept. Safe to call twice."""
        await self._commands.settle(scene)


def _limits(args: BashArguments, scene: Scene) -> Limits:
    return Limits(timeout_s=min(args.timeout_s, max(scene.left_s, _LEAST_S)))


def _level(verdict: Verdict) -> Level:
    try:
        return Level(verdict.confinement)
    except ValueError as exc:
        message = "the verdict names no confinement: the command was not run"
        raise ToolFailedError(message) from exc


def _left_running(scene: Scene) -> str:
    return (
        f"Started in the background as task {scene.call_id}. See what it prints with task_output, end it with "
        "task_stop; it ends with the run at the latest."
    )


async def _to_its_end(running: Running) -> ToolOutput:
    finished = await running.finished()
    output = finished.ended.output
    return reported(
        ResultStatus.OK if finished.succeeded else ResultStatus.ERROR,
        both_ends(output),
        how_it_ended(finished, running.limits),
        exit_code=finished.ended.exit_code,
        whole=await asyncio.to_thread(running.spool.read_bytes) if output.left_out_bytes else None,
    )


def _remains_told(remains: Remains) -> str:
    lines = [_CUT_OFF, *set_aside(remains.set_aside)]
    if remains.ended:
        lines.append(f"[processes that were still running: {remains.ended}; they were ended]")
    if remains.printed is None:
        lines.append("What it had printed is not known.")
    else:
        lines += ["It had printed:", last_part(remains.printed, len(remains.printed)) or "[nothing]"]
    return "\n".join(lines)
