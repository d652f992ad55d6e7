"""Ending children: everything that they have started ends with them, soon, and their parents are told how it stands."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.event import CallFinished, CallStarted, StopRequested
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.state import Execution
from kova_auto.engine.dispatch import Advanced
from tests.app.families import (
    FIRST,
    RUN,
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

NAP = f"sleep 600{os.getpid()}"
STUBBORN = f"trap '' TERM INT HUP; (trap '' TERM INT HUP; {NAP} & wait; {NAP}) & echo yes > begun; {NAP}; {NAP}"
SEEN = (
    "while ! test -s begun; do sleep 0.05; done; sleep 0.2; "
    "for one in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $one; echo; done 2> /dev/null "
    f"| grep -c '^{NAP} ' > seen"
)
GRACE_S, TRIES = 1, 3
"""A machine that does much besides takes longer for everything, once in a while for one thing alone."""
ASKS = '[approval]\nwhen_needed = "suspend"\non_timeout = "keep"\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


def napping() -> list[str]:
    """Return the processes that sleep as this test has them sleep."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            said = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
            found += [entry.name] if said == NAP else []
    return found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked at in /proc")
@pytest.mark.parametrize("background", [False, True])
async def test_a_child_is_ended_with_everything_that_it_has_started_within_two_seconds(
    home: Home, background: bool
) -> None:
    times: list[tuple[float, float]] = []
    for number in range(TRIES):
        place = home.path / f"{number}"
        place.mkdir()
        took_s, plain_s = await _ends_its_child_in_s(Home(place), background=background)
        if took_s < max(2, GRACE_S + 10 * plain_s):
            return
        times.append((took_s, plain_s))
    pytest.fail(f"a child took so many seconds to end, and a command that does nothing: {times}")


async def _ends_its_child_in_s(home: Home, *, background: bool) -> tuple[float, float]:
    """Have a run end its child, and return how long that took, and how long a command that does nothing."""
    begins = call("bash", command=STUBBORN, **({"run_in_background": True} if background else {"timeout_s": 600}))
    lasts = [turn("", call("bash", command="sleep 600", timeout_s=600))] if background else []
    waits = call("bash", command=SEEN)
    leads(
        home,
        played(
            [
                turn("I send one.", task()),
                turn("", waits),
                turn("", call("TaskStop", task="1.1")),
                turn("", call("TaskWait", timeout_s=60)),
                turn("", call("bash", command="true")),
                turn("It was ended."),
            ],
            child(turn("", begins), *lasts, turn("never")),
        ),
    )
    async with home.house() as house:
        state = await driven(house, home)
        ended = await state_of(house, FIRST)
        left = napping()
        facts = [fact for _, fact in await house.store.journal.events(RUN)]
    assert ended.finished
    assert ended.stop
    assert ended.finished.outcome is Outcome.CANCELLED
    assert (int((home.workspace / "seen").read_text()), left) == (2, [])
    assert state.finished
    assert state.finished.outcome is Outcome.DONE
    assert "is being ended" in text_of(state, "3.1")
    assert "fixer: stopped]" in text_of(state, "4.1")
    begun, *_, done = [
        fact.at for fact in facts if isinstance(fact, CallStarted | CallFinished) and fact.call_id == "5.1"
    ]
    return (ended.finished.at - ended.stop.at).total_seconds(), (done - begun).total_seconds()


ASKING = child(turn("", call("write", file_path="a.txt", content="a")), turn("written"))
WAITS = turn("", call("TaskWait", timeout_s=3600))


@pytest.mark.parametrize("waits", [(), (WAITS,)], ids=["unasked", "waiting"])
async def test_whoever_ends_a_run_closes_what_its_child_has_asked_a_person(
    home: Home, waits: tuple[dict[str, object]]
) -> None:
    leads(home, played([turn("I send one.", task()), *waits, turn("So."), turn("never")], ASKING), ASKS)
    async with home.house() as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        assert await house.engine.advance(FIRST) is Advanced.SUSPENDED
        open_before = [row.run_id for row in await house.store.views.approvals()]
        row = await house.store.views.run(FIRST)
        await _stop(house, RUN)
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED
        assert await house.engine.advance(FIRST) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        open_after = [row.run_id for row in await house.store.views.approvals()]
        parent, ended = await state_of(house), await state_of(house, FIRST)

    assert open_before == [FIRST]
    assert row
    assert row.execution is Execution.SUSPENDED
    assert open_after == []
    assert parent.finished
    assert ended.finished
    assert (parent.finished.outcome, ended.finished.outcome) == (Outcome.CANCELLED, Outcome.CANCELLED)
    assert not (home.workspace / "a.txt").exists()


