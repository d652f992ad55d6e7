"""A run and its subagents in the terminal: what is shown of each, who is asked, what ends them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kova_auto.app.control import Said
from kova_auto.core.approval.levels import ApprovalLevel, Decision
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from tests.app.houses import Home
from tests.cli.families import FAMILY, MAY, Watcher, connection_to, family
from tests.cli.test_attending import Typing

EVERYWHERE = pytest.mark.parametrize("is_remote", [False, True], ids=["own", "service"])


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@EVERYWHERE
async def test_what_subagents_do_is_shown_beneath_their_names(home: Home, *, is_remote: bool) -> None:
    family(home, "ls", MAY)
    async with connection_to(home, is_remote=is_remote) as (connection, _):
        await connection.control.request(home.ask("fan"))
        watcher = Watcher(connection, FAMILY)
        assert await watcher.sees() == 0

    assert "  explorer 1.1 │   read file_path=NOTES.md  allow level.workspace-write.read_inside" in watcher.said
    assert any(line.startswith("  fixer 1.2 │     ok: NOTES.md") for line in watcher.said)
    assert any(line.startswith("explorer 1.1 (reading) done: It says nothing new.") for line in watcher.said)
    assert "· 2 subagents ·" in watcher.said[-1]
    assert "It ran: ok." in watcher.results.getvalue()
    assert not any("taken up again" in line for line in watcher.said)


@EVERYWHERE
async def test_a_run_whose_subagent_waits_for_a_person_says_whose_call_it_is_and_how_to_answer(
    home: Home, *, is_remote: bool
) -> None:
    family(home)
    async with connection_to(home, is_remote=is_remote) as (connection, _):
        await connection.control.request(home.ask("fan"))
        watcher = Watcher(connection, FAMILY)
        assert await watcher.sees() == 3

    assert any(line.startswith("    waits for ") and "fixer (running)" in line for line in watcher.said)
    assert watcher.said[-3:] == [
        "subagent fixer (running) waits for a person:",
        f"  kova-auto approvals allow {FAMILY}~1.2 1.1",
        f"  kova-auto approvals deny {FAMILY}~1.2 1.1",
    ]


@EVERYWHERE
async def test_who_attends_a_run_is_asked_about_the_calls_of_its_subagents(home: Home, *, is_remote: bool) -> None:
    family(home)
    async with connection_to(home, is_remote=is_remote) as (connection, house):
        await connection.control.request(home.ask("fan", level=ApprovalLevel.WORKSPACE_WRITE))
        watcher = Watcher(connection, FAMILY, Typing(["n  not today"]))
        assert await watcher.sees() == 0
        child = await house.store.journal.load(RunId(f"{FAMILY}~1.2"))

    assert f"asked by: subagent fixer (running), run {FAMILY}~1.2" in watcher.said
    assert f"dispatched by: run {FAMILY} of fan" in watcher.said
    decision = child.call(CallId("1.1")).decision
    assert decision is not None
    assert (decision.decision, decision.note) == (Decision.DENY, "not today")
    assert "It ran: denied." in watcher.results.getvalue()


@EVERYWHERE
async def test_the_first_ctrl_c_ends_the_run_and_its_subagents(home: Home, *, is_remote: bool) -> None:
    family(home, "echo > asleep; sleep 600", f'automation = "full"\n{MAY.partition(chr(10))[2]}')
    async with connection_to(home, is_remote=is_remote) as (connection, house):
        await connection.control.request(home.ask("fan"))
        watcher = Watcher(connection, FAMILY)
        seeing = asyncio.create_task(watcher.sees())
        await watcher.notes.holds("bash command=echo > asleep")
        watcher.through.presses.press()
        assert await seeing == 130
        left = await house.store.views.descendants(FAMILY)

    assert "ends 1 subagent first: interrupted in the terminal" in watcher.said
    assert [row.outcome for row in left] == [Outcome.DONE, Outcome.CANCELLED]


async def test_ctrl_c_ends_a_family_at_once_whose_subagent_has_the_only_slot(home: Home) -> None:
    home.settings("max_concurrent_runs = 1\n")
    family(home, "sleep 600", f'automation = "full"\n{MAY.partition(chr(10))[2]}')
    async with connection_to(home, is_remote=True) as (connection, house):
        await connection.control.request(home.ask("fan"))
        watcher = Watcher(connection, FAMILY)
        seeing = asyncio.create_task(watcher.sees())
        await watcher.notes.holds("bash command=sleep 600")
        watcher.through.presses.press()
        async with asyncio.timeout(60):
            assert await seeing == 130
        left = await house.store.views.descendants(FAMILY)

    assert [row.outcome for row in left] == [Outcome.DONE, Outcome.CANCELLED]


async def test_an_answer_for_a_subagent_lets_the_whole_family_go_on(home: Home) -> None:
    family(home)
    async with connection_to(home, is_remote=False) as (connection, _):
        await connection.control.request(home.ask("fan"))
        assert await Watcher(connection, FAMILY).sees() == 3
        said = Said(decision=Decision.ONCE, by="ada")
        await connection.control.decide(RunId(f"{FAMILY}~1.2"), CallId("1.1"), said)
        watcher = Watcher(connection, FAMILY)
        assert await watcher.sees() == 0

    assert "It ran: ok." in watcher.results.getvalue()


async def test_what_was_there_is_taken_in_as_it_happened_whoever_comes_late(home: Home) -> None:
    family(home, "ls", MAY)
    async with connection_to(home, is_remote=False) as (connection, _):
        await connection.control.request(home.ask("fan"))
        await Watcher(connection, FAMILY).sees()
        late = Watcher(connection, FAMILY)
        await late.through.catch_up(is_shown=True)

    assert _place(late.said, "  fixer 1.2 │ iteration 2") < _place(late.said, "fixer 1.2 (running) done")
    assert late.said[-1].startswith("done · ")


def _place(lines: list[str], begin: str) -> int:
    return next(number for number, line in enumerate(lines) if line.startswith(begin))
