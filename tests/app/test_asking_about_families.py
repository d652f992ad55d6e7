"""What is asked about subagents: by which names they are found, whose their calls and costs are, what they refuse."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from kova_auto.app.control import RunAsk, Said
from kova_auto.app.driving import drive_one
from kova_auto.app.family import kin_of
from kova_auto.app.house import House
from kova_auto.app.local import LocalAnswers
from kova_auto.core.approval.levels import Decision
from kova_auto.core.errors import IllegalEventError, UnknownRunError
from kova_auto.core.ids import CallId, RunId
from kova_auto.engine.bells import Bells
from kova_auto.engine.dispatch import Advanced
from tests.app.houses import Home
from tests.cli.families import FAMILY, family
from tests.doubles.journal import MemoryJournal
from tests.lineage import a_parent, its_child
from tests.support import at, says

WRITES = 'automation = "workspace-write"\n[agents]\nallow = ["fixer"]\n'
DISPATCHES_A_WRITER = """
[[turns]]
calls = [{ tool = "Task", args = { agent = "fixer", task = "Write both." } }, { tool = "TaskWait" }]
[[turns]]
calls = [{ tool = "read", args = { file_path = "a" } }]
[[turns]]
calls = [{ tool = "write", args = { file_path = "a", content = "of the run\\n" } }]
[[turns]]
text = "Written."
[[subagents]]
agent = "fixer"
[[subagents.turns]]
calls = [{ tool = "read", args = { file_path = "a" } }]
[[subagents.turns]]
calls = [
  { tool = "write", args = { file_path = "a", content = "of the subagent\\n" } },
  { tool = "write", args = { file_path = "b", content = "of the subagent\\n" } },
]
[[subagents.turns]]
text = "Written."
"""
CHILD = RunId(f"{FAMILY}~1.2")


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Give a house in which a family rests: one of two subagents waits for a person."""

    home = Home(tmp_path)
    family(home)
    async with home.house() as house:
        await house.control.request(home.ask("fan"))
        assert await drive_one(house, FAMILY, asyncio.Event()) is Advanced.SUSPENDED
        yield house


async def test_the_beginning_of_an_id_means_the_run_and_not_its_subagents(house: House) -> None:
    assert (await house.control.find("fan")).run_id == FAMILY
    assert (await house.control.find("last")).run_id == FAMILY


@pytest.mark.parametrize("text", [CHILD, "last~1.2", "fan~1.2"])
async def test_a_subagent_is_found_by_its_call(house: House, text: str) -> None:
    assert (await house.control.find(text)).run_id == CHILD


async def test_the_beginning_of_a_subagents_id_must_mean_one(house: House) -> None:
    with pytest.raises(UnknownRunError, match="is the beginning of 2 runs' ids"):
        await house.control.find(f"{FAMILY}~1")


async def test_runs_are_listed_without_what_they_have_dispatched(house: House) -> None:
    listed = await house.control.runs(None, unfinished=False, limit=10)
    assert [row.run_id for row in listed] == [FAMILY]
    assert [(row.run_id, row.agent) for row in await house.control.family(FAMILY)] == [
        (f"{FAMILY}~1.1", "explorer"),
        (CHILD, "fixer"),
    ]
    assert await house.control.family(CHILD) == ()


async def test_a_call_that_waits_says_which_subagent_makes_it_and_for_whom(house: House) -> None:
    (asked,) = await house.control.approvals(open_only=True)
    assert (asked.run_id, asked.parent, asked.agent) == (CHILD, FAMILY, "fixer")


async def test_an_answer_to_a_run_whose_subagent_waits_names_the_call_that_does(house: House) -> None:
    said = Said(decision=Decision.ONCE, by="ada")
    for call_id in ("1.1", "9.9"):
        with pytest.raises(IllegalEventError, match=re.escape(f"; what waits in its subagents: {CHILD} 1.1")):
            await house.control.decide(FAMILY, CallId(call_id), said)
    with pytest.raises(IllegalEventError) as refused:
        await house.control.decide(RunId(f"{FAMILY}~1.1"), CallId("1.1"), said)
    assert "subagents" not in str(refused.value)


async def test_a_family_is_fetched_with_the_facts_of_each(house: House) -> None:
    kin = await kin_of(house.control, FAMILY)
    assert [state.run_id for state in kin.descendants] == [f"{FAMILY}~1.1", CHILD]
    assert set(kin.others) == {f"{FAMILY}~1.1", CHILD}


async def test_a_subagent_is_not_begun_again(house: House) -> None:
    with pytest.raises(IllegalEventError, match="only a run that nobody dispatched can be begun again"):
        await house.control.retry(RunId(f"{FAMILY}~1.1"), "ada")


async def test_the_session_of_a_subagent_is_not_gone_on_with(house: House) -> None:
    more = RunAsk(key="l", asked_at=at("07:00:00"), continues=RunId(f"{FAMILY}~1.1"), prompt="And now?")
    with pytest.raises(IllegalEventError, match="which is the one to go on with"):
        await house.control.request(more)


async def test_what_a_subagent_changed_is_settled_with_its_root(house: House) -> None:
    with pytest.raises(IllegalEventError, match="is settled with that run's changes"):
        await house.control.apply(RunId(f"{FAMILY}~1.1"), "ada", control=False, check=True)
    with pytest.raises(IllegalEventError, match="is settled with that run's changes"):
        await house.control.discard(RunId(f"{FAMILY}~1.1"), "ada")


async def test_what_subagents_wrote_is_shown_and_taken_back_with_their_run(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.job("fan", WRITES, DISPATCHES_A_WRITER)
    (home.workspace / "a").write_text("old\n")
    async with home.house() as house:
        await house.control.request(home.ask("fan"))
        assert await drive_one(house, FAMILY, asyncio.Event()) is Advanced.DONE
        assert (home.workspace / "a").read_text() == "of the run\n"
        shown = await house.control.diff(FAMILY)
        undone = await house.control.undo(FAMILY)

    assert "-old" in shown.splitlines()
    assert "+of the run" in shown.splitlines()
    assert "+of the subagent" in shown.splitlines()
    assert sorted(Path(path).name for path in undone.restored) == ["a", "b"]
    assert (home.workspace / "a").read_text() == "old\n"
    assert not (home.workspace / "b").exists()


async def test_the_sum_of_a_run_holds_what_its_subagents_have_used() -> None:
    journal, parent = MemoryJournal(), a_parent()
    child = its_child(parent).says(says("It is empty."))
    for story in (parent, child):
        state, _ = await journal.open(story.request)
        for event in story.events[1:]:
            state = await journal.append(state, event)
    nothing = cast("Any", None)
    answers = LocalAnswers(journal, journal, nothing, Bells(), nothing, nothing)

    async def calls(run_id: RunId) -> int:
        return (await answers.usage("run", "UTC", job=None, run_id=run_id, since=None)).total.calls

    assert (await calls(parent.run_id), await calls(child.run_id)) == (2, 1)
