"""A process of the service that runs one command, and is killed by whoever started it. Run as a module."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from kova_auto.tools.sandbox.plan import Method
from tests.tools.command_scenes import a_bash_run, announced, sandbox_in, some_commands
from tests.tools.tool_scenes import a_scene


async def main(top: Path, method: Method, command: str) -> None:
    """Announce the command on stdout, and run it."""
    scratch = top / "scratch"  # no exit of its own will ever remove it
    scratch.mkdir()
    commands = some_commands(top, sandbox=sandbox_in(scratch, method))
    run = a_bash_run(commands, a_scene(top / "workspace"), command)
    fact = await announced(run)
    print(fact.pid, fact.started, flush=True)
    await anext(run)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Method(sys.argv[2]), sys.argv[3]))
