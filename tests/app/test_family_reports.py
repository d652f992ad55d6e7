"""What a parent is told of its children: by waiting for them, or because it would end otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import ModelCallStarted
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState
from kova_auto.engine.dispatch import Advanced
from tests.app.families import (
    FIRST,
    RUN,
    SECOND,
    Found,
    asked,
    call,
    child,
    driven,
    leads,
    played,
    state_of,
    task,
    text_of,
    turn,
)
from tests.app.houses import Home
from tests.doubles.clock import HandClock

DONE = turn("Done.")
LEFT, RIGHT = child(turn("left it is"), expect="left"), child(turn("right it is"), expect="right")
TWO = turn("", task(what="left"), task(what="right"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


def waits(**args: object) -> dict[str, object]:
    return turn("", call("TaskWait", **args))


async def one_ends(home: Home, *args: dict[str, object], more: float = 0.0) -> RunState:
    """Return a parent of two that waits in these ways, one after the other, of which the first has ended."""
    leads(home, played([TWO, *[waits(**one) for one in args], turn("So."), DONE], LEFT, RIGHT))
    clock = HandClock()
    async with home.house(clock) as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        await house.engine.advance(FIRST)
        clock.later(more)
        await house.engine.advance(RUN)
        return await state_of(house)


async def test_waiting_for_any_returns_with_the_first(home: Home) -> None:
    state = await one_ends(home, {"mode": "any"})
    assert text_of(state, "2.1") == f"[{FIRST} fixer: completed]\nleft it is\n\n[{SECOND} fixer: running]"
    assert state.children[CallId("1.1")].is_told
    assert not state.children[CallId("1.2")].is_told


async def test_waiting_for_at_least_one_is_waiting_for_any(home: Home) -> None:
    state = await one_ends(home, {"at_least": 1})
    assert "left it is" in text_of(state, "2.1")


@pytest.mark.parametrize("args", [{}, {"mode": "all"}, {"at_least": 2}, {"at_least": 9}, {"tasks": [SECOND]}])
async def test_waiting_for_more_goes_on(home: Home, args: dict[str, object]) -> None:
    state = await one_ends(home, args)
    assert state.call(CallId("2.1")).result is None
    assert state.call(CallId("2.1")).started is None


async def test_waiting_for_one_by_name_does_not_wait_for_the_other(home: Home) -> None:
    state = await one_ends(home, {"tasks": [FIRST]})
    assert text_of(state, "2.1") == f"[{FIRST} fixer: completed]\nleft it is"


async def test_that_the_time_is_over_is_a_result_like_any_other(home: Home) -> None:
    state = await one_ends(home, {"timeout_s": 60}, more=61)
    result = state.call(CallId("2.1")).result
    assert result
    assert result.status is ResultStatus.OK
    assert f"[{SECOND} fixer: running]" in result.text


async def test_waiting_no_time_at_all_looks_how_they_are(home: Home) -> None:
    state = await one_ends(home, {"timeout_s": 0})
    assert state.call(CallId("2.1")).result


async def test_what_was_told_is_told_again_where_it_is_asked_for_by_name_and_not_otherwise(home: Home) -> None:
    state = await one_ends(home, {"mode": "any"}, {"tasks": [FIRST]}, {"mode": "any", "timeout_s": 0})
    assert "left it is" in text_of(state, "3.1")
    assert text_of(state, "4.1") == f"[{SECOND} fixer: running]"


async def test_nobody_is_left_to_wait_for(home: Home) -> None:
    leads(home, played([TWO, waits(), waits(), turn("", call("TaskList")), DONE], LEFT, RIGHT))
    async with home.house() as house:
        state = await driven(house, home)
    assert text_of(state, "3.1") == "There is nobody to wait for: every report was given to you already."
    assert text_of(state, "4.1") == f"{FIRST} fixer: completed\n{SECOND} fixer: completed"


async def test_whoever_waits_in_vain_for_a_child_that_waits_for_a_person_is_told_to_end_its_turn(home: Home) -> None:
    writes = child(turn("", call("write", file_path="a.txt", content="a")), turn("never"), expect="left")
    asks = '[approval]\nwhen_needed = "suspend"\n'
    leads(home, played([TWO, waits(timeout_s=60), turn("So."), DONE], writes, RIGHT), asks)
    clock = HandClock()
    async with home.house(clock) as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        await house.engine.advance(FIRST)
        await house.engine.advance(SECOND)
        clock.later(61)
        await house.engine.advance(RUN)
        state = await state_of(house)

    first, second, advice = text_of(state, "2.1").split("\n\n")
    assert first == f"[{FIRST} fixer: waits for a person]"
    assert second.startswith(f"[{SECOND} fixer: completed]")
    assert advice.startswith("A person may take hours to answer.")
    assert state.finished is None


async def test_a_list_says_of_each_what_it_does_and_how_far_it_has_come(home: Home) -> None:
    writes = child(turn("", call("write", file_path="a.txt", content="a")), turn("never"), expect="left")
    lists, asks = turn("", call("TaskList")), '[approval]\nwhen_needed = "suspend"\n'
    leads(home, played([TWO, waits(timeout_s=60), lists, turn("So."), DONE], writes, RIGHT), asks)
    clock = HandClock()
    async with home.house(clock) as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        assert await house.engine.advance(FIRST) is Advanced.SUSPENDED
        clock.later(61)
        await house.engine.advance(RUN)
        state = await state_of(house)

    assert text_of(state, "3.1").splitlines() == [
        f"{FIRST} fixer: waits for a person, 1 reply, 1 call",
        f"{SECOND} fixer: queued, 0 replies, 0 calls",
    ]


async def test_an_id_that_is_none_is_an_error_that_names_those_there_are(home: Home) -> None:
    ends = turn("", call("TaskStop", task="9.9"))
    leads(home, played([TWO, waits(tasks=["9.9"]), ends, waits(), DONE], LEFT, RIGHT))
    async with home.house() as house:
        state = await driven(house, home)
    for call_id in ("2.1", "3.1"):
        assert text_of(state, call_id).endswith(f"no subagent 9.9; there are: {FIRST}, {SECOND}")
    assert state.finished
    assert state.finished.outcome is Outcome.DONE


async def test_a_long_report_is_told_head_and_tail(home: Home) -> None:
    long = "head" + "x" * 15_000 + "tail"
    leads(home, played([turn("", task()), waits(), DONE], child(turn(long))))
    async with home.house() as house:
        state = await driven(house, home)
        whole = await state_of(house, FIRST)

    text = text_of(state, "2.1")
    assert len(text) < 12_200
    assert "headxxx" in text
    assert text.endswith("xxxtail")
    assert "characters left out" in text
    assert whole.finished
    assert whole.finished.answer == long


@pytest.mark.parametrize(
    ("turns", "outcome", "status"),
    [
        ([turn("", call("report_failure", reason="it burns")), turn("It burns.")], Outcome.DONE, "completed"),
        ([turn(" "), turn(" ")], Outcome.FAILED, "failed"),
        ([turn("Shall I go on?")], Outcome.NEEDS_INPUT, "failed"),
        ([turn("", call("read", file_path="a.txt"))] * 9, Outcome.FAILED, "failed"),
        ([{"text": "", "stop": "refused", "calls": []}], Outcome.FAILED, "failed"),
    ],
    ids=["says that it failed", "says nothing", "asks", "goes in circles", "refuses"],
)
async def test_a_child_that_ends_badly_is_a_report_and_no_failure_of_its_parent(
    home: Home, turns: list[dict[str, object]], outcome: Outcome, status: str
) -> None:
    leads(home, played([turn("", task()), waits(), DONE], child(*turns)))
    async with home.house() as house:
        state = await driven(house, home)
        ended = await state_of(house, FIRST)

    assert ended.finished
    assert ended.finished.outcome is outcome
    assert text_of(state, "2.1").startswith(f"[{FIRST} fixer: {status}]")
    assert state.finished
    assert state.finished.outcome is Outcome.DONE


async def test_what_was_not_waited_for_is_told_before_the_end_once(home: Home) -> None:
    leads(home, played([TWO, turn("I am done."), DONE], LEFT, RIGHT))
    async with home.house() as house:
        state = await driven(house, home)
        facts = await house.store.journal.events(RUN)

    told = [text for _, fact in facts if isinstance(fact, ModelCallStarted) for text in fact.asides]
    assert len(told) == 1
    assert "left it is" in told[0]
    assert "right it is" in told[0]
    assert all(one.is_told for one in state.children.values())
    assert state.finished
    assert state.finished.answer == "Done."


@pytest.mark.parametrize("asks", [True, False], ids=["by waiting", "at the end"])
async def test_what_a_child_has_read_goes_up_with_its_report(home: Home, asks: bool) -> None:
    leads(
        home,
        played(
            [turn("", task()), *([waits()] if asks else [turn("So.")]), DONE],
            child(turn("", call("glob", pattern="*")), turn("so it is")),
        ),
    )
    async with home.house() as house:
        await asked(house, home)
        Found(house, "glob", "a page of c.example")
        await house.engine.advance(RUN)
        assert await house.engine.advance(FIRST) is Advanced.DONE
        between = await state_of(house)
        await house.engine.advance(RUN)
        state = await state_of(house)

    assert between.tainted_by == ""
    assert "c.example" in state.tainted_by


async def test_a_person_tries_a_parent_again_and_its_children_are_others(home: Home) -> None:
    leads(home, played([TWO, waits(), DONE], LEFT, RIGHT))
    async with home.house() as house:
        await driven(house, home)
        await house.control.retry(RUN, by="ada")
        state = await driven(house, home)
        rows = await house.store.views.descendants(RUN)

    assert state.attempt == 2
    assert state.finished
    assert state.finished.outcome is Outcome.DONE
    assert len(rows) == 4
    assert len(state.children) == 4


async def test_a_child_is_not_tried_again_without_its_parent(home: Home) -> None:
    leads(home, played([TWO, waits(), DONE], LEFT, RIGHT))
    async with home.house() as house:
        await driven(house, home)
        with pytest.raises(IllegalEventError, match="only a run that nobody dispatched"):
            await house.control.retry(FIRST, by="ada")
