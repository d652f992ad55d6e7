"""Takes the text out of PDF documents, in a process of its own; the library for it is an extra."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.program import run_on

_SECONDS = 30.0
_MAX_WRITTEN = 16 << 20
_PROGRAM = Path(__file__).with_name("pdf_program.py")
_SAID = {3: "it opens with a password only", 4: "it is no PDF document that can be read"}


def can_read() -> bool:
    """Say whether the extra is there."""
    return find_spec("pypdf") is not None


async def text_of_pdf(data: bytes, *, seconds: float = _SECONDS) -> str:
    """Return the text of a document, page after page, each with its number.

    Raises:
        ToolFailedError: There is none in it, or it cannot be read.
    """
    try:
        ended = await run_on(data, _PROGRAM, seconds=seconds, max_bytes=_MAX_WRITTEN)
    except OSError as exc:
        message = f"it could not be read: {exc.strerror}"
        raise ToolFailedError(message) from exc
    if ended.code != 0:
        raise ToolFailedError(_SAID.get(ended.code or 0, "to read it takes too much time or memory"))
    if text := ended.output.decode(errors="replace").strip():
        return text
    message = "there is no text in it; its pages may be images"
    raise ToolFailedError(message)
