"""Read `allowed-tools`: which of our tools the names mean that skills are published with.

A pattern in parentheses, as `Bash(git:*)`, is not heeded: the whole tool is meant. That narrows less, and widens
nothing: whether a command may run is decided as ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from kova_auto.core.skill_facts import USE_SKILL
from kova_auto.core.tool_names import TOOL_NAMES

_NAME: Final = re.compile(r"(?:[^\s,()]|\([^()]*\))+")
_COMMANDS: Final = ("bash", "task_output", "task_stop")
_ALL: Final = "*"
_MEANT: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "bash": _COMMANDS,
        "shell": _COMMANDS,
        "terminal": _COMMANDS,
        "bashoutput": ("task_output",),
        "killshell": ("task_stop",),
        "killbash": ("task_stop",),
        "read": ("read",),
        "notebookread": ("read",),
        "ls": ("glob",),
        "glob": ("glob",),
        "grep": ("grep",),
        "write": ("write",),
        "edit": ("edit",),
        "multiedit": ("edit",),
        "notebookedit": ("edit",),
        "webfetch": ("web_fetch",),
        "todowrite": ("todo",),
        "todoread": ("todo",),
        "askuserquestion": ("question",),
        "skill": (USE_SKILL,),
    }
)


def names_in(written: str) -> tuple[str, ...]:
    """Return the names in a list of them: separated by blanks or commas, those in parentheses apart."""
    return tuple(_NAME.findall(written))


def tools_of(names: Iterable[str]) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return our tools that are meant, and the names that mean none here; None for all tools."""
    meant, unknown = dict[str, None](), list[str]()
    for name in names:
        plain = name.partition("(")[0].strip()
        if plain == _ALL:
            return None, ()
        if found := _meant(plain):
            meant |= dict.fromkeys(found)
        else:
            unknown.append(name)
    return tuple(meant), tuple(unknown)


def _meant(name: str) -> tuple[str, ...]:
    if found := _MEANT.get(name.replace("_", "").casefold()):
        return found
    return (name,) if name in TOOL_NAMES else ()
