"""Name the tools of MCP servers: one full name for each, by which files grant it and verdicts speak of it.

The full name of the tool `search` of the server `github` is `mcp__github__search`. A server that the user did not
define bears in it who brought it, as in `mcp__workspace:db__query`: no grant passes from the user's server to another
of that name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from kova_auto.core.tool_names import MCP, OF_SERVERS

PREFIX: Final = OF_SERVERS
_SERVER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]|_(?=[A-Za-z0-9.-])){0,63}")
_ADDRESS = re.compile(rf"(?:{_SERVER.pattern}:)?{_SERVER.pattern}")
_TOOL = re.compile(r"[A-Za-z0-9_.:/@-]{1,128}")
_PATTERN = re.compile(r"[A-Za-z0-9_.:/@*?-]{1,256}")
SERVER_FORM: Final = "a name of letters, digits, -, . and single _ in between, at most 64 of them"


def is_server_name(name: str) -> bool:
    """Say whether a server may be called so: two `_` in a row would blur where its tools' names begin."""
    return _SERVER.fullmatch(name) is not None


def is_address(text: str) -> bool:
    """Say whether a text is a server's name, or who brought it, a colon and its name."""
    return _ADDRESS.fullmatch(text) is not None


def is_tool_name(name: str) -> bool:
    """Say whether a tool of this name can be offered: it is printable and can be granted."""
    return _TOOL.fullmatch(name) is not None


def full_name(address: str, tool: str) -> str:
    """Return the full name of a server's tool."""
    return f"{PREFIX}{address}__{tool}"


def parsed(name: str) -> tuple[str, str] | None:
    """Return the server's address and the tool's name, either perhaps with wildcards; None where it is no full name."""
    server, mark, tool = name.removeprefix(PREFIX).partition("__")
    return (server, tool) if name.startswith(PREFIX) and mark and server and tool else None


def is_call_of(name: str, tool: str, args: Mapping[str, JsonValue]) -> bool:
    """Say whether a call of the tool `mcp` is of a server's tool of this full name; the server may be named plainly."""
    if tool != MCP or args.get("action") != "call" or (wanted := parsed(name)) is None:
        return False
    server, called = args.get("server"), args.get("tool")
    if isinstance(called, str) and (whole := parsed(called)) and server in (None, "", *_known_as(whole[0])):
        server, called = whole
    return called == wanted[1] and server in _known_as(wanted[0])


def _known_as(address: str) -> tuple[str, str]:
    return address, address.rpartition(":")[2]


def check_pattern(text: str) -> str:
    """Return what is wrong with a name, or pattern of names, that a job allows; empty where it is sound.

    The server is named whole: a grant for whichever server there will be is no grant that somebody thought about.
    """
    found = parsed(text) if _PATTERN.fullmatch(text) else None
    if found is None or not is_address(found[0]):
        return f"wanted the full name of a tool as mcp__SERVER__TOOL, * and ? in TOOL alone, found {text!r}"
    return ""


def covers(pattern: str, name: str) -> bool:
    """Say whether a pattern covers a full name; `*` stands for any characters, `?` for one, and case does not count."""
    if "*" not in pattern and "?" not in pattern:
        return pattern == name
    parts = (".*" if char == "*" else "." if char == "?" else re.escape(char) for char in pattern)
    return re.fullmatch("".join(parts), name, re.IGNORECASE | re.DOTALL) is not None
