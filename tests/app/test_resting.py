"""Pausing jobs and asking what was used: the same in the process that owns the database and over its socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from kova_auto.app.control import Control
from kova_auto.app.house import House
from kova_auto.app.remote import RemoteControl
from kova_auto.app.socket import listening
from kova_auto.core.errors import ConfigError
from kova_auto.core.event import RunFinished, RunRequested
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.pausing import Pause
from kova_auto.core.usage import Used
from tests.app.houses import Home
from tests.doubles.clock import HandClock
from tests.story import Story
from tests.support import a_request, at, says

NIGHTLY = JobName("nightly")
PAUSE = Pause(job=NIGHTLY, at=at("06:00:00"), by="ada", reason="the key is being changed")


@asynccontextmanager
async def asked(house: House, path: Path, *, over_socket: bool) -> AsyncIterator[Control]:
    """Give what answers: the house itself, or who is connected to it."""
    if not over_socket:
        yield house.control
        return
    async with listening(house.control, path):
        remote = await RemoteControl.connect(path)
        yield remote
        await remote.close()


over_socket = pytest.mark.parametrize("over_socket", [False, True])


@over_socket
async def test_a_job_is_paused_and_resumed(tmp_path: Path, over_socket: bool) -> None:
    async with AsyncExitStack() as stack:
        house = await stack.enter_async_context(Home(tmp_path).house(HandClock()))
        control = await stack.enter_async_context(asked(house, tmp_path / "s", over_socket=over_socket))
        assert await control.pauses() == ()
        assert await control.pause_job("nightly", "ada", "the key is being changed") == PAUSE
        assert await control.pauses() == (PAUSE,)
        assert await control.resume_job("nightly", "bob") == PAUSE
        assert await control.pauses() == ()
        assert await control.resume_job("nightly", "bob") is None


async def test_what_a_run_s_end_paused_is_resumed_whatever_the_clock_says(tmp_path: Path) -> None:
    clock = HandClock(at("06:00:00"))
    async with Home(tmp_path).house(clock) as house:
        state, _ = await house.store.journal.open(a_request("nightly@1"))
        end = RunFinished(at=at("07:00:00"), outcome=Outcome.FAILED, pauses="the key was refused")
        await house.store.journal.append(state, end)
        (rests,) = await house.control.pauses()
        await house.control.resume_job("nightly", "ada")

        assert rests == Pause(job=NIGHTLY, at=at("07:00:00"), by="run nightly@1", reason="the key was refused")
        assert await house.control.pauses() == ()


@over_socket
async def test_what_was_used_is_summed_up_where_the_journal_is(tmp_path: Path, over_socket: bool) -> None:
    async with Home(tmp_path).house(HandClock()) as house:
        for run_id in ("nightly@1", "weekly@1"):
            first, *rest = Story(a_request(run_id)).says(says("Done.", cost_usd=0.25)).ends().events
            assert isinstance(first, RunRequested)
            state, _ = await house.store.journal.open(first)
            for event in rest:
                state = await house.store.journal.append(state, event)
        async with asked(house, tmp_path / "s", over_socket=over_socket) as control:
            found = await control.usage("job", "UTC", job=None, run_id=None, since=None)
            of_one = await control.usage("day", "UTC", job="weekly", run_id=RunId("weekly@1"), since=at("06:00:00"))
            late = await control.usage("day", "UTC", job=None, run_id=None, since=at("07:00:00"))
            with pytest.raises(ConfigError, match="found 'week'"):
                await control.usage("week", "UTC", job=None, run_id=None, since=None)

    one = {"calls": 1, "input_tokens": 10, "cost_usd": 0.25}
    assert found.rows == tuple(Used.model_validate({"job": job, **one}) for job in ("nightly", "weekly"))
    assert (of_one.total, late.total) == (Used.model_validate(one), Used())
