"""Turns web pages into text, in a process of their own: they are foreign, and some keep any parser busy for hours."""

from __future__ import annotations

from pathlib import Path

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.program import run_on

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
    source = page[:MAX_CHARS].encode(errors="replace")
    try:
        ended = await run_on(source, _PROGRAM, base, seconds=seconds, max_bytes=_MAX_WRITTEN)
    except OSError as exc:
        message = f"the page could not be turned into text: {exc.strerror}"
        raise ToolFailedError(message) from exc
    return ended.output.decode() if ended.code == 0 else None
