"""What a job names and nobody has committed is not there in a worktree: a check says so, and so does the run."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from kova_auto.app.agents import agents_of
from kova_auto.app.driving import drive_one
from kova_auto.app.skills import lacking_skills, skills_of
from kova_auto.core.job import Outcome
from kova_auto.scheduling.jobfiles import load_job
from kova_auto.settings.load import load_settings
from tests.app.houses import Home, id_of
from tests.app.test_staging import git
from tests.support import ALONE

TEXT = "---\nname: {name}\ndescription: Does {name}.\n---\nDo it.\n"
APART = 'isolation = "worktree"\nautomation = "workspace-write"\n'
NAMES_A_SKILL = f'{APART}[context]\nskills = ["notes"]\n'
NAMES_AN_AGENT = f'{APART}[agents]\nallow = ["scribe"]\n'
REMEDY = 'is not committed, and a worktree holds only what is: commit it, or say isolation = "copy"'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path.resolve())
    home.job("look", APART)
    git(home.workspace, "init", "--quiet")
    git(home.workspace, "commit", "--quiet", "--allow-empty", "-m", "First")
    put(home.workspace / ".kova/skills/notes/SKILL.md", "notes")
    put(home.workspace / ".kova/subagents/scribe.md", "scribe")
    return home


def put(path: Path, name: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(TEXT.format(name=name))
    return path


def commit(home: Home) -> None:
    git(home.workspace, "add", "--all")
    git(home.workspace, "commit", "--quiet", "-m", "Second")


def checked(home: Home, more: str) -> tuple[str, Sequence[str]]:
    """Return what is said of the skills and of the subagents of a job before it runs."""
    environ = {"HOME": str(home.path), **ALONE}
    settings, job = load_settings(None, environ), load_job(home.job("look", more))
    with skills_of(settings, environ) as skills:
        return lacking_skills(skills, job), agents_of(settings, environ).lacking(job)


async def ran(home: Home, more: str) -> tuple[Outcome, str]:
    home.job("look", more)
    async with home.house() as house:
        await house.control.request(home.ask("look"))
        await drive_one(house, id_of("look"), asyncio.Event())
        finished = (await house.store.journal.load(id_of("look"))).finished
    assert finished
    return finished.outcome, finished.reason


def test_a_skill_that_is_named_and_not_committed_is_missing(home: Home) -> None:
    file = home.workspace / ".kova/skills/notes/SKILL.md"
    assert checked(home, NAMES_A_SKILL) == (f"notes: {file} {REMEDY}", ())
    commit(home)
    assert checked(home, NAMES_A_SKILL) == ("", ())


def test_a_subagent_that_is_allowed_and_not_committed_is_missing(home: Home) -> None:
    file = home.workspace / ".kova/subagents/scribe.md"
    assert checked(home, NAMES_AN_AGENT) == ("", (f"scribe: {file} {REMEDY}",))
    commit(home)
    assert checked(home, NAMES_AN_AGENT) == ("", ())


@pytest.mark.parametrize("isolation", ["in-place", "copy"])
@pytest.mark.parametrize("more", [NAMES_A_SKILL, NAMES_AN_AGENT])
def test_elsewhere_nothing_needs_to_be_committed(home: Home, isolation: str, more: str) -> None:
    assert checked(home, more.replace("worktree", isolation)) == ("", ())


def test_a_skill_of_the_users_own_stands_for_one_that_is_not_committed(home: Home) -> None:
    put(home.path / ".kova/skills/notes/SKILL.md", "notes")
    assert checked(home, NAMES_A_SKILL) == ("", ())


async def test_the_run_is_blocked_and_says_why_what_lies_there_is_not_there(home: Home) -> None:
    outcome, reason = await ran(home, NAMES_A_SKILL)
    assert outcome is Outcome.BLOCKED
    assert reason.startswith("context.skills: wanted skills that are there, found no notes")
    assert reason.endswith(f"; what {home.workspace} has of notes {REMEDY}")


async def test_so_does_a_run_whose_subagents_are_not_committed(home: Home) -> None:
    outcome, reason = await ran(home, NAMES_AN_AGENT)
    assert outcome is Outcome.BLOCKED
    assert reason.startswith("agents.allow: scribe: nobody defines a subagent of this name")
    assert reason.endswith(f"; what {home.workspace} has of scribe {REMEDY}")


async def test_what_is_nowhere_is_no_matter_of_commits(home: Home) -> None:
    outcome, reason = await ran(home, NAMES_A_SKILL.replace('"notes"', '"gone"'))
    assert (outcome, "committed" in reason) == (Outcome.BLOCKED, False)


@pytest.mark.parametrize("more", [NAMES_A_SKILL, NAMES_AN_AGENT])
async def test_once_it_is_committed_the_run_has_it(home: Home, more: str) -> None:
    commit(home)
    assert (await ran(home, more))[0] is Outcome.DONE
