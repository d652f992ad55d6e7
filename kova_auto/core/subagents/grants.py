"""Understand the tools that a definition names, as Kova and other systems write them; grant nothing wider than it says.

A name that is narrowed, as `Bash(git:*)`, cannot be held to that here: such a tool is not granted at all.

Source: reference on models, 4.2; names as published definitions use them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from kova_auto.core.delivery.text import one_line
from kova_auto.core.subagents.definition import GRANTABLE
from kova_auto.core.toml.complaints import did_you_mean

MCP: Final = "mcp__"
_EVERYTHING: Final = frozenset({"*", "all", "alltools"})
_SHOWN: Final = 60

_BY_NAME: Final[Mapping[str, tuple[str, ...]]] = {
    **{name.replace("_", ""): (name,) for name in GRANTABLE},
    **dict.fromkeys(("view", "viewfile", "readfile", "readmanyfiles", "cat", "notebookread"), ("read",)),
    **dict.fromkeys(("writefile", "writetofile", "createfile", "create"), ("write",)),
    **dict.fromkeys(("multiedit", "notebookedit", "editfile", "strreplace", "replace"), ("edit",)),
    **dict.fromkeys(("replacefilecontent", "multireplacefilecontent"), ("edit",)),
    **dict.fromkeys(("patch", "applypatch"), ("write", "edit")),
    **dict.fromkeys(("ls", "list", "listdir", "listdirectory", "find", "findfiles"), ("glob",)),
    **dict.fromkeys(("search", "grepsearch", "searchfiles", "ripgrep"), ("grep",)),
    **dict.fromkeys(("shell", "terminal", "execute", "runcommand", "runshellcommand"), ("bash",)),
    **dict.fromkeys(("bashoutput",), ("task_output",)),
    **dict.fromkeys(("killshell", "killbash"), ("task_stop",)),
    **dict.fromkeys(("fetch",), ("web_fetch",)),
    **dict.fromkeys(("skill",), ("use_skill",)),
    **dict.fromkeys(("todowrite", "todoread", "taskcreate", "taskupdate", "taskget", "tasklist"), ("todo",)),
}
_NEVER: Final[Mapping[str, str]] = {
    **dict.fromkeys(("task", "agent", "taskwait"), "a subagent dispatches no others"),
    **dict.fromkeys(("websearch", "codesearch", "googlewebsearch"), "there is no search of the web here"),
    **dict.fromkeys(("askuserquestion", "question", "askuser"), "a subagent asks nobody"),
    **dict.fromkeys(("exitplanmode", "enterplanmode", "slashcommand"), "that belongs to a person's session"),
    **dict.fromkeys(("memorywrite", "memoryread", "memorysearch"), "memory is its parent's alone"),
    **dict.fromkeys(("listmcpresources", "listmcpresourcestool"), "only the tools of MCP servers are used here"),
    **dict.fromkeys(("readmcpresource", "readmcpresourcetool"), "only the tools of MCP servers are used here"),
    **dict.fromkeys(("lsp",), "there are no language servers here"),
}
_NAME: Final = re.compile(r"([^()]*?)\s*(?:\((.*)\))?", re.DOTALL)
_SERVER: Final = re.compile(r"mcp__([A-Za-z0-9_.-]+?)(?:__(.+))?")


@dataclass(frozen=True, slots=True)
class Grants:
    """Hold what a list of names means.

    Attributes:
        tools: By our names, in the order of `GRANTABLE`.
        servers: MCP servers that are named with all of their tools.
        remarks: A sentence for each other name: why it grants nothing.
        unknown: A sentence for each name that means nothing here.
    """

    tools: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def granted(names: Iterable[str]) -> Grants:
    """Return what names grant."""
    found = [_granted(name) for name in dict.fromkeys(names)]
    return Grants(
        in_order(tool for one in found for tool in one.tools),
        tuple(dict.fromkeys(server for one in found for server in one.servers)),
        tuple(remark for one in found for remark in one.remarks),
        tuple(remark for one in found for remark in one.unknown),
    )


def refused(names: Iterable[str]) -> Grants:
    """Return what names take away; one that is narrowed takes the whole tool, for no part of it could be kept back."""
    whole = granted(_plain(name) for name in names)
    return Grants(whole.tools, whole.servers, unknown=whole.unknown)


def in_order(tools: Iterable[str]) -> tuple[str, ...]:
    """Return our names in the order of `GRANTABLE`."""
    wanted = set(tools)
    return tuple(tool for tool in GRANTABLE if tool in wanted)


def names_in(text: str) -> tuple[str, ...]:
    """Return the names of a text; they are parted by commas or blanks that are not in parentheses."""
    if _key(text) in _EVERYTHING:
        return (text.strip(),)
    return tuple(_parts(text))


def _parts(text: str) -> Iterator[str]:
    depth, part = 0, ""
    for at, one in enumerate(text):
        depth = max(0, depth + (one == "(") - (one == ")"))
        is_end = one == "," or (one.isspace() and not text[at:].lstrip().startswith("("))
        if depth == 0 and is_end:
            if part:
                yield part
            part = ""
        elif part or not one.isspace():
            part += one
    if part.strip():
        yield part.strip()


def _granted(name: str) -> Grants:
    shown = f"`{one_line(name, _SHOWN)}`"
    if server := _SERVER.fullmatch(name.strip()):
        return _of_server(server, shown)
    plain, narrowed = _plain(name), _narrowed(name)
    if plain in _EVERYTHING:
        return Grants(GRANTABLE)
    if why := _NEVER.get(plain):
        return Grants(remarks=(f"{shown} is not granted: {why}",))
    tools = _BY_NAME.get(plain)
    if tools is None:
        near = did_you_mean(plain, GRANTABLE)
        return Grants(unknown=(f"there is no tool {shown}" + (f"; {near}" if near.startswith("did") else ""),))
    if narrowed:
        what = ", ".join(tools)
        return Grants(remarks=(f"{shown} is not granted: {what} cannot be held to a part; write it without (…)",))
    return Grants(tools)


def _of_server(found: re.Match[str], shown: str) -> Grants:
    server, tool = found[1], found[2]
    if tool in (None, "*"):
        return Grants(servers=(server,))
    return Grants(remarks=(f"{shown} is not granted: no single tool of an MCP server is; {MCP}{server} grants it all",))


def _plain(name: str) -> str:
    """Return the name as it is looked up, without what narrows it; that of an MCP server as it is."""
    if name.strip().startswith(MCP):
        found = _SERVER.fullmatch(name.strip())
        return f"{MCP}{found[1]}" if found else name.strip()
    found = _NAME.fullmatch(name.strip())
    return _key(found[1] if found else name)


def _narrowed(name: str) -> bool:
    found = _NAME.fullmatch(name.strip())
    return bool(found and (found[2] or "").strip() not in ("", "*", "*:*", "**"))


def _key(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()
