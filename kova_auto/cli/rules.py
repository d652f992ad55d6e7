"""`kova-auto rules`: what is allowed for good, allowing and taking back, and what rules make of a command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kova_auto.cli.frame import FAILED, WRONG, new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import complain, say, say_json
from kova_auto.cli.placing import JobOption, WorkspaceOption, job_of, place_of
from kova_auto.core.consent import Standing
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.permissions import Permissions
    from kova_auto.core.approval.policy import Grant
    from kova_auto.settings.model import Settings

_ABOUT: Final = """\
List what is allowed for good in a workspace; allow more, take it back, and try rules out on commands.

A rule is a command word for word, or its first words and a *: 'git log *'. What a job's own file allows is written
there. Three files say the rest: ~/.kova/permissions.json counts everywhere, this machine's file (written by
"allow and remember" and by rules add) in one workspace, and the workspace's own file only proposes.
"""
_LIST: Final = """\
List every rule, write root and tool that counts in a workspace, where it comes from, and what the workspace proposes.

What rules reach beyond what they show is noted. With --job, the job's own grants too, and what counts at its level.

With --json: an object with workspace, job, files, ignored, entries, problems.
"""
_ADD: Final = """\
Allow commands, directories to write in, or tools, for all runs in a workspace from the next on.

It is kept on this machine, outside of the workspace. Jobs at the level read-only heed their own file's rules alone.
With --user it is written into ~/.kova/permissions.json instead, and counts in every workspace.
"""
_FORGET: Final = 'Take back what rules add, or somebody\'s "allow and remember", has allowed.'
_TEST: Final = """\
Say what rules make of a command: each part, each rule that was compared, the one that decided. Nothing is run.

The rules are those that count in the workspace, or for the job; with --rule those alone. Exits with 1 where they do
not let all of it run.

With --json: an object with command, match, safe, remember, reason, rule, covered, refused, parts.

With --jsonl, for programs: reads objects with command and rules, one a line, from standard input, and answers each with
match, safe, remember and reason. A line that is no such object is answered with line and error; then the exit is 2.
"""
_NOTHING: Final = "Nothing is allowed for good here. kova-auto rules add 'git log *' allows a command."

RulesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="RULE", help="As 'git log *'; in quotes.", show_default=False)
]
RootOption = Annotated[
    list[Path] | None,
    typer.Option("--root", metavar="DIR", help="A directory that counts as inside.", show_default=False),
]
ToolOption = Annotated[
    list[str] | None,
    typer.Option("--tool", metavar="NAME", help="A tool of an MCP server, by its full name.", show_default=False),
]
UserOption = Annotated[bool, typer.Option("--user", help="In every workspace: ~/.kova/permissions.json.")]

app = new_app(_ABOUT)


@app.command("list", help=_LIST, short_help="List what is allowed for good, and from where.")
def list_rules(
    *, workspace: WorkspaceOption = None, job: JobOption = None, config: ConfigOption = None, json: JsonOption = False
) -> None:
    """Show standing decisions in a table."""
    from kova_auto.cli.rule_rows import HEAD, rows_of, survey_json

    settings = settings_of(config)
    loaded = job_of(settings, workspace, job)
    survey = _permissions(settings).survey(place_of(workspace, loaded))
    if json:
        say_json(survey_json(survey, loaded))
        return
    rows = rows_of(survey, loaded)
    say(listing(HEAD, [row.cells for row in rows], ink()) if rows else _NOTHING)
    for problem in survey.problems:
        complain(one_line(problem.sentence, 1000), "warning")
    if survey.ignored:
        complain(f"{survey.ignored} is not read: a repository could bring it along", "warning")


@app.command("add", help=_ADD, short_help="Allow something for good.")
def add(
    rules: RulesArgument = None,
    *,
    root: RootOption = None,
    tool: ToolOption = None,
    workspace: WorkspaceOption = None,
    job: JobOption = None,
    user: UserOption = False,
    config: ConfigOption = None,
) -> None:
    """Write standing decisions down."""
    from kova_auto.app.permissions import directory

    wanted = _wanted(rules, [str(directory(place)) for place in root or ()], tool)
    settings = settings_of(config)
    permissions, place = _permissions(settings), _everywhere_or(user, workspace, job, settings)
    new = permissions.remember_everywhere(wanted) if place is None else permissions.remember(place, wanted)
    for entry in _spelled(new):
        say(f"allowed {_where(place)}: {entry}")
    if not new:
        say(f"nothing new: that was allowed {_where(place)} already")
    _warn(wanted)
    if place and job is None and place not in permissions.workspaces():
        complain(
            f"no job of {settings.jobs_dir} works in {place} yet; --workspace, --job or --user names another place",
            "note",
        )


@app.command("forget", help=_FORGET, short_help="Take back what was allowed.")
def forget(
    rules: RulesArgument = None,
    *,
    root: RootOption = None,
    tool: ToolOption = None,
    workspace: WorkspaceOption = None,
    job: JobOption = None,
    user: UserOption = False,
    config: ConfigOption = None,
) -> None:
    """Take standing decisions out of their file."""
    wanted = _wanted(rules, [name for place in root or () for name in _names(place)], tool)
    settings = settings_of(config)
    permissions, place = _permissions(settings), _everywhere_or(user, workspace, job, settings)
    gone = permissions.forget_everywhere(wanted) if place is None else permissions.forget(place, wanted)
    for entry in _spelled(gone):
        say(f"no longer allowed {_where(place)}: {entry}")
    if not gone:
        message = f"nothing of this is allowed {_where(place)}"
        raise ConfigError(message, hint="kova-auto rules list shows what is, and from where")


@app.command("test", help=_TEST, short_help="Say what rules make of a command.")
def try_out(
    command: Annotated[
        str | None, typer.Argument(metavar="COMMAND", help="One argument, in quotes.", show_default=False)
    ] = None,
    *,
    rule: Annotated[
        list[str] | None,
        typer.Option("--rule", metavar="RULE", help="Try this rule instead; may be repeated.", show_default=False),
    ] = None,
    workspace: WorkspaceOption = None,
    job: JobOption = None,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Answer each line of standard input.")] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Try rules out."""
    if jsonl:
        _alone(command is None and not rule and workspace is None and job is None)
        from kova_auto.cli.rule_trials import answer_lines

        if not answer_lines():
            raise typer.Exit(WRONG)
        return
    if command is None:
        message = "wanted a command"
        raise ConfigError(message, hint="kova-auto rules test 'git log --oneline'; or --jsonl")
    from kova_auto.cli.rule_trials import show_trial

    if not show_trial(command, _grants(rule, workspace, job, config), as_json=json):
        raise typer.Exit(FAILED)


