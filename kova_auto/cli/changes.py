"""`kova-auto runs apply` and `discard`: what becomes of changes that a run left in a workspace of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kova_auto.cli.asking import change, person
from kova_auto.cli.frame import FAILED
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import complain, say, say_json
from kova_auto.core.delivery.document import count
from kova_auto.core.delivery.text import clean

if TYPE_CHECKING:
    from kova_auto.app.control import Applied, Control
    from kova_auto.core.view import RunRow

RunArgument = Annotated[
    str,
    typer.Argument(metavar="RUN", help="Id of a run, the beginning of one, or last: the newest.", show_default=False),
]

APPLY = """\
Bring the changes of a run in a copy or worktree into its workspace.

Everything or nothing: where a file has changed in the workspace since the run began, it is listed, nothing is touched,
and the exit code is 1. What the run worked in is removed then; a branch with commits stays.

With --json: files, same, refused, branch, before.
"""
DISCARD = """\
Throw away what a run left in a copy or worktree.

Its branch goes too, commits and all.
"""


def apply(
    run: RunArgument,
    *,
    check: Annotated[bool, typer.Option("--check", help="Only say what would be done.")] = False,
    control: Annotated[
        bool, typer.Option("--control", help="Write control files too, such as AGENTS.md or .vscode.")
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Apply one run's changes."""

    async def question(remote: Control) -> Applied:
        run_id = (await remote.find(run)).run_id
        return await remote.apply(run_id, person(), control=control, check=check)

    applied = change(settings_of(config), question, kind="runs")
    if json:
        say_json(applied.model_dump(mode="json"))
    else:
        _show(applied, check=check)
    if applied.refused:
        raise typer.Exit(FAILED)


def _show(applied: Applied, *, check: bool) -> None:
    if applied.before:
        say(f"Already applied, by {clean(applied.before)}.")
        return
    for file in applied.refused:
        complain(clean(file), "refused")
    if applied.refused:
        complain("nothing was touched; kova-auto runs diff shows what the run changed")
        return
    for path in applied.files:
        say(f"{'would apply' if check else 'applied'} {clean(path)}")
    if applied.same:
        say(f"as the run left them already: {count(len(applied.same), 'file')}")
    if applied.branch:
        say(f"The branch {clean(applied.branch)} stays, because of its commits.")


def discard(run: RunArgument, *, config: ConfigOption = None) -> None:
    """Discard one run's changes."""

    async def question(remote: Control) -> RunRow:
        return await remote.discard((await remote.find(run)).run_id, person())

    say(f"What run {change(settings_of(config), question, kind='runs').run_id} left is removed.")
