"""Renders what became of one file as a unified diff that `patch` and `git apply` read."""

from __future__ import annotations

from difflib import unified_diff

from kova_auto.tools.encoding import binary_type, decode
from kova_auto.tools.output import printable

_MAX_LINES = 40_000
_NO_NEWLINE = "\n\\ No newline at end of file\n"


def difference(name: str, before: bytes | None, after: bytes | None) -> str:
    """Return the diff of one file; None stands for no file.

    Args:
        name: Relative to where the diff is to be applied, or absolute.
        before: Its content then.
        after: Its content now.
    """
    shown = printable(name.lstrip("/"))
    old, new = ("/dev/null" if before is None else f"a/{shown}"), ("/dev/null" if after is None else f"b/{shown}")
    if binary_type(before or b"") or binary_type(after or b""):
        return f"Binary files {old} and {new} differ\n"
    then, now = _lines(before), _lines(after)
    if len(then) + len(now) > _MAX_LINES:
        return f"# {shown}: too many lines for a diff ({len(then)} before, {len(now)} after)\n"
    if not then and not now:
        return f"--- {old}\n+++ {new}\n"
    text = unified_diff(then, now, old, new)
    return "".join(line if line.endswith("\n") else line + _NO_NEWLINE for line in text)


def _lines(data: bytes | None) -> list[str]:
    parts = decode(data or b"").readable.split("\n")
    return [f"{part}\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
