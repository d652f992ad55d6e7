"""Schedules know nothing of children, which have their parents' jobs: they are in no rule's way, and start nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.dispatching import Dispatch, child_of
from kova_auto.core.event import RunFinished
from kova_auto.core.ids import CallId, RunId, run_id
from kova_auto.core.job import Outcome
from tests.ports.families import AGENT
from tests.scheduling.desks import HOURLY, NIGHTLY, Desk, at_each
from tests.scheduling.test_triggering import after
from tests.support import at


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    return Desk(directory)


async def dispatches(desk: Desk, clock: str, call: str = "1.1") -> RunId:
    """Open a child of the run of an instant."""
    parent = await desk.journal.load(run_id(NIGHTLY, at(clock)))
    state, _ = await desk.journal.open(child_of(parent, Dispatch(CallId(call), AGENT, "mend"), desk.clock.now()))
    return state.run_id


async def child_ends(desk: Desk, child: RunId, outcome: Outcome = Outcome.DONE) -> None:
    end = RunFinished(at=desk.clock.now(), outcome=outcome, answer="mended" if outcome is Outcome.DONE else "")
    await desk.journal.append(await desk.journal.load(child), end)


async def test_the_end_of_a_child_triggers_nothing(desk: Desk) -> None:
    desk.write()
    desk.write(after('{ job = "nightly", on = "any" }'), name="next")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    desk.clock.instant = at("07:05:00")
    await child_ends(desk, await dispatches(desk, "07:00:00"))
    await at_each(desk, scheduler, "07:05:01", "07:06:00")
    assert await desk.rows("next") == []
    desk.clock.instant = at("07:10:00")
    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "07:10:01", "07:11:00")
    assert await desk.rows("next") == ["07:10 ran"]


@pytest.mark.parametrize("overlap", ["skip", "queue", "allow", "buffer_one", "cancel_previous"])
async def test_a_child_that_was_left_open_is_in_no_run_s_way(desk: Desk, overlap: str) -> None:
    desk.write(HOURLY + f'policy.overlap = "{overlap}"\n')
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await desk.begin("07:00:00")
    child = await dispatches(desk, "07:00:00")
    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "08:00:00")

    assert await desk.rows() == ["07:00 ran", "08:00 ran"]
    assert (await desk.journal.load(child)).stop is None


async def test_children_do_not_count_as_runs_of_their_job(desk: Desk) -> None:
    desk.write(HOURLY + "policy.max_runs = 2\n")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    for number in range(1, 4):
        await child_ends(desk, await dispatches(desk, "07:00:00", f"1.{number}"), Outcome.FAILED)
    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "08:00:00", "09:00:00")
    await desk.finish("08:00:00")
    await at_each(desk, scheduler, "10:00:00")

    assert [row for row in await desk.rows() if row.endswith(" ran")] == ["07:00 ran", "08:00 ran"]


async def test_the_end_of_a_child_is_no_run_that_came_late(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    child = await dispatches(desk, "07:00:00")
    row = await desk.journal.run(child)
    assert row
    assert (row.nominal_at, row.origin) == (None, "parent")
