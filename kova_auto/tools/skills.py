"""Reads the skills of a workspace as the `read` tool would: through the boundary, and never a secret."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from posixpath import dirname
from typing import Final

from kova_auto.core.errors import ToolError
from kova_auto.core.skills.skill import FILES, FOLDERS, TOO_LARGE, Layer, SkillFile
from kova_auto.core.skills.stray import Found, Stray, at_most, strays
from kova_auto.tools.boundary import LISTING
from kova_auto.tools.files import read_if_small
from kova_auto.tools.instructions import is_there
from kova_auto.tools.output import printable
from kova_auto.tools.roots import Ground, Roots, Target

_MOST_ENTRIES: Final = 4_096


def workspace_skills(roots: Roots, ground: Ground) -> Iterator[Found]:
    """Yield the skills of a workspace in the order of their places, and a sentence where one is not read."""
    for parts in FOLDERS:
        within = "/".join(parts)
        try:
            names = _names(roots, roots.locate(within, ground, writes=False))
        except ToolError as exc:
            yield f"{within} is not read: {exc}"
            continue
        yield from at_most(within, (found for name in names if (found := _found(roots, ground, within, name))))


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


def _found(roots: Roots, ground: Ground, within: str, name: str) -> SkillFile | Stray | None:
    """Return the skill in a folder, or why it is none; None where nobody meant it as one."""
    for file in FILES:
        shown = f"{within}/{name}/{file}"
        folder = f"{ground.workspace.rstrip('/')}/{within}/{name}"
        try:
            target = roots.locate(shown, ground, writes=False)
            if not is_there(target):
                continue
            content = read_if_small(roots, target)
        except ToolError as exc:
            return SkillFile(Layer.WORKSPACE, within, printable(name), folder, file, problem=_problem(exc, shown))
        folder = dirname(content.path) if content else folder
        text, problem = text_of(content.data) if content else ("", TOO_LARGE)
        return SkillFile(Layer.WORKSPACE, within, printable(name), folder, file, text, problem)
    return _stray(roots, ground, within, name)


def _stray(roots: Roots, ground: Ground, within: str, name: str) -> Stray | None:
    folder = f"{within}/{name}"

    def holds_skill(below: str) -> bool:
        try:
            return is_there(roots.locate(f"{folder}/{below}/{FILES[0]}", ground, writes=False))
        except ToolError:
            return False

    try:
        names = [printable(one) for one in _names(roots, roots.locate(folder, ground, writes=False))]
    except ToolError:
        return None  # Most often it is a file.
    return strays(within, printable(name), names, holds_skill)


def _problem(exc: ToolError, shown: str) -> str:
    """Return why a file is not read, for a person, to whom its place is named besides."""
    why = str(exc).removeprefix(f"{shown} ")
    plain = why.removesuffix(": name that")
    return why if plain == why else f"{plain}: copy it there, or link to it from ~/{'/'.join(FOLDERS[0])}"


def text_of(data: bytes) -> tuple[str, str]:
    """Return a skill's text, or why it is none."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        return "", f"wanted text in UTF-8, found byte {data[exc.start]:#04x} in line {line}"
    return ("", "wanted text, found a NUL in it") if "\0" in text else (text, "")
