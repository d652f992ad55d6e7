"""Show MCP servers: where they come from, how they are reached, and the tools that they tell of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kova_auto.app.mcp_trying import Bench, Placed, Tried
from kova_auto.cli.job_rows import JsonDict
from kova_auto.core.delivery.document import count
from kova_auto.core.delivery.text import one_line
from kova_auto.core.job import Job
from kova_auto.core.mcp.names import full_name
from kova_auto.core.mcp.roster import Broken
from kova_auto.core.mcp.server import Server

HEAD: Final = ("SERVER", "FROM", "USED", "REACHED BY", "DESCRIPTION")
_DESCRIPTION = 120


@dataclass(frozen=True, slots=True)
class ServerRow:
    """Hold one server; `used` is `yes`, `no`, `if named`, `disabled` or `broken`."""

    placed: Placed
    used: str

    @property
    def _server(self) -> Server | None:
        return self.placed.entry if isinstance(self.placed.entry, Server) else None

    @property
    def _reached_by(self) -> str:
        server = self._server
        if server is None:
            return ""
        return server.url.partition("?")[0] if server.url else server.command  # Arguments may hold anything.

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row as a person reads it."""
        server, layer = self._server, self.placed.shelf.plugin or self.placed.shelf.layer.value
        said = server.description if server else ""
        return one_line(self.placed.address, 64), layer, self.used, one_line(self._reached_by, 60), said

    @property
    def note(self) -> str:
        """Return what is to be said besides; empty where there is nothing."""
        if isinstance(self.placed.entry, Broken):
            return self.placed.entry.problem.sentence
        if self.placed.shadowed_by:
            name = self.placed.entry.name
            path = self.placed.shelf.path
            return f"{name} means {self.placed.shadowed_by}; {self.placed.address} means the one of {path}"
        return ""

    @property
    def json(self) -> JsonDict:
        """Return the row as a program reads it; the names stay."""
        entry, shelf = self.placed.entry, self.placed.shelf
        server = self._server
        return {
            "server": self.placed.address,
            "name": entry.name,
            "layer": shelf.layer.value,
            "plugin": shelf.plugin or None,
            "path": shelf.path,
            "kind": ("http" if server.url else "stdio") if server else None,
            "reached_by": self._reached_by or None,
            "description": server.description if server else "",
            "used": self.used,
            "shadowed_by": self.placed.shadowed_by or None,
            "problem": entry.problem.sentence if isinstance(entry, Broken) else None,
        }


def rows_of(bench: Bench, job: Job | None) -> list[ServerRow]:
    """Return the servers in the order in which they count."""
    named = {server.address for server in bench.servers.chosen(job).servers} if job else None
    return [ServerRow(placed, _used(placed, named)) for placed in bench.placed()]


def _used(placed: Placed, named: set[str] | None) -> str:
    if isinstance(placed.entry, Broken):
        return "broken"
    if placed.entry.disabled:
        return "disabled"
    if named is None:
        return "if named"
    return "yes" if placed.address in named else "no"


def lines_of(one: Tried, bench: Bench) -> Iterator[str]:
    """Yield what there is to say of a server that was looked at."""
    redact = bench.servers.vault.redact
    yield from (one_line(redact(said), 1000) for said in (*one.problems, *one.notes))
    if one.listing is None:
        return
    yield count(len(one.listing.tools), "tool")
    for tool in one.listing.tools:
        reads = " (says that it only reads)" if tool.read_only else ""
        said = one_line(redact(tool.description or tool.title), _DESCRIPTION)
        yield f"{full_name(one.placed.address, tool.name)}{reads}: {said}"
    yield from (one_line(redact(remark), 1000) for remark in one.listing.remarks)


def tried_json(one: Tried, bench: Bench) -> JsonDict:
    """Return what came of looking at a server as a program reads it."""
    redact = bench.servers.vault.redact
    tools = one.listing.tools if one.listing else ()
    return {
        "server": one.placed.address,
        "path": one.placed.shelf.path,
        "ok": not one.problems,
        "problems": [redact(problem) for problem in one.problems],
        "notes": [redact(note) for note in one.notes],
        "remarks": [redact(remark) for remark in one.listing.remarks] if one.listing else [],
        "tools": None
        if one.listing is None
        else [
            {
                "name": tool.name,
                "full_name": full_name(one.placed.address, tool.name),
                "title": redact(tool.title),
                "description": redact(tool.description),
                "read_only": tool.read_only,
                "flaw": tool.flaw,
            }
            for tool in tools
        ],
    }
