"""Runs that no clock implies: when the service starts, and when other jobs have ended."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Outcome
from tests.scheduling.desks import HOURLY, Desk, at_each
from tests.support import at

AT_START = 'prompt = "Look."\nschedule.on = "startup"\n'


def after(*parents: str, more: str = "") -> str:
    """Return a job that waits for others."""
    return f'prompt = "Look."\nschedule.after = [{", ".join(parents)}]\n{more}'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    return Desk(directory)


async def ends(desk: Desk, started: str, ended: str, name: str = "nightly", outcome: Outcome = Outcome.DONE) -> None:
    """Have the run of an instant end at another."""
    desk.clock.instant = at(ended)
    await desk.finish(started, name, outcome=outcome)


async def test_a_job_runs_once_for_each_start_of_the_service(desk: Desk) -> None:
    desk.write(AT_START)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00.250000", "06:30:30", "07:00:00")
    await desk.finish("06:30:00")
    await at_each(desk, desk.scheduler(), "08:00:00", "09:00:00")

    assert await desk.rows() == ["06:30 ran", "08:00 ran"]
    assert await desk.runs() == ["nightly@20261201T063000Z", "nightly@20261201T080000Z"]


async def test_a_service_that_starts_over_and_over_runs_it_once(desk: Desk) -> None:
    desk.write(AT_START)
    for clock in ("06:30:00", "06:30:20", "06:31:10", "06:40:00"):
        await at_each(desk, desk.scheduler(), clock)
        if clock == "06:30:00":
            await desk.finish(clock)

    assert await desk.rows() == [
        "06:30 ran",
        "06:30 skipped (crash loop: the service had started 20s before)",
        "06:31 skipped (crash loop: the service had started 50s before)",
        "06:40 ran",
    ]


async def test_a_job_that_comes_after_the_start_waits_for_the_next(desk: Desk) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    desk.write(AT_START)
    await at_each(desk, scheduler, "06:40:00")
    assert await desk.rows() == []

    await at_each(desk, desk.scheduler(), "07:00:00")
    assert await desk.rows() == ["07:00 ran"]


async def test_a_start_at_which_the_job_cannot_be_opened_is_made_up_for(desk: Desk) -> None:
    desk.write(AT_START)
    desk.broken = {"nightly"}
    scheduler = desk.scheduler()
    desk.clock.instant = at("06:30:00")
    assert await scheduler.tick() == at("06:30:15")
    desk.broken = set()
    await at_each(desk, scheduler, "06:30:15", "06:30:30")

    assert await desk.rows() == ["06:30 ran"]


@pytest.mark.parametrize(
    ("on", "outcome", "runs"),
    [
        ("success", Outcome.DONE, True),
        ("success", Outcome.NOTHING_TO_REPORT, True),
        ("success", Outcome.BLOCKED, False),
        ("failure", Outcome.FAILED, True),
        ("failure", Outcome.DONE, False),
        ("any", Outcome.TIMED_OUT, True),
    ],
)
async def test_a_child_runs_once_when_its_parent_has_ended_as_wanted(
    desk: Desk, on: str, outcome: Outcome, runs: bool
) -> None:
    desk.write()
    desk.write(after(f'{{ job = "nightly", on = "{on}" }}'), name="child")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await ends(desk, "07:00:00", "07:05:00.500000", outcome=outcome)
    await at_each(desk, scheduler, "07:05:01", "07:05:02", "07:30:00")
    await at_each(desk, desk.scheduler(), "07:40:00")

    assert await desk.rows("child") == (["07:05 ran"] if runs else [])


async def test_a_child_is_given_what_came_of_its_parent(desk: Desk) -> None:
    desk.write()
    desk.write(after('{ job = "nightly", on = "any" }'), name="child")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await ends(desk, "07:00:00", "07:05:00", outcome=Outcome.FAILED)
    await at_each(desk, scheduler, "07:05:01")

    (row,) = await desk.journal.occurrences(JobName("child"))
    assert row.nominal_at == at("07:05:00")
    state = await desk.journal.load(RunId("child@20261201T070500Z"))
    assert state.request.inputs == {
        "parent": "nightly",
        "parent_run": "nightly@20261201T070000Z",
        "parent_outcome": "failed",
        "parent_answer": "Well.",
        "parent_tainted_by": "",
    }


async def test_a_child_that_waited_for_its_turn_is_given_what_came_of_its_own_parent(desk: Desk) -> None:
    desk.write()
    desk.write(after('{ job = "nightly" }', more='policy.overlap = "queue"\n'), name="child")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await ends(desk, "07:00:00", "07:05:00")
    await at_each(desk, scheduler, "07:05:01", "08:00:00")
    await ends(desk, "08:00:00", "08:05:00")
    await at_each(desk, scheduler, "08:05:01")
    assert await desk.rows("child") == ["07:05 ran", "08:05 pending"]

    await ends(desk, "07:05:00", "08:10:00", "child")
    await at_each(desk, scheduler, "08:10:01")
    assert await desk.rows("child") == ["07:05 ran", "08:05 ran"]
    state = await desk.journal.load(RunId("child@20261201T080500Z"))
    assert state.request.inputs["parent_run"] == "nightly@20261201T080000Z"


async def test_a_child_of_two_waits_for_both_and_uses_each_end_once(desk: Desk) -> None:
    desk.write(name="a")
    desk.write(name="b")
    desk.write(after('{ job = "a" }', '{ job = "b" }'), name="child")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await ends(desk, "07:00:00", "07:05:00", "a")
    await at_each(desk, scheduler, "07:05:01")
    assert await desk.rows("child") == []

    await ends(desk, "07:00:00", "07:10:00", "b")
    await at_each(desk, scheduler, "07:10:01", "08:00:00")
    assert await desk.rows("child") == ["07:10 ran"]
    await ends(desk, "07:10:00", "07:11:00", "child")
    await ends(desk, "08:00:00", "08:05:00", "a")
    await at_each(desk, desk.scheduler(), "08:05:01")
    assert await desk.rows("child") == ["07:10 ran"]


async def test_what_ended_while_nobody_served_is_caught_up_with_inside_its_window(desk: Desk) -> None:
    desk.write()
    desk.write(after('{ job = "nightly" }'), name="child")
    desk.write(after('{ job = "nightly", within = "1h" }'), name="hasty")
    desk.write(after('{ job = "nightly" }', more='policy.missed = "skip"\n'), name="strict")
    await at_each(desk, desk.scheduler(), "06:30:00", "07:00:00")
    await ends(desk, "07:00:00", "07:05:00")
    await at_each(desk, desk.scheduler(), "09:00:00")

    assert await desk.rows("child") == ["07:05 ran"]
    assert await desk.rows("hasty") == ["07:05 missed (expired)"]
    assert await desk.rows("strict") == ["07:05 missed (policy.missed = skip)"]


async def test_an_end_from_before_the_child_was_there_counts_for_nothing(desk: Desk) -> None:
    desk.write()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await ends(desk, "07:00:00", "07:05:00")
    desk.write(after('{ job = "nightly" }'), name="child")
    await at_each(desk, scheduler, "07:05:10")

    assert await desk.rows("child") == []


async def test_an_end_that_is_written_late_is_not_overlooked(desk: Desk) -> None:
    desk.write(HOURLY + 'policy.overlap = "allow"\n')
    desk.write(after('{ job = "nightly" }', more='policy.overlap = "allow"\n'), name="child")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00")
    await ends(desk, "08:00:00", "08:05:01")
    await at_each(desk, scheduler, "08:05:02")
    await ends(desk, "07:00:00", "08:05:00")
    await at_each(desk, scheduler, "08:05:03", "08:05:30")

    assert [row.nominal_at for row in await desk.journal.occurrences(JobName("child"))] == [
        at("08:05:01"),
        at("08:05:00"),
    ]
    assert await desk.rows("child") == ["08:05 ran", "08:05 ran"]


async def test_a_child_that_rests_skips_and_one_that_runs_meets_the_overlap_rule(desk: Desk) -> None:
    desk.write()
    desk.write(after('{ job = "nightly" }'), name="child")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await ends(desk, "07:00:00", "07:05:00")
    await at_each(desk, scheduler, "07:05:01", "08:00:00")
    await ends(desk, "08:00:00", "08:05:00")
    await at_each(desk, scheduler, "08:05:01")

    assert await desk.rows("child") == ["07:05 ran", "08:05 skipped (overlap)"]


async def test_a_parent_that_was_skipped_triggers_nothing(desk: Desk) -> None:
    desk.write()
    desk.write(after('{ job = "nightly", on = "any" }'), name="child")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00")
    await desk.mark("06:31:00", paused=True)
    await at_each(desk, scheduler, "07:00:00", "08:00:00")

    assert (await desk.rows("child"), len(await desk.rows())) == ([], 2)


async def test_a_chain_runs_to_its_end(desk: Desk) -> None:
    desk.write()
    for name, parent in (("b", "nightly"), ("c", "b")):
        desk.write(after(f'{{ job = "{parent}" }}'), name=name)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    await ends(desk, "07:00:00", "07:05:00")
    await at_each(desk, scheduler, "07:05:01")
    await ends(desk, "07:05:00", "07:06:00", "b")
    desk.clock.instant += timedelta(seconds=1)
    await scheduler.tick()

    assert await desk.rows("c") == ["07:06 ran"]
