"""Turns web pages into text, in a process of their own: they are foreign, and some keep any parser busy for hours."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path
from typing import IO

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.child import run_child

MAX_CHARS = 2 << 20
"""So much of a page is turned into text."""

_SECONDS = 20.0
_MAX_WRITTEN = 16 << 20
_PROGRAM = Path(__file__).with_name("html_program.py")


async def markdown_of(page: str, base: str, *, seconds: float = _SECONDS) -> str | None:
    """Return the text of a page as Markdown; None where that takes too much time or memory.

    Args:
        page: The page's source, of which the first `MAX_CHARS` count.
        base: The URL that its links are relative to.
        seconds: How long it may take.

    Raises:
        ToolFailedError: No process could be started.
    """
    try:
        with tempfile.TemporaryFile() as source:
            await asyncio.to_thread(_fill, source, page[:MAX_CHARS])
            # As a script it would find this directory first, and in it our `html` in place of Python's own.
            argv = (sys.executable, "-P", "-S", str(_PROGRAM), str(source.fileno()), base)
            env = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            ended = await run_child(argv, env=env, seconds=seconds, max_bytes=_MAX_WRITTEN, fds=(source.fileno(),))
    except OSError as exc:
        message = f"the page could not be turned into text: {exc.strerror}"
        raise ToolFailedError(message) from exc
    return ended.output.decode() if ended.code == 0 else None


def _fill(source: IO[bytes], page: str) -> None:
    source.write(page.encode(errors="replace"))
    source.seek(0)
