"""What runs leave in copies and worktrees: shown, applied once, discarded, and in nobody's way."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kova_auto.app.control import Applied
from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import ChangesSettled, ContextAssembled, RunAcquired
from kova_auto.core.job import Outcome
from kova_auto.core.state import RunState
from kova_auto.engine.dispatch import Advanced
from tests.app.houses import Home, id_of
from tests.app.test_staging import git
from tests.support import a_job, a_request, at

WRITES = """
[[turns]]
text = "I write."
[[turns.calls]]
tool = "write"
args = { file_path = "made.txt", content = "made\\n" }
[[turns]]
text = "Done."
"""
RUN = id_of("look")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def ran(home: Home, house: House, isolation: str = "copy") -> RunState:
    """Run a job that writes one file."""
    home.job("look", f'isolation = "{isolation}"\nautomation = "workspace-write"\n', WRITES)
    if isolation == "worktree":
        git(home.workspace, "init", "--quiet")
        git(home.workspace, "commit", "--quiet", "--allow-empty", "-m", "First")
    await house.control.request(home.ask("look"))
    await drive_one(house, RUN, asyncio.Event())
    state = await house.store.journal.load(RUN)
    assert state.finished
    assert state.finished.outcome is Outcome.DONE
    return state


@pytest.mark.parametrize(
    ("isolation", "kept"),
    [
        ("copy", "a copy with 1 changed file"),
        ("worktree", "branch kova/look-20261201T060000Z-k with 0 commits and 1 changed file"),
    ],
)
async def test_changes_are_kept_shown_applied_and_then_gone(home: Home, isolation: str, kept: str) -> None:
    async with home.house() as house:
        state = await ran(home, house, isolation)
        row = await house.control.find(RUN)
        assert row.kept == kept
        assert "+made\n" in await house.control.diff(RUN)
        assert await house.control.apply(RUN, "ann", control=False, check=True) == Applied(files=("made.txt",))
        assert not (home.workspace / "made.txt").exists()

        assert await house.control.apply(RUN, "ann", control=False, check=False) == Applied(files=("made.txt",))
        assert (home.workspace / "made.txt").read_text() == "made\n"
        assert not house.opening.copies.has(await house.store.journal.load(RUN))
        assert await house.control.apply(RUN, "bob", control=False, check=False) == Applied(before="ann")
        settled = (await house.store.journal.load(RUN)).settled
        assert settled
        assert (settled.how, settled.by, settled.files) == ("applied", "ann", ("made.txt",))
        assert (await house.control.find(RUN)).kept == ""
        assert "+made\n" in await house.control.diff(RUN)
    assert state.request.workspace != state.job.workspace


async def test_a_run_in_a_worktree_is_told_where_it_is(home: Home) -> None:
    async with home.house() as house:
        await ran(home, house, "worktree")
        facts = [event for _, event in await house.store.journal.events(RUN)]
    (context,) = [fact for fact in facts if isinstance(fact, ContextAssembled)]

    assert context.notices
    assert context.notices[0] in context.system


async def test_a_file_that_has_changed_meanwhile_stands_in_the_way_and_nothing_is_lost(home: Home) -> None:
    async with home.house() as house:
        await ran(home, house)
        (home.workspace / "made.txt").write_text("of a person")
        applied = await house.control.apply(RUN, "ann", control=False, check=False)
        assert applied == Applied(refused=("made.txt is in the workspace by now",))
        assert (await house.control.find(RUN)).kept
        (home.workspace / "made.txt").unlink()
        assert (await house.control.apply(RUN, "ann", control=False, check=False)).files == ("made.txt",)


async def test_applying_that_was_cut_off_before_it_was_on_record_is_finished(home: Home) -> None:
    async with home.house() as house:
        await ran(home, house)
        (home.workspace / "made.txt").write_text("made\n")

        assert await house.control.apply(RUN, "ann", control=False, check=False) == Applied(same=("made.txt",))


async def test_discarded_changes_are_gone_and_cannot_be_applied(home: Home) -> None:
    async with home.house() as house:
        await ran(home, house)
        assert (await house.control.discard(RUN, "ann")).kept == ""
        assert not house.opening.copies.has(await house.store.journal.load(RUN))
        for deed in (
            house.control.discard(RUN, "bob"),
            house.control.apply(RUN, "bob", control=False, check=False),
        ):
            with pytest.raises(IllegalEventError, match="its changes were discarded by ann already"):
                await deed
    assert not (home.workspace / "made.txt").exists()


async def test_a_retry_waits_for_a_decision_about_what_the_run_has_left(home: Home) -> None:
    async with home.house() as house:
        await ran(home, house)
        with pytest.raises(IllegalEventError, match="apply or discard them first"):
            await house.control.retry(RUN, "ann")
        await house.control.discard(RUN, "ann")
        assert (await house.control.retry(RUN, "ann")).attempt == 2


async def test_nothing_is_applied_under_a_run_that_has_the_workspace(home: Home) -> None:
    async with home.house() as house:
        await ran(home, house)
        job = a_job("other", workspace=str(home.workspace), automation="full")
        other, _ = await house.store.journal.open(a_request("other@1", job=job))
        await house.store.journal.append(other, RunAcquired(at=at("06:00:01"), epoch=1, worker="x"))
        with pytest.raises(IllegalEventError, match=r"run other@1 of other has .* to itself; apply"):
            await house.control.apply(RUN, "ann", control=False, check=False)
        assert (await house.control.apply(RUN, "ann", control=False, check=True)).files == ("made.txt",)


async def test_a_run_in_place_has_left_nothing_to_apply(home: Home) -> None:
    async with home.house() as house:
        await ran(home, house, "in-place")
        with pytest.raises(IllegalEventError, match="it has left no changes"):
            await house.control.apply(RUN, "ann", control=False, check=False)
        with pytest.raises(IllegalEventError, match="it has left no changes"):
            await house.control.discard(RUN, "ann")


async def test_a_worktree_of_no_repository_fails_the_run_and_says_why(home: Home) -> None:
    home.job("look", 'isolation = "worktree"\nautomation = "workspace-write"\n', WRITES)
    async with home.house() as house:
        await house.control.request(home.ask("look"))
        assert await drive_one(house, RUN, asyncio.Event()) is Advanced.DONE
        finished = (await house.store.journal.load(RUN)).finished
    assert finished
    assert finished.outcome is Outcome.FAILED
    assert "wants a git repository, found none" in finished.reason


async def test_a_run_whose_workspace_another_has_rests_where_nobody_else_works_on_the_database(home: Home) -> None:
    home.job("look", 'automation = "workspace-write"\n', WRITES)
    async with home.house() as house:
        job = a_job("other", workspace=str(home.workspace), automation="full")
        other, _ = await house.store.journal.open(a_request("other@1", job=job))
        await house.store.journal.append(other, RunAcquired(at=at("06:00:01"), epoch=1, worker="x"))
        await house.control.request(home.ask("look"))
        assert await drive_one(house, RUN, asyncio.Event()) is Advanced.SUSPENDED
        assert (await house.control.find(RUN)).waits_for == "other@1"


def test_what_was_settled_is_read_back() -> None:
    settled = ChangesSettled(at=at("07:00:00"), how="discarded", by="ann")

    assert ChangesSettled.model_validate_json(settled.model_dump_json()) == settled
