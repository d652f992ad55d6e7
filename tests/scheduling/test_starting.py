"""A run that was opened and has not begun by its start deadline never begins: it is missed, as a row that waits is."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.event import RunAcquired, RunFinished, StopRequested
from kova_auto.core.ids import JobName, RunId, run_id
from kova_auto.core.job import Outcome
from kova_auto.core.ledger import OccurrenceStatus
from kova_auto.core.run import RunState
from kova_auto.core.starting import TOO_LATE
from kova_auto.scheduling.jobfiles import load_job
from tests.scheduling.desks import HOURLY, Desk, at_each
from tests.support import a_request, at

DEADLINE = HOURLY + 'policy.start_deadline = "10m"\n'
SEVEN = run_id(JobName("nightly"), at("07:00:00"))
MISSED = f"{TOO_LATE} (policy.start_deadline = 10m)"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    desk = Desk(directory)
    desk.write(DEADLINE)
    return desk


async def begin(desk: Desk, clock: str) -> None:
    """Have a worker take the run of seven o'clock."""
    state = await desk.journal.load(SEVEN)
    await desk.journal.append(state, RunAcquired(at=at(clock), epoch=1, worker="one"))


async def end(desk: Desk) -> tuple[str, str] | None:
    """Return how the run of seven o'clock has ended."""
    finished = (await desk.journal.load(SEVEN)).finished
    return (finished.outcome.value, finished.reason) if finished else None


async def test_a_run_that_no_slot_was_free_for_is_missed_at_its_deadline(desk: Desk) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    desk.clock.instant = at("07:10:00")
    look = await scheduler.tick()
    assert (await end(desk), await desk.rows()) == (None, ["07:00 ran"])
    assert look is not None
    assert at("07:10:00") < look < at("07:10:01")

    desk.clock.instant = look
    await scheduler.tick()
    assert (await end(desk), await desk.rows()) == (("cancelled", MISSED), ["07:00 missed (expired)"])
    assert desk.asked == [SEVEN]
    (row,) = await desk.journal.occurrences()
    assert (row.run_id, row.settled_at) == (SEVEN, look)


async def test_a_run_that_began_in_time_goes_on(desk: Desk) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await begin(desk, "07:10:00")
    await at_each(desk, scheduler, "07:11:00", "07:30:00")

    assert (await end(desk), await desk.rows()) == (None, ["07:00 ran"])


async def test_a_restart_makes_no_run_younger(desk: Desk) -> None:
    await at_each(desk, desk.scheduler(), "06:30:00", "07:00:00")
    await at_each(desk, desk.scheduler(), "07:10:01")

    assert (await end(desk), await desk.rows()) == (("cancelled", MISSED), ["07:00 missed (expired)"])


async def test_a_row_whose_run_had_just_ended_so_when_the_service_died_says_it_afterwards(desk: Desk) -> None:
    await at_each(desk, desk.scheduler(), "06:30:00", "07:00:00")
    ended = RunFinished(at=at("07:10:01"), outcome=Outcome.CANCELLED, reason=MISSED)
    await desk.journal.append(await desk.journal.load(SEVEN), ended)
    await at_each(desk, desk.scheduler(), "07:20:00")

    assert await desk.rows() == ["07:00 missed (expired)"]


async def test_a_worker_that_took_it_too_late_ends_it_and_the_row_says_so_then(desk: Desk) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await begin(desk, "07:10:01")
    await at_each(desk, scheduler, "07:10:02")
    assert (await end(desk), await desk.rows()) == (None, ["07:00 ran"])

    ended = RunFinished(at=at("07:10:03"), outcome=Outcome.CANCELLED, reason=MISSED)
    await desk.journal.append(await desk.journal.load(SEVEN), ended)
    await at_each(desk, scheduler, "07:10:08")
    assert await desk.rows() == ["07:00 missed (expired)"]


async def test_a_run_that_a_person_cancelled_while_it_waited_was_not_missed(desk: Desk) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    stop = StopRequested(at=at("07:05:00"), outcome=Outcome.CANCELLED, reason="enough", by="ada")
    state = await desk.journal.append(await desk.journal.load(SEVEN), stop)
    await at_each(desk, scheduler, "07:11:00")
    await finish(desk, state)
    await at_each(desk, scheduler, "07:12:00")

    assert (await end(desk), await desk.rows()) == (("cancelled", "enough"), ["07:00 ran"])


async def finish(desk: Desk, state: RunState) -> None:
    """Have the run end as it was asked to."""
    ended = RunFinished(at=desk.clock.now(), outcome=Outcome.CANCELLED, reason="enough")
    await desk.journal.append(state, ended)


async def test_what_is_caught_up_with_has_as_long_from_when_its_run_was_opened(desk: Desk) -> None:
    await at_each(desk, desk.scheduler(), "06:30:00")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "07:40:00", "07:50:00")
    assert (await end(desk), await desk.rows()) == (None, ["07:00 ran"])

    await at_each(desk, scheduler, "07:50:01")
    assert await desk.rows() == ["07:00 missed (expired)"]


async def test_a_run_that_somebody_asked_for_waits_for_as_long_as_it_takes(desk: Desk) -> None:
    asked = RunId("nightly+20261201T063000Z-1")
    await at_each(desk, desk.scheduler(), "06:30:00")
    job = load_job(desk.directory / "nightly.toml")
    now = at("06:30:00")
    await desk.journal.open(a_request(asked, job=job, at=now, nominal_at=now, due_at=now, origin="request"))
    await at_each(desk, desk.scheduler(), "06:50:00")

    assert (await desk.journal.load(asked)).finished is None


async def test_a_missed_start_uses_up_none_of_the_runs_that_a_job_may_have(desk: Desk) -> None:
    desk.write(DEADLINE + "policy.max_runs = 2\n")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "07:10:01")

    assert await desk.journal.ran(JobName("nightly")) == 0
    (row,) = await desk.journal.occurrences()
    assert row.status is OccurrenceStatus.MISSED


async def test_the_next_instant_runs_though_the_one_before_never_began(desk: Desk) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "07:10:01", "08:00:00")

    assert await desk.rows() == ["07:00 missed (expired)", "08:00 ran"]
