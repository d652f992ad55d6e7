"""A run that dispatches children lasts as long as they do, says one thing at the end, and leaves none behind."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.app.control import Listener
from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.app.serving import deliver_one
from kova_auto.clock import SystemClock
from kova_auto.core.delivery.signature import parse_secret, spell_secret
from kova_auto.core.event import ModelCallStarted, StopRequested
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.state import Execution
from kova_auto.delivery.receiver import Receiver
from kova_auto.engine.dispatch import Advanced
from tests.app.families import FIRST, RUN, SECOND, Slow, asked, call, child, driven, leads, played, state_of, task, turn
from tests.app.houses import Home
from tests.doubles.clock import HandClock

SPELLED = spell_secret(bytes(range(32)))
LOOKS = child(turn("", call("glob", pattern="*")), turn("found it"))
TWO = played(
    [
        turn("I send two.", task(what="left"), task("explorer", what="right")),
        turn("I think that I am done."),
        turn("Both said what they found."),
    ],
    child(turn("left it is")),
    child(turn("right it is"), agent="explorer"),
)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


@pytest.mark.parametrize("waits", [(), (turn("", call("TaskWait", timeout_s=600)),)], ids=["unasked", "waiting"])
async def test_a_run_whose_child_works_three_minutes_runs_as_long(home: Home, waits: tuple[dict[str, object]]) -> None:
    leads(home, played([turn("I send one.", task()), *waits, turn("So."), turn("It was found.")], LOOKS))
    clock = HandClock()
    async with home.house(clock) as house:
        slow = Slow(house, "glob", clock, 180.0)
        await asked(house, home)
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED
        meanwhile = await house.store.views.run(RUN)
        assert await house.engine.advance(FIRST) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        state, row = await state_of(house), await house.store.views.run(RUN)

    assert meanwhile
    assert meanwhile.execution is Execution.RUNNING
    assert meanwhile.outcome is None
    assert slow.used == 1
    assert row
    assert state.finished
    assert state.started_at
    assert state.finished.outcome is Outcome.DONE
    assert state.finished.at - state.started_at >= timedelta(seconds=180)
    assert state.ran_s >= 180


async def test_what_two_children_found_is_told_once_in_the_answer_of_their_parent(home: Home) -> None:
    leads(home, TWO)
    async with Receiver([parse_secret(SPELLED)], SystemClock().now) as receiver, home.house() as house:
        state = await driven(house, home, listener=Listener(name="hear", url=receiver.url, secret=SPELLED))
        await deliver_one(house, RUN, patience=timedelta(seconds=20))
        first, second = await state_of(house, FIRST), await state_of(house, SECOND)
        owed = await house.store.views.deliveries()

    assert len(receiver.received) == 1
    assert b"Both said what they found." in receiver.received[0].body
    assert [row.run_id for row in owed] == [RUN]
    assert state.finished
    assert first.finished
    assert second.finished
    assert max(first.finished.at, second.finished.at) <= state.finished.at


async def test_a_run_whose_children_all_succeeded_has_succeeded(home: Home) -> None:
    leads(home, TWO)
    async with home.house() as house:
        state = await driven(house, home)
        rows = await house.store.views.descendants(RUN)

    assert state.finished
    assert (state.finished.outcome, state.finished.partial) == (Outcome.DONE, False)
    assert [row.outcome for row in rows] == [Outcome.DONE, Outcome.DONE]


async def test_nobody_asks_a_model_any_more_once_a_family_has_ended(home: Home) -> None:
    leads(home, TWO)
    clock = HandClock()
    async with home.house(clock) as house:
        await driven(house, home)
        asked_before = await _asked(house)
        for _ in range(10):
            clock.later(60)
            ready = (await house.store.views.agenda(clock.now())).ready
            assert list(ready) == []
            for run_id in (RUN, FIRST, SECOND):
                assert await house.engine.advance(run_id) is Advanced.DONE
        assert await _asked(house) == asked_before


async def test_whoever_ends_a_run_ends_its_children_and_no_model_is_asked_any_more(home: Home) -> None:
    forever = child(turn("", call("bash", command="touch begun; sleep 600", timeout_s=600)), turn("never"))
    leads(home, played([turn("I send one.", task()), turn("", call("TaskWait")), turn("Never said.")], forever))
    async with home.house() as house:
        await asked(house, home)
        driving = asyncio.create_task(drive_one(house, RUN, asyncio.Event()))
        async with asyncio.timeout(60):
            while not (home.workspace / "begun").exists():  # noqa: ASYNC110  # another process makes it
                await asyncio.sleep(0.02)
        await _stop(house, RUN)
        assert await driving is Advanced.DONE
        parent, ended = await state_of(house), await state_of(house, FIRST)
        asked_before = await _asked(house)
        for run_id in (RUN, FIRST):
            assert await house.engine.advance(run_id) is Advanced.DONE
        assert await _asked(house) == asked_before

    assert parent.finished
    assert ended.finished
    assert (parent.finished.outcome, ended.finished.outcome) == (Outcome.CANCELLED, Outcome.CANCELLED)
    assert ended.finished.at <= parent.finished.at


async def _stop(house: House, run_id: RunId) -> None:
    wish = StopRequested(at=house.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ada")
    await house.store.journal.append(await house.store.journal.load(run_id), wish)
    house.bells.asked(run_id)


async def _asked(house: House) -> int:
    """Return how often the family has asked a model."""
    rows = await house.store.views.descendants(RUN)
    facts = [
        fact for run_id in (RUN, *(row.run_id for row in rows)) for fact in await house.store.journal.events(run_id)
    ]
    return sum(isinstance(fact, ModelCallStarted) for _, fact in facts)
