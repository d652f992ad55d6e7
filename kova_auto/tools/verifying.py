"""Runs a command that the job's author wrote down to judge by: as the job's own commands are run, and nothing is asked.

The command is the author's, not the model's: it is not adjudicated, and it is confined all the same.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Final

from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect
from kova_auto.core.approval.tables import Reach, reach
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.event import ProcessStarted
from kova_auto.core.tool import ProcessAnnounced, Scene
from kova_auto.core.turn_facts import CheckResult
from kova_auto.tools.commands import Commands, Running
from kova_auto.tools.printed import how_it_ended, last_part
from kova_auto.tools.process import Limits
from kova_auto.tools.sandbox.plan import Level

MAX_S: Final = 600.0
"""Seconds that such a command may take, where the run has as many left."""
SHOWN_BYTES: Final = 4 << 10
_LEAST_S = 1.0
_LIMITS = Limits(timeout_s=MAX_S, head_bytes=0, tail_bytes=SHOWN_BYTES)

Verifying = AsyncGenerator[ProcessAnnounced | CheckResult, None]


class Verifier:
    """Run such commands, one after the other."""

    def __init__(self, commands: Commands) -> None:
        """Take what runs commands."""
        self._commands = commands

    async def verify(self, command: str, scene: Scene) -> Verifying:
        """Run a command: announced before it begins, and ended with exactly one `CheckResult`.

        What cannot be run is a result without an exit code, which says why. Closing the generator ends the command.
        Where the model has read untrusted text, the command has neither the job's network nor its variables: nobody
        is asked about it, and it could carry something out.
        """
        scene = _without_ways_out(scene) if scene.tainted_by else scene
        limits = replace(_LIMITS, timeout_s=min(MAX_S, max(scene.left_s, _LEAST_S)))
        try:
            self._commands.dirs(scene.run_id).spool(scene.call_id).unlink(missing_ok=True)  # Of the command before.
            running = await self._commands.spawn(command, scene, await self._level(scene), limits)
            async with running:
                yield running.announced(background=False)
                running.process.release()
                result = await _result(command, running)
        except ToolFailedError as exc:
            result = CheckResult(command=command, exit_code=None, output=f"[it could not be run: {exc}]")
        yield result

    async def recover(self, scene: Scene, process: ProcessStarted) -> None:
        """End what is left of a command that nobody waits for any more."""
        await self._commands.recover(scene, process)

    async def _level(self, scene: Scene) -> Level:
        """Return how the command is confined: as the job's own would be, in the widest box that is proven.

        Raises:
            ToolFailedError: None that will do is proven.
        """
        may_change = reach(scene.mode, Effect.COMMAND) is Reach.YES
        if scene.job.permissions.sandbox == "off" and may_change:
            return Level.OPEN
        only_reads = scene.level in (AutomationLevel.READ_ONLY, ApprovalLevel.ASK) or not may_change
        proven, why_not = await self._commands.confinable(scene)
        for level in (Level.READING,) if only_reads else (Level.WORKSPACE, Level.READING):
            if level in proven:
                return level
        message = f"a command runs only confined, and here it cannot be: {why_not}"
        raise ToolFailedError(message)


def _without_ways_out(scene: Scene) -> Scene:
    permissions = scene.job.permissions.model_copy(update={"network": "off"})
    return replace(scene, job=scene.job.model_copy(update={"permissions": permissions, "env": {}}))


async def verified(verifying: Verifying) -> CheckResult:
    """Return what a command came to, for those who announce what they do in another way.

    Raises:
        ToolFailedError: It ended without a result.
    """
    async with aclosing(verifying) as facts:
        async for fact in facts:
            if isinstance(fact, CheckResult):
                return fact
    message = "the command ended without a result"
    raise ToolFailedError(message)


async def _result(command: str, running: Running) -> CheckResult:
    finished = await running.finished()
    ended = finished.ended
    lines = [last_part(ended.output.tail, ended.output.total_bytes), *how_it_ended(finished, running.limits)]
    return CheckResult(
        command=command,
        exit_code=ended.exit_code if finished.ended_by_itself else None,
        output="\n".join(line for line in lines if line),
        took_s=ended.duration_s,
    )
