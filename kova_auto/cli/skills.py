"""`kova-auto skills`: which skills runs are told of, what they say, and whether their files are sound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kova_auto.cli.frame import FAILED, WRONG, new_app
from kova_auto.cli.ink import ink
from kova_auto.cli.listing import listing
from kova_auto.cli.options import ConfigOption, JsonOption, settings_of
from kova_auto.cli.output import GREEN, complain, paint, say, say_json
from kova_auto.cli.placing import JobOption, WorkspaceOption, job_of, place_of
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.core.job import Job
    from kova_auto.core.skills.precedence import Broken, Shelf
    from kova_auto.core.skills.skill import Skill

_ABOUT: Final = """\
List, show and check skills: folders with a SKILL.md, which a run loads when it needs what one says.

They lie in .kova/skills, .agents/skills and .claude/skills of a workspace, then of your home directory. Of two with one
name the first counts. The workspace is the current directory unless --workspace or --job names another.
"""
_LIST: Final = """\
List the skills for runs in a workspace, whether a run is told of each, and those that others stand before.

With --job, as that job chooses them ([context] skills). What cannot be used is noted.

With --json: an object with workspace, job, skills, problems.
"""
_SHOW: Final = """\
Show what a skill says of itself, and its instructions.

With --json: an object with name, description, layer, path, license, compatibility, metadata, allowed_tools, tools,
hidden, remarks, text.
"""
_CHECK: Final = """\
Check skills against the open format: a skill's folder or SKILL.md, a folder of skills, a plugin, or all that there
are for a workspace.

Everything that is wrong is named with its line. What is put up with is a warning; with --strict it counts as well.

Exit codes: 0 all can be used; 2 one cannot; 1 with --strict, one has warnings.

With --json: a list of objects with path, name, errors, warnings; each problem with line, key, message, hint.
"""
_NONE: Final = "There are no skills here. One is a folder with a SKILL.md, as .kova/skills/release-notes/SKILL.md."


app = new_app(_ABOUT)


@app.command("list", help=_LIST, short_help="List skills, and whether runs are told of them.")
def list_skills(
    *, workspace: WorkspaceOption = None, job: JobOption = None, config: ConfigOption = None, json: JsonOption = False
) -> None:
    """Show skills in a table."""
    from kova_auto.cli.skill_rows import HEAD, rows_of

    with _opened(workspace, job, config) as (shelf, place, loaded):
        wanted = loaded.context.skills if loaded else None
        rows, problems = rows_of(shelf, wanted), _problems(shelf, wanted)
    if json:
        name = loaded.name if loaded else None
        say_json({"workspace": str(place), "job": name, "skills": [row.json for row in rows], "problems": problems})
        return
    say(listing(HEAD, [row.cells for row in rows], ink()) if rows else _NONE)
    for row in rows:
        if row.before:
            text = f"{row.skill.file.path} is not read: {row.before.file.path} has the same name and comes first"
            complain(one_line(text, 1000), "note")
    for problem in problems:
        complain(one_line(problem, 1000), "warning")


@app.command("show", help=_SHOW, short_help="Show a skill.")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As skills list has it.")],
    *,
    workspace: WorkspaceOption = None,
    job: JobOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Show one skill."""
    from kova_auto.cli.skill_rows import about, lines_of

    with _opened(workspace, job, config) as (shelf, place, _):
        skill = _named(shelf, name, place)
    if json:
        say_json({**about(skill), "text": skill.body})
        return
    for line in lines_of(skill):
        say(line)
    for remark in skill.remarks:
        complain(one_line(remark.sentence, 1000), "warning")


@app.command("check", help=_CHECK, short_help="Check the files of skills.")
def check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Skills, folders of them, plugins; else all.", show_default=False),
    ] = None,
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as well.")] = False,
    workspace: WorkspaceOption = None,
    job: JobOption = None,
    config: ConfigOption = None,
    json: JsonOption = False,
) -> None:
    """Say of each file what is wrong with it."""
    from kova_auto.cli.skill_rows import checked_json, unread_json
    from kova_auto.core.skills.precedence import Broken

    found, others = _given(paths, workspace, job) if paths else _all(workspace, job, config)
    if json:
        say_json([*(checked_json(one) for one in found), *map(unread_json, others)])
    else:
        for one in found:
            _say_checked(one)
        if not found:
            say(_NONE)
        for text in others:
            complain(one_line(text, 1000), "warning")
    if any(isinstance(one, Broken) for one in found):
        raise typer.Exit(WRONG)
    if strict and (others or any(not isinstance(one, Broken) and one.remarks for one in found)):
        raise typer.Exit(FAILED)


def _say_checked(found: Skill | Broken) -> None:
    from kova_auto.core.skills.precedence import Broken

    if isinstance(found, Broken):
        for problem in found.error.problems:
            complain(one_line(problem.sentence, 1000))
        return
    say(f"{paint('ok', GREEN)}  {one_line(found.name, 64)}  {one_line(found.file.path, 1000)}")
    for remark in found.remarks:
        complain(one_line(remark.sentence, 1000), "warning")


def _given(paths: list[Path], workspace: Path | None, job: str | None) -> tuple[list[Skill | Broken], Sequence[str]]:
    from kova_auto.app.skills import skills_at

    if workspace is not None or job is not None:
        message = "wanted paths, or one of --workspace and --job, found both"
        raise ConfigError(message)
    return [skill for path in paths for skill in skills_at(path)], ()


def _all(workspace: Path | None, job: str | None, config: Path | None) -> tuple[list[Skill | Broken], Sequence[str]]:
    """Return every file of a skill that there is for a workspace, and a sentence for what is not read."""
    with _opened(workspace, job, config) as (shelf, _, _):
        found: list[Skill | Broken] = [*shelf.skills, *(skill for skill, _ in shelf.shadowed), *shelf.broken]
        return sorted(found, key=lambda one: (one.file.layer, one.file.path)), (*shelf.notices, *shelf.strays)


@contextmanager
def _opened(workspace: Path | None, job: str | None, config: Path | None) -> Iterator[tuple[Shelf, Path, Job | None]]:
    """Give what there is for a workspace, where that is, and the job that was named."""
    from kova_auto.app.skills import ground_of, skills_of

    settings = settings_of(config)
    loaded = job_of(settings, workspace, job)
    place = place_of(workspace, loaded)
    with skills_of(settings, environment()) as skills:
        yield skills.shelf(ground_of(place)), place, loaded


def _problems(shelf: Shelf, wanted: tuple[str, ...] | None) -> list[str]:
    from kova_auto.core.skills.catalogue import lacking

    broken = [problem.sentence for one in shelf.broken for problem in one.error.problems]
    why = lacking(shelf, wanted)
    return [*shelf.notices, *broken, *shelf.strays, *([f"context.skills: {why}"] if why else [])]


def _named(shelf: Shelf, name: str, place: Path) -> Skill:
    """Return a skill.

    Raises:
        ConfigError: There is none of this name, or it cannot be used.
    """
    if name in shelf.by_name:
        return shelf.by_name[name]
    for one in shelf.broken:
        if one.file.name == name:
            raise one.error
    known = ", ".join(shelf.by_name) or "none"
    called = next(
        (f"the one in the folder {name} is called {one.name}; " for one in shelf.skills if one.file.name == name), ""
    )
    message = f"there is no skill {name}"
    raise ConfigError(message, path=str(place), hint=f"{called}there are: {known}")
