"""`kova-auto agents`: the definitions of subagents, which one a name means, and what is wrong with files of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kova_auto.cli.frame import WRONG, new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import complain, say, say_json
from kova_auto.cli.placing import JobOption, WorkspaceOption, job_of, place_of
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.cli.agent_rows import AgentRow
    from kova_auto.core.subagents.roster import Layers, Missing, Roster
    from kova_auto.settings.model import Settings

_ABOUT: Final = """\
List, show and check the definitions of subagents: the built-in ones, yours, those of plugins and of a workspace.

A job has those that its [agents] allow names. A plain name means yours, else the built-in one, else a plugin's, else
the workspace's; workspace:NAME means the workspace's alone. The workspace is the current directory unless --workspace
or --job names another.
"""
_LIST: Final = """\
List every definition with its tools, turns and model, whose place it takes, and what is wrong with it.

With --job, which of them the job has. With --json: an object with workspace, job, agents, missing, problems.
"""
_SHOW: Final = """\
Show one definition, its prompt too. NAME is a plain name, or an address as workspace:explorer.

With --json: an object as in the list, and its prompt.
"""
_CHECK: Final = """\
Check files of definitions, folders of them, or plugins; without one, everything that is defined here. Nothing is used.

Exits with 2 where one defines nothing. With --json: an object with agents and problems.
"""


app = new_app(_ABOUT)


@app.command("list", help=_LIST, short_help="List definitions, and how each stands.")
def list_agents(
    *, workspace: WorkspaceOption = None, job: JobOption = None, config: ConfigOption = None, json: JsonOption = False
) -> None:
    """Show definitions in a table."""
    from kova_auto.cli.agent_rows import HEAD
    from kova_auto.core.subagents.roster import definitions_for

    settings = settings_of(config)
    loaded = job_of(settings, workspace, job)
    place = place_of(workspace, loaded)
    layers = _layers(settings, place)
    roster = definitions_for(loaded.agents.allow, layers) if loaded else None
    rows, problems = _rows(settings, layers, roster), _problems(layers)
    if json:
        from kova_auto.cli.job_rows import problem_json

        missing = [{"name": one.name, "why": one.why, "hint": one.hint or None} for one in _missing(roster)]
        said = [problem_json(problem) for problem in problems]
        agents = [row.json for row in rows]
        name = loaded.name if loaded else None
        say_json({"workspace": str(place), "job": name, "agents": agents, "missing": missing, "problems": said})
        return
    say(listing(HEAD, [row.cells for row in rows], ink()))
    broken = [problem for row in rows if row.agent is None for problem in row.problems]
    sentences = [problem.sentence for problem in (*broken, *problems)]
    for text in [*sentences, *(one.sentence for one in _missing(roster))]:
        complain(one_line(text, 1000), "warning")


@app.command("show", help=_SHOW, short_help="Show one definition.")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As explorer, or workspace:explorer.")],
    *,
    workspace: WorkspaceOption = None,
    job: JobOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show one definition."""
    settings = settings_of(config)
    layers = _layers(settings, place_of(workspace, job_of(settings, workspace, job)))
    row = _found(name.strip().lower(), _rows(settings, layers, None))
    if row.agent is None:
        raise row.problems[0] if len(row.problems) == 1 else _joined(row.problems)
    if json:
        say_json({**row.json, "prompt": row.agent.prompt})
        return
    for line in row.lines():
        say(line)
    for problem in row.problems:
        complain(one_line(problem.sentence, 1000), "warning")


@app.command("check", help=_CHECK, short_help="Check files of definitions.")
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE|FOLDER", help="Files, folders or plugins.", show_default=False),
    ] = None,
    *,
    workspace: WorkspaceOption = None,
    job: JobOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Check definitions."""
    from kova_auto.app.agents import checked

    settings = settings_of(config)
    if paths and (workspace or job):
        message = "wanted files, or one of --workspace and --job, found both"
        raise ConfigError(message)
    here = () if paths else (_layers(settings, place_of(workspace, job_of(settings, workspace, job))),)
    found = [(layers, _problems(layers)) for layers in here]
    for path in paths or ():
        layers, problems = checked(path)
        found.append((layers, (*problems, *_problems(layers))))
    rows = [row for layers, _ in found for row in _rows(settings, layers, None)]
    others = [problem for _, problems in found for problem in problems]
    if json:
        from kova_auto.cli.job_rows import problem_json

        say_json({"agents": [row.json for row in rows], "problems": [problem_json(problem) for problem in others]})
    else:
        _show_checked(rows, others)
        if paths:
            _compare(rows, _rows(settings, _layers(settings, None), None))
    if any(row.agent is None for row in rows):
        raise typer.Exit(WRONG)


def _show_checked(rows: Sequence[AgentRow], others: Sequence[ConfigError]) -> None:
    for row in rows:
        label = "error" if row.agent is None else "warning"
        if row.agent and row.agent.path:
            note = f"; {row.standing.note}" if row.standing.note else ""
            remarks = ", with remarks" if row.problems else ""
            say(one_line(f"{row.agent.path}: {row.agent.name} is sound{remarks}{note}", 1000))
        for problem in row.problems:
            complain(one_line(problem.sentence, 1000), label)
    for problem in others:
        complain(one_line(problem.sentence, 1000), "warning")
    if not (rows or others):
        say("No definition is there.")


def _compare(rows: Sequence[AgentRow], known: Sequence[AgentRow]) -> None:
    """Say which names are taken already: what a file of that name means depends on where it lies."""
    taken = {row.standing.placed.name: row for row in known if not row.standing.shadowed_by}
    for row in rows:
        other = taken.get(row.standing.placed.name)
        if row.agent and other and not _is_same(row, other):
            address = other.standing.placed.address
            text = f"{row.agent.path}: {address} has this name too: in a workspace it is the one that the name means"
            complain(one_line(text, 1000), "note")


def _is_same(row: AgentRow, other: AgentRow) -> bool:
    here, there = row.agent, other.agent
    return bool(here and there and there.path and Path(here.path).resolve() == Path(there.path).resolve())


def _rows(settings: Settings, layers: Layers, roster: Roster | None) -> list[AgentRow]:
    from kova_auto.cli.agent_rows import AgentRow
    from kova_auto.core.subagents.standing import standings

    turns = settings.agents.max_turns
    return [AgentRow(standing, turns, layers.models, roster) for standing in standings(layers)]


def _found(name: str, rows: Sequence[AgentRow]) -> AgentRow:
    """Return the definition that a name means, also one that is disabled.

    Raises:
        ConfigError: There is none.
    """
    from kova_auto.core.toml.complaints import did_you_mean

    for row in rows:
        placed = row.standing.placed
        if name == placed.address or (name == placed.name and not row.standing.shadowed_by):
            return row
    message = f"there is no subagent {one_line(name, 64)}"
    everything = [row.standing.placed for row in rows]
    known = dict.fromkeys(placed.address if ":" in name else placed.name for placed in everything)
    hint = did_you_mean(name, tuple(known)) or "kova-auto agents list shows what there is"
    raise ConfigError(message, hint=hint)


def _joined(problems: Sequence[ConfigError]) -> ConfigError:
    from kova_auto.core.toml.document import together

    return together(list(problems))


def _problems(layers: Layers) -> tuple[ConfigError, ...]:
    return tuple(problem for shelf in layers.shelves for problem in shelf.problems)


def _missing(roster: Roster | None) -> tuple[Missing, ...]:
    return roster.missing if roster else ()


def _layers(settings: Settings, place: Path | None) -> Layers:
    from kova_auto.app.agents import agents_of

    return agents_of(settings, environment()).definitions.of(place)
