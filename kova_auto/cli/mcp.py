"""`kova-auto mcp`: which MCP servers files configure, and whether they can be used."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kova_auto.cli.frame import FAILED, WRONG, new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, now_of, settings_of
from kova_auto.cli.output import GREEN, RED, complain, paint, say, say_json
from kova_auto.cli.placing import JobOption, WorkspaceOption, job_of, place_of
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kova_auto.app.mcp_trying import Bench, Placed, Tried
    from kova_auto.core.job import Job

_ABOUT: Final = """\
List and check MCP servers: programs by others that lend a run tools, where its job names them.

They stand in ~/.kova/mcp.json, in files of plugins, and in .kova/mcp.json and .mcp.json of a workspace. The workspace
is the current directory unless --workspace or --job names another.
"""
_LIST: Final = """\
List the servers for runs in a workspace: who brought each, how it is reached, and what a plain name means.

With --job, USED says whether that job names it. Nothing is started.

With --json: an object with workspace, job, servers, problems; each server with server, name, layer, plugin, path, kind,
reached_by, description, used, shadowed_by, problem.
"""
_CHECK: Final = """\
Check the servers of a workspace: all that there are, those that are named, or those of --job.

Without --connect only files are looked at, programs and secrets looked for. With it, each server is started or
reached, asked for its tools, and ended. A server that comes with the workspace is started only if it is named here or
by the job: to start it runs its program.

Exit codes: 0 all can be used; 1 one could not be connected to; 2 one is not configured as it must be.

With --json: a list of objects with server, path, ok, problems, notes, remarks, tools; each tool with name, full_name,
title, description, read_only, flaw. Without --connect, tools is null.
"""
_NONE: Final = "No file configures an MCP server here. One stands in ~/.kova/mcp.json, below mcpServers."


app = new_app(_ABOUT)


@app.command("list", help=_LIST, short_help="List servers, and who brought them.")
def list_servers(
    context: typer.Context,
    *,
    workspace: WorkspaceOption = None,
    job: JobOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show servers in a table."""
    from kova_auto.cli.mcp_rows import HEAD, rows_of

    bench, loaded = _bench(context, workspace, job, config)
    rows = rows_of(bench, loaded)
    problems = [problem.sentence for shelf in bench.shelves for problem in shelf.problems]
    if json:
        name = loaded.name if loaded else None
        about = {"workspace": bench.job.workspace, "job": name}
        say_json({**about, "servers": [row.json for row in rows], "problems": problems})
        return
    say(listing(HEAD, [row.cells for row in rows], ink()) if rows else _NONE)
    for row in rows:
        if row.note:
            complain(one_line(row.note, 1000), "note")
    for problem in problems:
        complain(one_line(problem, 1000), "warning")


@app.command("check", help=_CHECK, short_help="Check servers; connect to them.")
def check(
    context: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="SERVER", help="As mcp list has them; else all.", show_default=False),
    ] = None,
    *,
    connect: Annotated[bool, typer.Option("--connect", help="Start or reach each, and ask for its tools.")] = False,
    workspace: WorkspaceOption = None,
    job: JobOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Say of each server whether it can be used."""
    from kova_auto.cli.mcp_rows import tried_json

    bench, loaded = _bench(context, workspace, job, config)
    chosen = _chosen(bench, names or (loaded.mcp.servers if loaded else ()), connect=connect)
    looked = [bench.looked(placed) for placed in chosen]
    wrong = any(one.problems for one in looked)
    found = list(asyncio.run(bench.tried(chosen))) if connect else looked
    if json:
        say_json([tried_json(one, bench) for one in found])
    else:
        for one in found:
            _show(one, bench)
        if not found:
            say(_NONE)
    for problem in _of_files(bench):
        complain(one_line(problem.sentence, 1000), "warning")
    if wrong or any(shelf.is_unread for shelf in bench.shelves):
        raise typer.Exit(WRONG)
    if any(one.problems for one in found):
        raise typer.Exit(FAILED)


def _of_files(bench: Bench) -> list[ConfigError]:
    """Return what is to be said of whole files: what is said of a server stands beneath it."""
    from kova_auto.core.mcp.document import TABLE

    found = [problem for shelf in bench.shelves for problem in shelf.problems]
    return [problem for problem in found if not problem.key.startswith(f"{TABLE}.")]


def _bench(
    context: typer.Context, workspace: Path | None, job: str | None, config: Path | None
) -> tuple[Bench, Job | None]:
    from kova_auto.app.mcp_trying import bench_of

    settings = settings_of(config)
    loaded = job_of(settings, workspace, job)
    place = place_of(workspace, loaded)
    return bench_of(settings, environment(), place, loaded, now_of(context)), loaded


def _chosen(bench: Bench, names: Sequence[str], *, connect: bool) -> list[Placed]:
    """Return the servers that are meant; a program that comes with a workspace is not run unless it is named.

    Raises:
        ConfigError: A name means no server.
    """
    from kova_auto.core.mcp.roster import Broken
    from kova_auto.core.mcp.server import Layer

    placed = bench.placed()
    if not names:
        usable = [one for one in placed if isinstance(one.entry, Broken) or not one.entry.disabled]
        return [one for one in usable if not (connect and one.shelf.layer is Layer.WORKSPACE)]
    meant = {name: _meant(name, placed) for name in names}
    if unknown := [name for name, one in meant.items() if one is None]:
        message = f"no file configures a server {unknown[0]!r} for this workspace"
        raise ConfigError(message, hint="kova-auto mcp list shows those that there are")
    return list({one.address: one for one in meant.values() if one}.values())


def _meant(name: str, placed: Sequence[Placed]) -> Placed | None:
    exact = [one for one in placed if name in (one.address, f"{one.shelf.layer}:{one.entry.name}")]
    plain = [one for one in placed if one.entry.name == name and not one.shadowed_by]
    return next(iter(exact or plain), None)


def _show(one: Tried, bench: Bench) -> None:
    from kova_auto.cli.mcp_rows import lines_of

    mark = paint("fail", RED) if one.problems else paint("ok  ", GREEN)
    say(f"{mark}  {one.placed.address} ({one.placed.shelf.path})")
    for line in lines_of(one, bench):
        say(f"      {line}")
