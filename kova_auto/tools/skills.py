"""Reads the skills of a workspace as the `read` tool would: through the boundary, and never a secret."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from posixpath import dirname
from typing import Final

from kova_auto.core.errors import ToolError
from kova_auto.core.skills.skill import FILES, FOLDERS, MOST_BYTES, MOST_IN_FOLDER, Layer, SkillFile
from kova_auto.tools.boundary import LISTING
from kova_auto.tools.files import read_file
from kova_auto.tools.instructions import is_there
from kova_auto.tools.output import printable
from kova_auto.tools.roots import Ground, Roots, Target

_MOST_ENTRIES: Final = 4_096


def workspace_skills(roots: Roots, ground: Ground) -> Iterator[SkillFile | str]:
    """Yield the skills of a workspace in the order of their places, and a sentence where one is not read."""
    for parts in FOLDERS:
        within = "/".join(parts)
        try:
            names = _names(roots, roots.locate(within, ground, writes=False))
        except ToolError as exc:
            yield f"{within} is not read: {exc}"
            continue
        files = (found for name in names if (found := _found(roots, ground, within, name)))
        yield from islice(files, MOST_IN_FOLDER)
        if left := sum(1 for _ in files):
            yield f"{within} has more than {MOST_IN_FOLDER} skills; {left} are not read"


def _names(roots: Roots, target: Target) -> list[str]:
    """Return what lies in a directory, in order; nothing where it is not there."""
    if not is_there(target):
        return []
    with roots.plainly(target):
        fd = target.open(LISTING)
        try:
            with os.scandir(fd) as entries:
                return sorted(entry.name for entry in islice(entries, _MOST_ENTRIES) if not entry.name.startswith("."))
        finally:
            os.close(fd)


def _found(roots: Roots, ground: Ground, within: str, name: str) -> SkillFile | None:
    """Return the skill in a folder; None where there is none."""
    for file in FILES:
        shown = f"{within}/{name}/{file}"
        folder = f"{ground.workspace.rstrip('/')}/{within}/{name}"
        try:
            target = roots.locate(shown, ground, writes=False)
            if not is_there(target):
                continue
            content = read_file(roots, target, limit=MOST_BYTES)
        except ToolError as exc:
            return SkillFile(Layer.WORKSPACE, within, printable(name), folder, file, problem=str(exc))
        folder = dirname(content.path)
        text, problem = text_of(content.data)
        return SkillFile(Layer.WORKSPACE, within, printable(name), folder, file, text, problem)
    return None


def text_of(data: bytes) -> tuple[str, str]:
    """Return a skill's text, or why it is none."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        return "", f"wanted text in UTF-8, found byte {data[exc.start]:#04x} in line {line}"
    return ("", "wanted text, found a NUL in it") if "\0" in text else (text, "")
