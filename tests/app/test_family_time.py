"""What a family may take: the time of children is their parent's, and the time of a person is nobody's."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.approval.levels import Decision
from kova_auto.core.event import ApprovalDecided
from kova_auto.core.ids import CallId, child_run_id
from kova_auto.core.job import Outcome
from kova_auto.core.limits import running_s
from kova_auto.engine.dispatch import Advanced
from tests.app.families import FIRST, RUN, Slow, asked, call, child, leads, played, state_of, task, turn
from tests.app.houses import Home
from tests.doubles.clock import HandClock

LIMIT = 'automation = "full"\n[limits]\ntimeout = "10m"\n[permissions]\nsandbox = "off"\n'
LOOKS = call("glob", pattern="*")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


async def test_a_parent_that_looks_after_its_child_now_and_then_has_run_as_long(home: Home) -> None:
    waits = turn("", call("TaskWait", timeout_s=100))
    slow = child(*[turn("", LOOKS)] * 3, turn("found it"))
    leads(home, played([turn("I send one.", task()), waits, waits, waits, turn("So."), turn("It was found.")], slow))
    clock = HandClock()
    async with home.house(clock) as house:
        await asked(house, home)
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED

        async def looks_up() -> None:
            assert await house.engine.advance(RUN) is Advanced.SUSPENDED

        glob = Slow(house, "glob", clock, 110.0, looks_up)
        assert await house.engine.advance(FIRST) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        state, ended = await state_of(house), await state_of(house, FIRST)

    assert glob.used == 3
    assert state.finished
    assert state.finished.outcome is Outcome.DONE
    assert ended.ran_s >= 330
    assert state.ran_s >= 330


async def test_a_child_has_no_more_time_than_its_parent_has_left(home: Home) -> None:
    script = [turn("", LOOKS), turn("I send one.", task()), turn("So."), turn("It was found.")]
    leads(home, played(script, child(turn("", LOOKS), turn("", LOOKS), turn("found it"))), LIMIT)
    clock = HandClock()
    async with home.house(clock) as house:
        Slow(house, "glob", clock, 240.0)
        await asked(house, home)
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED
        assert await house.engine.advance(child_run_id(RUN, CallId("2.1"))) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        state, ended = await state_of(house), await state_of(house, child_run_id(RUN, CallId("2.1")))

    assert ended.job.limits.timeout.total_seconds() == pytest.approx(360, abs=5)
    assert ended.finished
    assert ended.finished.outcome is Outcome.TIMED_OUT
    assert state.finished
    assert state.finished.outcome is Outcome.TIMED_OUT


@pytest.mark.parametrize("waits", [(), (turn("", call("TaskWait", timeout_s=3600)),)], ids=["unasked", "waiting"])
async def test_what_a_person_takes_to_answer_a_child_is_nobodys_time(
    home: Home, waits: tuple[dict[str, object]]
) -> None:
    writes = child(turn("", call("write", file_path="a.txt", content="a")), turn("written"))
    more = '[approval]\nwhen_needed = "suspend"\non_timeout = "keep"\n[limits]\ntimeout = "10m"\n'
    leads(home, played([turn("I send one.", task()), *waits, turn("So."), turn("It is written.")], writes), more)
    clock = HandClock()
    async with home.house(clock) as house:
        await asked(house, home)
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED
        assert await house.engine.advance(FIRST) is Advanced.SUSPENDED
        clock.later(50_000)
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED
        waiting = await state_of(house, FIRST)
        answer = ApprovalDecided(at=clock.now(), call_id=CallId("1.1"), decision=Decision.ONCE, by="ada")
        await house.store.journal.append(waiting, answer)
        clock.later(10)
        assert await house.engine.advance(FIRST) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        state = await state_of(house)

    assert state.finished
    assert state.finished.outcome is Outcome.DONE, state.finished.reason
    assert running_s(state, clock.now()) < 60


async def test_what_nobody_works_on_is_nobodys_time(home: Home) -> None:
    leads(home, played([turn("I send one.", task()), turn("So."), turn("Found.")], child(turn("found it"))), LIMIT)
    clock = HandClock()
    async with home.house(clock) as house:
        await asked(house, home)
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED
    clock.later(50_000)
    async with home.house(clock) as house:
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED
        assert await house.engine.advance(FIRST) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        state = await state_of(house)

    assert state.finished
    assert state.finished.outcome is Outcome.DONE, state.finished.reason
    assert running_s(state, clock.now()) < 60


async def test_children_that_worked_beside_one_another_before_each_asked_are_not_counted_one_by_one(home: Home) -> None:
    works = child(turn("", LOOKS), turn("", call("write", file_path="a.txt", content="a")), turn("written"))
    more = '[approval]\nwhen_needed = "suspend"\non_timeout = "keep"\n[limits]\ntimeout = "10m"\n'
    leads(home, played([turn("I send four.", *[task()] * 4), turn("So."), turn("It is written.")], works), more)
    children = [child_run_id(RUN, CallId(f"1.{number}")) for number in range(1, 5)]
    clock = HandClock()
    async with home.house(clock) as house:
        slow = Slow(house, "glob", clock, 0.0)
        await asked(house, home)
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED
        begun = clock.instant
        for run_id in children:  # All of them worked in the same four minutes.
            clock.instant, slow.seconds = begun, 240.0
            assert await house.engine.advance(run_id) is Advanced.SUSPENDED
        for run_id in children:
            clock.later(5_000)
            answer = ApprovalDecided(at=clock.now(), call_id=CallId("2.1"), decision=Decision.ONCE, by="ada")
            await house.store.journal.append(await state_of(house, run_id), answer)
            assert await house.engine.advance(run_id) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        state = await state_of(house)

    assert state.finished
    assert state.finished.outcome is Outcome.DONE, state.finished.reason
    assert 240 <= state.ran_s < 300


async def test_children_that_worked_one_after_the_other_are(home: Home) -> None:
    works = child(turn("", LOOKS), turn("found it"))
    leads(home, played([turn("I send two.", task(), task()), turn("So."), turn("Found.")], works))
    clock = HandClock()
    async with home.house(clock) as house:
        Slow(house, "glob", clock, 100.0)
        await asked(house, home)
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED
        for number in (1, 2):
            assert await house.engine.advance(child_run_id(RUN, CallId(f"1.{number}"))) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        state = await state_of(house)

    assert 200 <= state.ran_s < 230
