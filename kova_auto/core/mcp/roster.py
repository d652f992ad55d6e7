"""Choose the MCP servers that a run may use, out of everything that is configured; say which one a name means.

A plain name means the user's own server, else a plugin's, else the workspace's; an address (`workspace:db`) means one
alone. What cannot be used keeps its name: no other server slips into its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kova_auto.core.errors import ConfigError
from kova_auto.core.mcp.server import MAX_SERVERS, Layer, Server
from kova_auto.core.toml.complaints import did_you_mean

PRECEDENCE: Final = (Layer.USER, Layer.PLUGIN, Layer.WORKSPACE)


@dataclass(frozen=True, slots=True)
class Broken:
    """Hold an entry that configures nothing, under the name that it keeps."""

    name: str
    problem: ConfigError


@dataclass(frozen=True, slots=True)
class Shelf:
    """Hold what one file configures.

    Attributes:
        plugin: That brought it; empty for every other layer.
        problems: What of the file means nothing, and why.
        is_unread: Nothing of the file could be read.
    """

    layer: Layer
    path: str
    plugin: str = ""
    servers: tuple[Server, ...] = ()
    broken: tuple[Broken, ...] = ()
    problems: tuple[ConfigError, ...] = ()
    is_unread: bool = False


@dataclass(frozen=True, slots=True)
class Chosen:
    """Hold the servers of a run, and why others that its job names are not among them."""

    servers: tuple[Server, ...] = ()
    missing: tuple[str, ...] = ()

    def find(self, name: str) -> Server | None:
        """Return the one that a run means: by its address, or by its plain name where only one of these has it."""
        exact = [server for server in self.servers if server.address == name]
        alike = exact or [server for server in self.servers if server.name == name]
        return alike[0] if len(alike) == 1 else None


@dataclass(frozen=True, slots=True)
class _Placed:
    shelf: Shelf
    entry: Server | Broken

    @property
    def who(self) -> str:
        return self.shelf.plugin or self.shelf.layer.value

    @property
    def addresses(self) -> tuple[str, str]:
        return self.entry.name, f"{self.who}:{self.entry.name}"


def choose(names: Sequence[str], shelves: Sequence[Shelf]) -> Chosen:
    """Return what a job's `mcp.servers` means; nothing named, nothing chosen."""
    found: dict[str, Server] = {}
    missing: list[str] = []
    for name in dict.fromkeys(names):
        server = look_up(name, shelves)
        if isinstance(server, Server):
            found[server.address] = server
        else:
            missing.append(f"mcp.servers names {name!r}: {server}")
    if len(found) > MAX_SERVERS:
        missing.append(f"mcp.servers names {len(found)} servers; a run has at most {MAX_SERVERS}")
    return Chosen(tuple(found.values()), tuple(missing))


def look_up(name: str, shelves: Sequence[Shelf]) -> Server | str:
    """Return the server that a name or an address means, or why it means none."""
    placed = next((one for one in _all(shelves) if name == one.addresses[":" in name]), None)
    if placed is None:
        known = sorted({known for one in _all(shelves) for known in one.addresses})
        close = did_you_mean(name, known)
        return "no file configures a server of this name" + (f"; {close}" if close else _unread(shelves))
    if isinstance(placed.entry, Broken):
        return f"it cannot be used: {placed.entry.problem.sentence}"
    if placed.entry.disabled:
        return f"{placed.entry.path} disables it"
    return placed.entry


def shadowed(shelves: Sequence[Shelf]) -> Iterator[tuple[str, str]]:
    """Yield the address of each server whose plain name means another one, with that one's."""
    first: dict[str, str] = {}
    for one in _all(shelves):
        plain, address = one.addresses
        if plain in first:
            yield address, first[plain]
        first.setdefault(plain, address)


def _all(shelves: Sequence[Shelf]) -> Iterator[_Placed]:
    """Yield every entry, in the order in which they count."""
    for shelf in sorted(shelves, key=lambda shelf: PRECEDENCE.index(shelf.layer)):
        yield from (_Placed(shelf, broken) for broken in shelf.broken)
        yield from (_Placed(shelf, server) for server in shelf.servers)


def _unread(shelves: Sequence[Shelf]) -> str:
    """Return what of the files could not be read: the server may have stood there."""
    whole = [problem.sentence for shelf in shelves if not shelf.servers for problem in shelf.problems]
    return f"; {whole[0]}" if whole else ""
