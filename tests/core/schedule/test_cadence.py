"""Runs that take longer than their schedule leaves them are named, waiting and running apart."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kova_auto.core.ids import JobName
from kova_auto.core.job import Policy
from kova_auto.core.run import opened
from kova_auto.core.schedule.cadence import Cadence, cadence, shortest
from kova_auto.core.view import RunRow, run_row
from tests.core.schedule.timetables import timetable
from tests.support import a_request, at

EVERY_TEN_SECONDS = timetable("*/10 * * * * *", zone="UTC", job=JobName("nightly"))
NOW = at("07:00:00")


def ended(waited_s: int, ran_s: int, **changes: object) -> RunRow:
    """Return a run of half past six that has ended."""
    nominal = at("06:30:00")
    row = run_row(opened(a_request("nightly@1", nominal_at=nominal, due_at=nominal)))
    started = nominal + timedelta(seconds=waited_s)
    fields = {"origin": "schedule", "started_at": started, "finished_at": started + timedelta(seconds=ran_s)}
    return row.model_copy(update={**fields, **changes})


def test_a_run_of_25_seconds_on_a_schedule_of_10_loses_slots_however_green_it_is() -> None:
    found = cadence(EVERY_TEN_SECONDS, [ended(5, 25), ended(1, 24), ended(60, 26)], NOW)

    assert found == Cadence(timedelta(seconds=10), timedelta(seconds=25), timedelta(seconds=5), 3)
    assert found.overruns(Policy())
    assert found.said(Policy()) == (
        "its runs take 25s (median of 3) after 5s of waiting, and it is due every 10s: "
        "instants are skipped (policy.overlap = skip)"
    )


@pytest.mark.parametrize(
    ("ran_s", "policy", "overruns"),
    [
        (10, Policy(), False),
        (11, Policy(), True),
        (11, Policy(overlap="queue"), True),
        (25, Policy(overlap="allow", max_parallel=3), False),
        (31, Policy(overlap="allow", max_parallel=3), True),
    ],
)
def test_there_is_room_for_as_many_at_once_as_may_be(ran_s: int, policy: Policy, overruns: bool) -> None:
    found = cadence(EVERY_TEN_SECONDS, [ended(0, ran_s)] * 3, NOW)

    assert found is not None
    assert found.overruns(policy) is overruns


@pytest.mark.parametrize(
    "rows",
    [
        [ended(0, 25)] * 2,
        [ended(0, 25)] * 2 + [ended(0, 25, origin="request")],
        [ended(0, 25)] * 2 + [ended(0, 25, started_at=None)],
        [ended(0, 25)] * 2 + [ended(0, 25, finished_at=None)],
    ],
)
def test_of_few_runs_nothing_is_said(rows: list[RunRow]) -> None:
    assert cadence(EVERY_TEN_SECONDS, rows, NOW) is None


def test_the_shortest_time_between_the_next_instants_counts() -> None:
    assert shortest(timetable("0,20 * * * *", zone="UTC", job=JobName("a")), NOW) == timedelta(minutes=20)
    assert shortest(timetable("0 0 8 24 12 * 2026", zone="UTC", job=JobName("a")), NOW) is None