async def test_a_child_that_a_person_ends_is_reported_as_stopped(home: Home) -> None:
    leads(home, played([turn("I send one.", task()), WAITS, turn("It was ended.")], ASKING), ASKS)
    async with home.house() as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        await house.engine.advance(FIRST)
        await _stop(house, FIRST)
        assert await house.engine.advance(FIRST) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        state = await state_of(house)

    assert state.finished
    assert state.finished.outcome is Outcome.DONE
    assert text_of(state, "2.1").startswith(f"[{FIRST} fixer: stopped]\nenough")


async def test_a_child_whose_worker_died_is_reported_as_interrupted_where_the_job_wants_no_second_try(
    home: Home,
) -> None:
    more = 'automation = "full"\n[policy]\non_interrupt = "fail"\n[permissions]\nsandbox = "off"\n'
    leads(home, played([turn("I send one.", task()), WAITS, turn("It was cut off.")], child(turn("never"))), more)
    async with home.house() as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        await house.store.journal.acquire(FIRST, worker="dead", now=house.clock.now(), lease=timedelta(hours=1))
    async with home.house() as house:
        assert await drive_one(house, RUN, asyncio.Event()) is Advanced.DONE
        state, ended = await state_of(house), await state_of(house, FIRST)

    assert ended.finished
    assert ended.finished.outcome is Outcome.INTERRUPTED
    assert state.finished
    assert state.finished.outcome is Outcome.DONE
    assert f"[{FIRST} fixer: interrupted]" in text_of(state, "2.1")


async def test_a_run_that_ends_badly_ends_its_children_first(home: Home) -> None:
    refused = [turn("", *[call("read", file_path=f"/etc/shadow{number}")] * 3) for number in range(2)]
    leads(
        home,
        played([turn("I send one.", task()), *refused, turn("never")], ASKING),
        ASKS.replace('"suspend"', '"deny"'),
    )
    async with home.house() as house:
        state = await driven(house, home)
        ended = await state_of(house, FIRST)

    assert state.finished
    assert state.finished.outcome is Outcome.BLOCKED
    assert ended.finished
    assert ended.finished.at <= state.finished.at
    assert all(one.finished for one in state.children.values())


async def _stop(house: House, run_id: RunId) -> None:
    wish = StopRequested(at=house.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ada")
    await house.store.journal.append(await house.store.journal.load(run_id), wish)
    house.bells.asked(run_id)


async def test_a_further_attempt_begins_when_the_children_of_the_last_have_ended(home: Home) -> None:
    more = ASKS + '[policy]\nretry = { attempts = 1, on = ["failed"], initial = "1s" }\n'
    circles = [turn("", call("glob", pattern="*"))] * 12
    leads(home, played([turn("I send one.", task()), *circles], ASKING), more)
    clock = HandClock()
    async with home.house(clock) as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        waiting = await state_of(house)
        assert await house.engine.advance(FIRST) is Advanced.DONE
        await house.engine.advance(RUN)
        between = await state_of(house)
        clock.later(600)
        await house.engine.advance(RUN)
        second = next(child.run_id for child in (await state_of(house)).children.values() if child.run_id != FIRST)
        assert await house.engine.advance(second) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        state, rows = await state_of(house), await house.store.views.descendants(RUN)

    assert (waiting.attempt, between.attempt) == (1, 2)
    assert waiting.children[CallId("1.1")].asked_to_end
    assert state.finished
    assert state.finished.outcome is Outcome.FAILED
    assert [row.outcome for row in rows] == [Outcome.CANCELLED, Outcome.CANCELLED]