def _alone(is_alone: bool) -> None:  # noqa: FBT001 - the condition is the sentence's
    if not is_alone:
        message = "--jsonl takes commands and rules from standard input, and nothing from the command line"
        raise ConfigError(message)


def _grants(rules: list[str] | None, workspace: Path | None, job: str | None, config: Path | None) -> tuple[Grant, ...]:
    """Return the rules that are compared: those of the command line, or those that count."""
    from kova_auto.core.approval.policy import Grant, Origin
    from kova_auto.core.approval.rules import heeded
    from kova_auto.core.policy import policy_of

    if rules:
        return tuple(Grant(rule, Origin.JOB) for rule in rules)
    settings = settings_of(config)
    loaded = job_of(settings, workspace, job)
    survey = _permissions(settings).survey(place_of(workspace, loaded))
    user, here = survey.user.standing, survey.here.standing
    if loaded:
        return heeded(policy_of(loaded, user=user, remembered=here))
    named = ((Origin.USER, user), (Origin.LOCAL, here))
    return tuple(Grant(rule, origin) for origin, standing in named for rule in standing.commands)


def _permissions(settings: Settings) -> Permissions:
    from kova_auto.app.permissions import permissions_of

    return permissions_of(settings, environment())


def _everywhere_or(user: bool, workspace: Path | None, job: str | None, settings: Settings) -> Path | None:  # noqa: FBT001
    """Return the workspace that is meant; None for all of them."""
    if not user:
        return place_of(workspace, job_of(settings, workspace, job))
    if workspace is not None or job is not None:
        message = "wanted one of --user, --workspace and --job, found two"
        raise ConfigError(message)
    return None


def _wanted(rules: list[str] | None, roots: list[str], tools: list[str] | None) -> Standing:
    wanted = Standing(commands=tuple(rules or ()), write_roots=tuple(roots), tools=tuple(tools or ()))
    if not wanted:
        message = "wanted a rule, --root or --tool, found none"
        raise ConfigError(message, hint="kova-auto rules add 'git log *'")
    return wanted


def _names(place: Path) -> tuple[str, ...]:
    """Return how a directory may be written down that need not be there any more."""
    return str(place), os.path.normpath(place.absolute()), str(place.resolve())


def _where(place: Path | None) -> str:
    return f"in {place}" if place else "in every workspace"


def _spelled(standing: Standing) -> list[str]:
    from kova_auto.core.delivery.report import spell_standing

    return [one_line(entry, 400) for entry in spell_standing(standing)]


def _warn(wanted: Standing) -> None:
    """Say which of the rules reach further than they look."""
    from kova_auto.core.approval.shell.diagnosis import diagnose

    for rule in wanted.commands:
        if found := diagnose(rule):
            complain(one_line(found.says, 400), "warning")
