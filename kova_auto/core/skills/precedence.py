"""Choose among skills of one name: the first place counts, and what it stands before is named.

Source: reference on Kova, 9: `<workspace>/.kova/skills`, `<workspace>/.agents/skills`, the user's, plugins.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kova_auto.core.errors import ConfigError
from kova_auto.core.skills.skill import Skill, SkillFile


@dataclass(frozen=True, slots=True)
class Broken:
    """Hold a file that is no skill."""

    file: SkillFile
    error: ConfigError


@dataclass(frozen=True, slots=True)
class Shelf:
    """Hold the skills that there are for a run.

    Attributes:
        skills: Each name once, in the order of their places.
        shadowed: Those that another of the same name stands before, with that one.
        broken: What cannot be used.
        notices: What else there is to say, a sentence each.
        strays: What lies among skills and is none, a sentence each; no run is told of it.
    """

    skills: tuple[Skill, ...] = ()
    shadowed: tuple[tuple[Skill, Skill], ...] = ()
    broken: tuple[Broken, ...] = ()
    notices: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    by_name: dict[str, Skill] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Know each by its name."""
        object.__setattr__(self, "by_name", {skill.name: skill for skill in self.skills})


def chosen(found: Iterable[Skill | Broken], notices: Iterable[str] = (), strays: Iterable[str] = ()) -> Shelf:
    """Return the shelf of what was found, in the order of the places; what two places lead to is there once."""
    first: dict[str, Skill] = {}
    shadowed, broken = list[tuple[Skill, Skill]](), list[Broken]()
    folders = set[str]()
    for one in found:
        if one.file.folder in folders:
            continue
        folders.add(one.file.folder)
        if isinstance(one, Broken):
            broken.append(one)
        elif (before := first.setdefault(one.name, one)) is not one:
            shadowed.append((one, before))
    return Shelf(tuple(first.values()), tuple(shadowed), tuple(broken), tuple(notices), tuple(strays))
