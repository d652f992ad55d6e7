"""Who hears of children: whoever their parent asks, of what they ask; of their ends nobody but their parent."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.app.control import Said
from kova_auto.app.house import House
from kova_auto.core.approval.levels import Decision
from kova_auto.core.delivery.trouble import endpoints_of
from kova_auto.core.event import DeliveryFinished, DeliveryStarted
from kova_auto.core.ids import CallId, child_run_id
from kova_auto.core.job import Outcome
from kova_auto.engine.dispatch import Advanced
from tests.app.families import FIRST, RUN, asked, call, child, driven, leads, played, state_of, task, turn
from tests.app.houses import Home

SETTINGS = "".join(
    f'[endpoints.{name}]\nurl = "https://{name}.example/"\nsecret = {{ env = "SECRET" }}\n' for name in ("desk", "ci")
)
ASKS = '[approval]\nwhen_needed = "suspend"\nnotify = ["desk"]\n[[notify]]\nendpoint = "ci"\n'
WRITES = child(turn("", call("write", file_path="a.txt", content="a")), turn("written"))
SCRIPT = played([turn("", task()), turn("", call("TaskWait")), turn("It is written.")], WRITES)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path.resolve(), {"SECRET": "whsec_" + "A" * 43 + "="})
    home.settings(SETTINGS)
    return home


async def test_what_a_child_asks_reaches_whoever_its_parent_asks(home: Home) -> None:
    leads(home, SCRIPT, ASKS)
    async with home.house() as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        assert await house.engine.advance(FIRST) is Advanced.SUSPENDED
        meanwhile = [(row.run_id, row.endpoint, row.cause) for row in await house.store.views.deliveries()]
        inbox = [(row.run_id, row.call_id) for row in await house.store.views.approvals()]
        await house.control.decide(FIRST, CallId("1.1"), Said(decision=Decision.ONCE, by="ada"))
        assert await house.engine.advance(FIRST) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        at_the_end = {(row.run_id, row.endpoint, row.cause) for row in await house.store.views.deliveries()}
        state = await state_of(house)

    assert inbox == [(FIRST, "1.1")]
    assert meanwhile == [(FIRST, "desk", "approval")]
    assert at_the_end == {(FIRST, "desk", "approval"), (RUN, "ci", "outcome")}
    assert (home.workspace / "a.txt").read_text() == "a"
    assert state.finished
    assert state.finished.outcome is Outcome.DONE


async def test_the_children_of_a_silent_parent_are_silent(home: Home) -> None:
    leads(home, SCRIPT)
    async with home.house() as house:
        state = await driven(house, home)
        owed = await house.store.views.deliveries()

    assert state.finished
    assert list(owed) == []


async def test_a_child_that_is_refused_reports_so_and_its_parent_goes_on(home: Home) -> None:
    leads(home, SCRIPT, ASKS)
    async with home.house() as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        await house.engine.advance(FIRST)
        await house.control.decide(FIRST, CallId("1.1"), Said(decision=Decision.DENY, by="ada", note="not that file"))
        assert await house.engine.advance(FIRST) is Advanced.DONE
        assert await house.engine.advance(RUN) is Advanced.DONE
        state, ended = await state_of(house), await state_of(house, FIRST)

    result = ended.call(CallId("1.1")).result
    assert result
    assert "not that file" in result.text
    assert state.finished
    assert state.finished.outcome is Outcome.DONE
    assert not (home.workspace / "a.txt").exists()


async def refused_by_the_desk(house: House) -> None:
    """Let the endpoint that a child's request goes to answer with an error."""
    state, now = await state_of(house, FIRST), house.clock.now()
    (key,) = state.deliveries
    state = await house.store.journal.append(state, DeliveryStarted(at=now, delivery_id=key, attempt=1))
    failed = DeliveryFinished(
        at=now, delivery_id=key, attempt=1, result="server_error", status="waiting", detail="HTTP 500"
    )
    await house.store.journal.append(state, failed)


@pytest.mark.parametrize(("more", "settled"), [("", Advanced.DONE), ('on_unreachable = "keep"\n', Advanced.SUSPENDED)])
async def test_where_a_childs_request_reaches_nobody_whoever_hears_of_its_parent_hears_of_it(
    home: Home, more: str, settled: Advanced
) -> None:
    leads(home, SCRIPT, ASKS.replace("[[notify]]", f"{more}[[notify]]"))
    async with home.house() as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        await house.engine.advance(FIRST)
        await refused_by_the_desk(house)
        assert await house.engine.advance(FIRST) is settled
        owed = [(row.run_id, row.endpoint, row.cause) for row in await house.store.views.deliveries()]
        below = await state_of(house, FIRST)

    assert sorted(owed) == [(FIRST, "ci", "unreached"), (FIRST, "desk", "approval")]
    assert set(endpoints_of(below)) == {"ci", "desk"}  # Who is told where one of them is in trouble.


async def test_a_child_of_a_child_that_reaches_nobody_has_the_same_way_out(home: Home) -> None:
    home.settings(f"{SETTINGS}[agents]\nmax_depth = 2\n")
    middle = child(turn("", task(what="below")), turn("", call("TaskWait")), turn("so it is"), expect="middle")
    below = child(turn("", call("write", file_path="a.txt", content="a")), turn("written"), expect="below")
    leads(home, played([turn("", task(what="middle")), turn("", call("TaskWait")), turn("Well.")], middle, below), ASKS)
    async with home.house() as house:
        await driven(house, home)
        lowest = await state_of(house, child_run_id(FIRST, CallId("1.1")))

    assert lowest.request.child_of
    assert lowest.request.child_of.notify == ("ci",)
