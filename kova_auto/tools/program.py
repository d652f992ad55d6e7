"""Runs a program of ours on a foreign file, in a process of its own: some files keep any parser busy for hours."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import IO

from kova_auto.tools.child import Ended, run_child


async def run_on(source: bytes, program: Path, *args: str, seconds: float, max_bytes: int) -> Ended:
    """Run a Python program of ours; its first argument is the descriptor that the source is read from.

    Args:
        source: What it works on.
        program: A file of this package that can be run as a script.
        args: Its further arguments.
        seconds: How long it may take.
        max_bytes: How much it may write.

    Raises:
        OSError: It cannot be started.
    """
    with tempfile.TemporaryFile() as file:
        await asyncio.to_thread(_fill, file, source)
        # As a script it would find this directory first, and in it our `html` in place of Python's own.
        argv = (sys.executable, "-P", "-S", str(program), str(file.fileno()), *args)
        env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        return await run_child(argv, env=env, seconds=seconds, max_bytes=max_bytes, fds=(file.fileno(),))


def _fill(file: IO[bytes], source: bytes) -> None:
    file.write(source)
    file.seek(0)
