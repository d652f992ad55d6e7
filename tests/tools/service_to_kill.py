"""A process of the service that runs one command, and is killed by whoever started it. Run as a module."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from kova_auto.core.ids import CallId
from kova_auto.tools.checking import CommandChecks
from kova_auto.tools.commands import Commands
from kova_auto.tools.sandbox.plan import Level, Method
from tests.tools.command_scenes import a_bash_run, announced, confined, sandbox_in, some_commands
from tests.tools.tool_scenes import a_scene


async def call(commands: Commands, top: Path, command: str) -> None:
    """Announce the command on stdout, and run it."""
    run = a_bash_run(commands, a_scene(top / "workspace"), command)
    fact = await announced(run)
    print(fact.pid, fact.started, flush=True)
    await anext(run)


async def main(top: Path, method: Method, command: str, check: str = "") -> None:
    """Run the command as a call, or as the check of that name."""
    scratch = top / "scratch"  # no exit of its own will ever remove it
    scratch.mkdir()
    commands = some_commands(top, sandbox=sandbox_in(scratch, method))
    if not check:
        await call(commands, top, command)
        return
    scene = replace(a_scene(top / "workspace"), call_id=CallId(check))
    await CommandChecks(commands, str).check(command, confined(Level.WORKSPACE), scene, 600.0)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Method(sys.argv[2]), *sys.argv[3:]))
