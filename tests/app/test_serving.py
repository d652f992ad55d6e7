"""The loops of a service together: they go on past what breaks one run, and end together where one of them breaks."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.app.control import Listener
from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.app.serving import deliver_one, serve
from kova_auto.core.delivery.signature import parse_secret, spell_secret
from kova_auto.core.errors import JournalBusyError
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.ports import Views
from kova_auto.delivery.receiver import Receiver
from kova_auto.engine.dispatch import Advanced
from tests.app.houses import UNCONFINED, Home, id_of

SLEEPS = """
[[turns]]
text = "I sleep."
[[turns.calls]]
tool = "bash"
args = { command = "echo > asleep; sleep 600" }
[[turns]]
text = "Done."
"""


CHANGES = """
[[turns]]
text = "I change."
[[turns.calls]]
tool = "write"
args = { file_path = "made.txt", content = "made" }
[[turns]]
text = "Done."
"""
SPELLED = spell_secret(bytes(range(32)))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.job("look")
    return home


class Spoilt:
    """Be a house's views that fail in one question."""

    def __init__(self, views: Views, name: str, *failures: Exception) -> None:
        self._views, self._name, self._failures = views, name, list(failures)

    def __getattr__(self, name: str) -> object:
        return self._spoilt if name == self._name else getattr(self._views, name)

    async def _spoilt(self, *args: object, **named: object) -> object:
        if self._failures:
            raise self._failures.pop(0)
        return await getattr(self._views, self._name)(*args, **named)


def spoilt(house: House, name: str, *failures: Exception) -> House:
    views = Spoilt(house.store.views, name, *failures)
    return replace(house, store=replace(house.store, views=views))  # type: ignore[arg-type]  # it answers like them


async def test_a_run_that_is_asked_for_is_driven_to_its_end(home: Home) -> None:
    async with home.house() as house:
        stop = asyncio.Event()
        serving = asyncio.create_task(serve(house, stop))
        row = await house.control.request(home.ask("look"))
        while row.outcome is None:
            await house.control.events(row.run_id, 10**6, 1)
            row = await house.control.find(row.run_id)
        stop.set()
        await serving

    assert row.outcome == "done"


@pytest.mark.parametrize("question", ["agenda", "due_endpoints"])
async def test_a_loop_that_breaks_ends_the_service_with_its_error(home: Home, question: str) -> None:
    async with home.house() as whole:
        house = spoilt(whole, question, ZeroDivisionError())
        house.courier.views = house.store.views
        stop = asyncio.Event()
        with pytest.raises(ZeroDivisionError):
            await serve(house, stop)

    assert stop.is_set()


async def test_a_loop_that_breaks_does_not_wait_for_the_runs_under_way(home: Home) -> None:
    home.job("nap", UNCONFINED, SLEEPS)
    asleep = home.workspace / "asleep"
    os.mkfifo(asleep)
    async with home.house() as whole:
        house = spoilt(whole, "agenda")
        views = house.store.views
        stop = asyncio.Event()
        serving = asyncio.create_task(serve(house, stop))
        await house.control.request(home.ask("nap"))
        await asyncio.to_thread(asleep.read_bytes)
        views._failures.append(ZeroDivisionError())  # type: ignore[attr-defined]  # it is the spoilt one
        house.bells.work()
        with pytest.raises(ZeroDivisionError):
            await serving
        row = await house.control.find(id_of("nap"))

    assert row.execution == "running"
    assert not row.outcome


async def test_a_command_s_own_run_goes_on_where_the_database_did_not_answer(home: Home) -> None:
    home.job("change", '[approval]\nwhen_needed = "suspend"\n', CHANGES)
    async with home.house() as whole:
        house = spoilt(whole, "run", JournalBusyError("no answer"))
        await house.control.request(home.ask("change"))
        stop = asyncio.Event()
        asyncio.get_running_loop().call_later(0.05, stop.set)  # It waits a second, or for this.

        assert await drive_one(house, id_of("change"), stop) is Advanced.SUSPENDED
        row = await whole.store.views.run(id_of("change"))

    assert row is not None
    assert row.execution == "suspended"


async def test_a_command_s_own_deliveries_wait_for_a_database_that_did_not_answer(home: Home) -> None:
    async with home.house() as whole, Receiver((parse_secret(SPELLED),), whole.clock.now) as receiver:
        house = spoilt(whole, "due_deliveries", JournalBusyError("no answer"))
        house.courier.views = house.store.views
        listener = Listener(name="listen", url=receiver.url, secret=SPELLED)
        await house.control.request(home.ask("look", listener=listener))
        await drive_one(house, id_of("look"), asyncio.Event())
        await deliver_one(house, id_of("look"), patience=timedelta(seconds=20))
        received = await receiver.wait_for(1)

    assert [one.verified for one in received] == [True]


async def test_a_command_that_outlasts_its_run_s_time_is_ended_with_it(home: Home) -> None:
    home.job("nap", f'{UNCONFINED}[limits]\ntimeout = "4s"\n', SLEEPS)
    async with home.house() as house:
        await house.control.request(home.ask("nap"))
        assert await drive_one(house, id_of("nap"), asyncio.Event()) is Advanced.DONE
        state = await house.store.journal.load(id_of("nap"))

    assert state.finished is not None
    assert (state.finished.outcome, state.finished.reason) == (
        Outcome.TIMED_OUT,
        "its limit of 4s running time is reached",
    )
    assert [known.result.status for known in state.calls.values() if known.result] == [ResultStatus.UNKNOWN]
