"""Where children work: where their parent does, be it a copy or a worktree of its own, which stays its parent's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kova_auto.app.control import Said
from kova_auto.core.approval.levels import ApprovalLevel, Decision
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.engine.dispatch import Advanced
from tests.app.families import FIRST, RUN, asked, call, child, driven, leads, played, state_of, task, text_of, turn
from tests.app.houses import UNCONFINED, Home

WRITES = child(turn("", call("write", file_path="a.txt", content="a"), call("bash", command="pwd")), turn("written"))
SCRIPT = played(
    [turn("", task()), turn("", call("TaskWait")), turn("", call("read", file_path="a.txt")), turn("So.")], WRITES
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


def lies_there(place: str) -> bool:
    return Path(place).exists()


def commit(workspace: Path) -> None:
    """Make a repository of a workspace."""
    for args in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]):
        subprocess.run(["git", *args], cwd=workspace, check=True)


@pytest.mark.parametrize("isolation", ["copy", "worktree"])
async def test_a_child_works_in_what_is_its_parents_own(home: Home, isolation: str) -> None:
    leads(home, SCRIPT, f'isolation = "{isolation}"\n' + UNCONFINED)
    (home.workspace / "notes.txt").write_text("notes\n")
    if isolation == "worktree":
        commit(home.workspace)
    async with home.house() as house:
        state = await driven(house, home)
        below, row = await state_of(house, FIRST), await house.store.views.run(FIRST)

    assert state.finished
    assert state.finished.outcome is Outcome.DONE
    assert below.request.workspace == state.request.workspace != str(home.workspace)
    assert text_of(below, "1.2").strip().splitlines()[-1] == state.request.workspace
    assert "a" in text_of(state, "3.1")
    assert not (home.workspace / "a.txt").exists()
    assert (Path(state.request.workspace) / "a.txt").exists()
    assert "1 changed file" in state.finished.kept
    assert row
    assert (row.kept, row.holds) == ("", "")


async def test_the_copy_of_a_staged_run_is_there_until_its_children_have_ended_and_gone_then(home: Home) -> None:
    leads(home, SCRIPT)
    async with home.house() as house:
        state = await driven(house, home, staged=True)
        below = await state_of(house, FIRST)

    assert state.request.staged
    assert below.request.staged
    assert below.finished
    assert below.finished.outcome is Outcome.DONE
    assert "a" in text_of(state, "3.1")
    assert not (home.workspace / "a.txt").exists()
    assert not lies_there(state.request.workspace)


async def test_what_a_person_allows_a_child_for_good_counts_in_the_real_workspace(home: Home) -> None:
    runs = child(turn("", call("bash", command="npm test")), turn("tested"))
    leads(
        home,
        played([turn("", task()), turn("", call("TaskWait")), turn("So.")], runs),
        'isolation = "copy"\n' + UNCONFINED,
    )
    async with home.house() as house:
        await asked(house, home, level=ApprovalLevel.WORKSPACE_WRITE)
        await house.engine.advance(RUN)
        assert await house.engine.advance(FIRST) is Advanced.SUSPENDED
        known = (await state_of(house, FIRST)).call(CallId("1.1"))
        await house.control.decide(FIRST, CallId("1.1"), Said(decision=Decision.REMEMBER, by="ada"))
        standing = house.opening.permissions.standing(str(home.workspace))

    assert known.approval
    assert known.approval.offer
    assert "npm test *" in standing.remembered.commands
