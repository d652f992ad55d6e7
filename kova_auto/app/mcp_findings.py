"""Look at MCP servers without starting one: files that are broken, what jobs name and lack, grants that never count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from kova_auto.app.finding import Finding, Mark
from kova_auto.app.mcp import McpServers
from kova_auto.core.delivery.document import count
from kova_auto.core.job import Job
from kova_auto.core.mcp.names import covers, full_name, parsed
from kova_auto.core.mcp.roster import Shelf
from kova_auto.core.mcp.server import Server
from kova_auto.tools.mcp.cache import Cache
from kova_auto.tools.mcp.launch import Limits

_CHECK = "mcp"


def cache_of(servers: McpServers) -> Cache:
    """Return where it is kept which tools servers had."""
    return Cache(servers.places.work / "mcp", servers.vault.redact)


def is_on_record(servers: McpServers, job: Job, tool: str, now: datetime) -> bool:
    """Say whether it is known what a server says of a tool, by its full name, where that decides how it is judged."""
    named = parsed(tool)
    server = servers.chosen(job).find(named[0]) if named else None
    if server is None or not server.trust_read_only_hint:
        return True
    return cache_of(servers).known(server, now, Limits().cache_s) is not None


def of_mcp(servers: McpServers, jobs: Sequence[Job], now: datetime) -> Iterator[Finding]:
    """Yield what there is to say of the files for each workspace, and of what each job names."""
    places = list(dict.fromkeys(job.workspace for job in jobs)) or [str(servers.places.home)]
    shelves = {shelf.path: shelf for place in places for shelf in servers.shelves(place)}
    for shelf in shelves.values():
        yield from _of_shelf(shelf)
    for job in jobs:
        yield from (Finding(_CHECK, job.name, Mark.FAIL, lack) for lack in servers.lacks(job))
        yield from _of_grants(servers, job, now)


def _of_shelf(shelf: Shelf) -> Iterator[Finding]:
    if shelf.servers:
        usable = sum(not server.disabled for server in shelf.servers)
        yield Finding(_CHECK, shelf.path, Mark.OK, f"{count(usable, 'server')} can be named by jobs")
    for problem in (*shelf.problems, *(broken.problem for broken in shelf.broken)):
        yield Finding(_CHECK, shelf.path, Mark.WARN, problem.sentence)


def _of_grants(servers: McpServers, job: Job, now: datetime) -> Iterator[Finding]:
    """Yield the grants of a job that cover no tool, as far as it is known which tools there are."""
    chosen, cache = servers.chosen(job), cache_of(servers)
    for pattern in job.permissions.allow_mcp_tools:
        address = found[0] if (found := parsed(pattern)) else ""
        server = chosen.find(address)
        if server is None or server.address != address:
            hint = f"; its tools are named mcp__{server.address}__TOOL" if server else ""
            yield _granting(job, pattern, f"no server of the job has the address {address}{hint}")
        elif why := _uncovered(server, pattern, cache, now):
            yield _granting(job, pattern, why)


def _uncovered(server: Server, pattern: str, cache: Cache, now: datetime) -> str:
    known = cache.known(server, now, Limits().cache_s)
    if known is None or any(covers(pattern, full_name(server.address, tool.name)) for tool in known.tools):
        return ""
    return f"{server.address} had no such tool when it last told"


def _granting(job: Job, pattern: str, why: str) -> Finding:
    return Finding(_CHECK, job.name, Mark.WARN, f"permissions.allow_mcp_tools: {pattern} allows nothing: {why}")
