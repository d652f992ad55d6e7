"""Look at the MCP servers for a workspace, and try them: start or reach each, and ask it for its tools."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from kova_auto.app.agents import agents_of
from kova_auto.app.mcp import McpServers, dialled, servers_of
from kova_auto.app.mcp_findings import cache_of
from kova_auto.app.places import places_of
from kova_auto.app.vault import Vault
from kova_auto.core.errors import ConfigError, ToolError
from kova_auto.core.ids import RunId
from kova_auto.core.job import Job
from kova_auto.core.mcp.document import TABLE
from kova_auto.core.mcp.listing import Listing
from kova_auto.core.mcp.roster import Broken, Shelf, shadowed
from kova_auto.core.mcp.server import Layer, Server
from kova_auto.settings.model import Settings
from kova_auto.tools.mcp.connection import EXTRA, Connection, Way, is_there
from kova_auto.tools.mcp.launch import Limits, Record
from kova_auto.tools.run_dirs import RunDirs

_RUN = "kova-auto mcp check"


@dataclass(frozen=True, slots=True)
class Placed:
    """Hold a server, or what was to be one, with where it stands.

    Attributes:
        shadowed_by: Address of the server that its plain name means instead; empty where it means this one.
    """

    shelf: Shelf
    entry: Server | Broken
    shadowed_by: str = ""

    @property
    def address(self) -> str:
        """Return the name that no other has."""
        if isinstance(self.entry, Server):
            return self.entry.address
        who = self.shelf.plugin or self.shelf.layer.value
        return self.entry.name if self.shelf.layer is Layer.USER else f"{who}:{self.entry.name}"


@dataclass(frozen=True, slots=True)
class Tried:
    """Hold what came of looking at one server.

    Attributes:
        problems: What keeps it from being used, a sentence each.
        notes: What of its configuration means nothing, or should stand elsewhere.
        listing: Its tools; None where it was not connected to.
    """

    placed: Placed
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    listing: Listing | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """Look at servers for one workspace.

    Attributes:
        job: Whose environment they are given.
        now: What they tell is remembered as told then.
    """

    servers: McpServers
    job: Job
    shelves: tuple[Shelf, ...]
    now: datetime

    def placed(self) -> tuple[Placed, ...]:
        """Return every server that a file configures, in the order in which they count."""
        hidden = dict(shadowed(self.shelves))
        return tuple(self._placed(hidden))

    def _placed(self, hidden: Mapping[str, str]) -> Iterator[Placed]:
        for shelf in self.shelves:
            who = shelf.plugin or shelf.layer.value
            entries: tuple[Server | Broken, ...] = (*shelf.broken, *shelf.servers)
            for entry in entries:
                yield Placed(shelf, entry, hidden.get(f"{who}:{entry.name}", "").removeprefix("user:"))

    def looked(self, placed: Placed) -> Tried:
        """Return what shows of a server without starting it."""
        own = f"{TABLE}.{placed.entry.name}."
        notes = tuple(problem.sentence for problem in placed.shelf.problems if problem.key.startswith(own))
        if isinstance(placed.entry, Broken):
            return Tried(placed, (placed.entry.problem.sentence,), notes)
        missing = () if is_there() else (EXTRA,)
        off = (f"{placed.entry.path} disables it",) if placed.entry.disabled else ()
        return Tried(placed, (*missing, *off, *self.servers.flaws(placed.entry, self.job)), notes)

    async def tried(self, chosen: Sequence[Placed]) -> tuple[Tried, ...]:
        """Return what came of connecting to each, all at once; every one of them is ended."""
        dirs = RunDirs(self.servers.places.work, RunId(f"{_RUN} {os.getpid()}"))
        try:
            return tuple(await asyncio.gather(*(self._tried(placed, dirs) for placed in chosen)))
        finally:
            await asyncio.to_thread(dirs.remove)

    async def _tried(self, placed: Placed, dirs: RunDirs) -> Tried:
        looked = await asyncio.to_thread(self.looked, placed)
        if looked.problems or not isinstance(placed.entry, Server):
            return looked
        try:
            launch = await asyncio.to_thread(self.servers.launched, placed.entry, self.job, self.job.workspace)
            record = Record.of(dirs, placed.entry)
            connection = Connection(placed.entry, Way(launch, self.job.workspace, record, Limits(), dialled))
            await connection.open()
            try:
                found = await connection.listing()
                await asyncio.to_thread(cache_of(self.servers).keep, placed.entry, found, self.now)
                return replace(looked, listing=found)
            finally:
                await connection.close()
        except (ConfigError, ToolError, OSError) as exc:
            return replace(looked, problems=(self.servers.vault.redact(str(exc)),))


def bench_of(settings: Settings, environ: Mapping[str, str], workspace: Path, job: Job | None, now: datetime) -> Bench:
    """Return what looks at the servers for a workspace, as a run of a job would be given them."""
    places, vault = places_of(settings, environ), Vault(settings, environ)
    servers = servers_of(places, environ, vault, agents_of(settings, environ).plugins)
    given = job or Job(name="mcp-check", path=str(workspace / "mcp-check.toml"), prompt="", workspace=str(workspace))
    return Bench(servers, given, servers.shelves(str(workspace)), now)
