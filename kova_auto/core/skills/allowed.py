"""Read `allowed-tools`: which of our tools the names mean that skills are published with.

A pattern in parentheses, as `Bash(git:*)`, is not heeded: the whole tool is meant. That narrows less, and widens
nothing: whether a command may run is decided as ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from kova_auto.core.mcp.names import PREFIX, full_name, parsed
from kova_auto.core.subagents.definition import GRANTABLE
from kova_auto.core.subagents.grants import names_in, refused
from kova_auto.core.tool_names import TOOL_NAMES

__all__ = ["is_among", "names_in", "tools_of"]

_GATEWAY: Final = "mcp"
"""The tool that searches and describes those of MCP servers; each of these is called by its own name."""
_COMMANDS: Final = ("bash", "task_output", "task_stop")
_TASKS: Final = tuple(name for name in TOOL_NAMES if name.startswith("Task"))
_DISPATCHES: Final = frozenset({"task", "agent"})
_QUESTIONS: Final = frozenset({"askuserquestion", "askuser", "ask_user"})


def tools_of(names: Iterable[str]) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
    """Return our tools that are meant, and the names that mean none here; None for all tools.

    A tool of an MCP server is meant by its full name, in which `*` stands for anything.
    """
    meant, unknown = dict[str, None](), list[str]()
    for name in names:
        found = _meant(name.partition("(")[0].strip())
        if found == GRANTABLE:
            return None, ()
        meant |= dict.fromkeys(found)
        if not found:
            unknown.append(name)
    return tuple(meant), tuple(unknown)


def is_among(tool: str, tools: Iterable[str]) -> bool:
    """Say whether a tool is one of those that `tools_of` has returned; whoever brought an MCP server."""
    known = tuple(tools)
    if tool in known:
        return True
    patterns = [name for name in known if name.startswith(PREFIX)]
    if tool == _GATEWAY:
        return bool(patterns)
    whole = parsed(tool)
    if whole is None:
        return False
    names = {tool, full_name(whole[0].rpartition(":")[2], whole[1])}
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def _meant(name: str) -> tuple[str, ...]:
    if name.startswith(PREFIX):
        return (name if "__" in name.removeprefix(PREFIX) else f"{name}__*",)
    if name.lower() in _QUESTIONS:
        return ("question",)
    if name.lower() in _DISPATCHES:
        return _TASKS
    found = (name,) if name in TOOL_NAMES else refused((name,)).tools
    return _COMMANDS if found == ("bash",) else found
