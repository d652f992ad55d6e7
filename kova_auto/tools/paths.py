"""Decides whether a path's text can be meant at all; looks at no disk.

What lies where the text points to is found out by `tools/roots.py`, and reached by `tools/boundary.py`.

Source: reference on shells, 9.1 (1) and 9.2 (cases 26 to 33).
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from kova_auto.core.errors import ToolArgumentsError

_MAX_PATH_BYTES = 4096
_MAX_NAME_BYTES = 255
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|file:", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:(/|$)")
_VARIABLE = re.compile(r"\$[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class PathText:
    """Hold what a path's text says.

    Attributes:
        parts: Components, without empty ones, `.` and `..`.
        crossed: Directories that a `..` leaves again; each must be a real one for `parts` to be what was meant.
        directory: The text ends with a slash: only a directory is meant.
    """

    absolute: bool
    parts: tuple[str, ...]
    crossed: tuple[tuple[str, ...], ...] = ()
    directory: bool = False


def parse_path(text: str) -> PathText:
    """Return what the text says. Nothing is expanded, and blanks belong to the name.

    Raises:
        ToolArgumentsError: No tool opens such a path; the message says what to write instead.
    """
    for wrong in (_wrong_characters(text), _wrong_form(text)):
        if wrong:
            raise ToolArgumentsError(_refusal(text, wrong))
    absolute = text.startswith("/")
    parts: list[str] = []
    crossed: list[tuple[str, ...]] = []
    for part in text.split("/"):
        if part == "..":
            if absolute or not parts:
                raise ToolArgumentsError(_refusal(text, "write it without '..': a path outside by its absolute name"))
            crossed.append(tuple(parts))
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return PathText(absolute, tuple(parts), tuple(crossed), directory=text.endswith("/"))


def _refusal(text: str, why: str) -> str:
    shown = ascii(text if len(text) <= 200 else text[:200] + "...")
    return f"the path {shown} is refused: {why}"


def _wrong_characters(text: str) -> str:
    if not text.strip():
        return "it is empty"
    categories = {unicodedata.category(char) for char in text}
    if categories & {"Cc", "Cs", "Zl", "Zp"}:
        return "it holds a control character or half a character"
    if "\\" in text:
        return "it holds a backslash; components are separated by '/'"
    if any(len(part.encode()) > _MAX_NAME_BYTES for part in text.split("/")):
        return f"one of its names is longer than {_MAX_NAME_BYTES} bytes"
    if len(text.encode()) > _MAX_PATH_BYTES:
        return f"it is longer than {_MAX_PATH_BYTES} bytes"
    return ""


def _wrong_form(text: str) -> str:
    first = text.partition("/")[0]
    if _URL.match(text) or _DRIVE.match(text):
        return "it is a URL or names a drive; a path is relative to the workspace, or begins with '/'"
    if first.startswith("~") or _VARIABLE.fullmatch(first) or "${" in text or "$(" in text:
        return "nothing is expanded in it: '~' and variables must be written out"
    return ""
