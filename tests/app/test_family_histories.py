"""What is told of earlier runs: what parents answered, and nothing of what their children reported."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.core.ids import CallId, JobName, child_run_id, requested_run_id
from kova_auto.core.run import RunState
from tests.app.families import RUN, call, child, driven, leads, played, state_of, task, turn
from tests.app.houses import UNCONFINED, Home
from tests.support import at

AGAIN = requested_run_id(JobName("lead"), at("06:00:00"), "again")
ONE = played(
    [turn("", task()), turn("", call("TaskWait")), turn("The parent answers.")], child(turn("The child reports."))
)


def told(state: RunState) -> str:
    """Return everything that a run's model was told to begin with."""
    assert state.context
    return state.context.system + "".join(getattr(part, "text", "") for part in state.context.prompt)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


async def test_a_run_is_told_what_parents_answered_and_a_child_is_told_nothing(home: Home) -> None:
    leads(home, ONE, 'context.memory = ["job"]\n' + UNCONFINED)
    async with home.house() as house:
        await driven(house, home)
        await house.control.request(home.ask("lead", key="again"))
        await drive_one(house, AGAIN, asyncio.Event())
        second = await state_of(house, AGAIN)
        below = await state_of(house, child_run_id(AGAIN, CallId("1.1")))

    assert "The parent answers." in told(second)
    assert "The child reports." not in told(second)
    assert "The parent answers." not in told(below)
    assert "The child reports." not in told(below)
    assert RUN not in told(below)
