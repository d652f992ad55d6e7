"""Runs the commands by which the job file itself judges a run: as a run's own commands run, and each to its end.

No fact tells of the process of such a command: what a killed service left of one is found by a note beside its output,
ended, and run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.event import CheckResult
from kova_auto.core.message import ToolCall
from kova_auto.core.tool import CallFacts, Scene
from kova_auto.tools.commands import Commands
from kova_auto.tools.printed import Finished, both_ends, how_it_ended
from kova_auto.tools.process import Ending, Limits
from kova_auto.tools.sandbox.plan import Level

SHOWN_BYTES = 4 << 10
"""What is kept of what one such command prints: its beginning and its end."""

_CHECK = "check"
_LEAST_S = 1.0


class CommandChecks:
    """Run such commands; implements `core.ports.Checks`."""

    def __init__(self, commands: Commands, redact: Callable[[str], str]) -> None:
        """Take what runs commands, and what takes secrets out of what they print."""
        self._commands, self._redact = commands, redact

    async def facts(self, command: str, scene: Scene) -> CallFacts:
        """Say what would be run, and how it can be confined; the scene's call is the check's own."""
        confinable, why_not = await self._commands.confinable(scene)
        call = ToolCall(id=scene.call_id, tool=_CHECK, args={"command": command})
        return CallFacts(call, Effect.COMMAND, command=command, confinable=confinable, no_confinement=why_not)

    async def check(self, command: str, verdict: Verdict, scene: Scene, timeout_s: float) -> CheckResult:
        """Run a command that may run, and say what came of it; one that cannot be run has failed, and says why."""
        limits = Limits(
            timeout_s=max(min(timeout_s, scene.left_s), _LEAST_S),
            head_bytes=SHOWN_BYTES // 2,
            tail_bytes=SHOWN_BYTES // 2,
        )
        try:
            finished = await self._finished(command, Level(verdict.confinement), scene, limits)
        except ToolFailedError as exc:
            return CheckResult(command=self._redact(command), exit_code=None, output=self._redact(str(exc)))
        ended = finished.ended
        lines = [both_ends(ended.output) or "[no output]", *how_it_ended(finished, limits)]
        return CheckResult(
            command=self._redact(command),
            exit_code=ended.exit_code if ended.ending is Ending.EXITED else None,
            output=self._redact("\n".join(lines)),
            took_s=round(ended.duration_s, 3),
        )

    async def clear(self, scene: Scene) -> None:
        """End what an earlier process left of such commands. Safe to call twice."""
        await self._commands.clear(scene)

    async def _finished(self, command: str, level: Level, scene: Scene, limits: Limits) -> Finished:
        dirs, call = self._commands.dirs(scene.run_id), scene.call_id
        dirs.spool(call).unlink(missing_ok=True)  # Left by a service that was killed under this command.
        async with await self._commands.spawn(command, scene, level, limits) as running:
            await asyncio.to_thread(dirs.write_leader, call, running.process.leader)
            running.process.release()
            finished = await running.finished()
        await asyncio.to_thread(dirs.leader(call).unlink, missing_ok=True)
        return finished
