"""Say of a folder among skills that has no `SKILL.md` why it is none, where somebody may have meant it as one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from kova_auto.core.skills.skill import FILES, MOST_IN_FOLDER, SkillFile

_MOST_BELOW: Final = 16


@dataclass(frozen=True, slots=True)
class Stray:
    """Hold what lies among skills and is none: a sentence for a person; no run is told of it."""

    sentence: str


Found = SkillFile | Stray | str
"""What comes of looking through a directory of skills; a text says why something of it is not read."""


def at_most(within: str, found: Iterator[SkillFile | Stray]) -> Iterator[Found]:
    """Yield what was found in a directory, so many skills of it, and a sentence where there are more."""
    count = 0
    for one in found:
        count += isinstance(one, SkillFile)
        if isinstance(one, Stray) or count <= MOST_IN_FOLDER:
            yield one
    if count > MOST_IN_FOLDER:
        yield f"{within} has more than {MOST_IN_FOLDER} skills; {count - MOST_IN_FOLDER} are not read"


def strays(within: str, name: str, names: Sequence[str], holds_skill: Callable[[str], bool]) -> Stray | None:
    """Return what there is to say of a folder without a `SKILL.md`; None where nobody meant it as a skill.

    Args:
        within: The directory of skills, as people know it.
        name: Of the folder.
        names: What lies in it.
        holds_skill: Says whether what lies in it is a folder with a `SKILL.md`.
    """
    why = _why(within, names, holds_skill)
    return Stray(f"{within}/{name} is no skill: {why}") if why else None


def _why(within: str, names: Sequence[str], holds_skill: Callable[[str], bool]) -> str:
    if link := next((file for file in FILES if file in names), ""):
        return f"its {link} is a link that leads nowhere"
    if alike := next((name for name in names if PurePath(name).suffix.lower() == ".md"), ""):
        return f"wanted a {FILES[0]} in it, found {alike}; rename it, if it is that"
    folders = [name for name in names if not PurePath(name).suffix and not name.startswith(".")]
    if deep := next((name for name in folders[:_MOST_BELOW] if holds_skill(name)), ""):
        return f"it holds skills, as {deep}; move them up to {within}"
    return ""
