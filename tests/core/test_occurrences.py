"""What becomes of the instants that fell due, as tables and against a model that walks them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from types import MappingProxyType
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.job import Policy
from kova_auto.core.ledger import OccurrenceStatus
from kova_auto.core.schedule.cron import parse_cron
from kova_auto.core.schedule.occurrences import SET_BACK, Due, Plan, plan
from kova_auto.core.schedule.overlap import Standing, gate
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.schedule.triggers import AtTrigger, CronTrigger, EveryTrigger, Trigger, next_fire
from tests.support import at

HOURLY = CronTrigger((parse_cron("0 * * * *"),), ZoneInfo("UTC"))
OFTEN = EveryTrigger(timedelta(seconds=5), at("00:00:00"))
ONCE = AtTrigger((at("06:00:00"),))
UTC_ZONE = ZoneInfo("UTC")
RAN, SKIPPED, MISSED = OccurrenceStatus.RAN, OccurrenceStatus.SKIPPED, OccurrenceStatus.MISSED


def planned(trigger: Trigger, cursor: datetime, now: datetime, policy: Policy, running: int = 0) -> Plan:
    """Return what becomes of the instants of a bare trigger while so many runs go on."""
    found = plan(Timetable("nightly", trigger, UTC_ZONE), cursor, now, policy)
    passed = gate(found.due, policy, Standing(running)).due
    return Plan(found.cursor, tuple(replace(item, due_at=None) for item in passed))


def a_plan(
    trigger: Trigger, cursor: str, now: str, policy: Mapping[str, object] = MappingProxyType({}), running: int = 0
) -> list[tuple[str, OccurrenceStatus, str, int]]:
    """Return what becomes of each instant or stretch: when it begins, its status, why, and how many it stands for."""
    found = planned(trigger, at(cursor), at(now), Policy.model_validate(policy), running)
    assert found.cursor == max(due.until_at or due.nominal_at for due in found.due)
    return [(f"{due.nominal_at:%H:%M}", due.status, due.why, due.count) for due in found.due]


@pytest.mark.parametrize("missed", ["skip", "latest", "all"])
@pytest.mark.parametrize("now", ["07:00:00", "07:00:30", "07:01:00"])
def test_an_instant_that_is_a_little_late_runs_whatever_is_said_of_misses(missed: str, now: str) -> None:
    assert a_plan(HOURLY, "06:00:00", now, {"missed": missed}) == [("07:00", RAN, "", 1)]


@pytest.mark.parametrize("now", ["06:00:00", "06:59:59.999999", "05:00:00"])
def test_nothing_is_due_before_its_time_nor_twice(now: str) -> None:
    assert planned(HOURLY, at("06:00:00"), at(now), Policy()) == Plan(at("06:00:00"))


LATE = "10:30:00"


@pytest.mark.parametrize(
    ("policy", "due"),
    [
        ({"missed": "skip"}, [("07:00", MISSED, "policy.missed = skip", 4)]),
        ({"missed": "latest"}, [("07:00", MISSED, "a later one runs", 3), ("10:00", RAN, "", 1)]),
        (
            {"missed": "all"},
            [("07:00", RAN, "", 1), *((clock, SKIPPED, "overlap", 1) for clock in ("08:00", "09:00", "10:00"))],
        ),
        (
            {"missed": "all", "overlap": "allow", "max_parallel": 9},
            [(clock, RAN, "", 1) for clock in ("07:00", "08:00", "09:00", "10:00")],
        ),
        (
            {"missed": "all", "overlap": "allow", "missed_max": 2},
            [("07:00", MISSED, "a later one runs", 2), ("09:00", RAN, "", 1), ("10:00", RAN, "", 1)],
        ),
        ({"missed": "latest", "missed_window": "29m"}, [("07:00", MISSED, "outside_window", 4)]),
        ({"missed": "latest", "missed_window": "0s"}, [("07:00", MISSED, "outside_window", 4)]),
        (
            {"missed": "latest", "missed_window": "30m"},
            [("07:00", MISSED, "a later one runs", 3), ("10:00", RAN, "", 1)],
        ),
        ({"missed": "all", "missed_window": "29m"}, [("07:00", MISSED, "outside_window", 4)]),
        (
            {"missed": "all", "missed_window": "90m", "overlap": "allow"},
            [("07:00", MISSED, "a later one runs", 2), ("09:00", RAN, "", 1), ("10:00", RAN, "", 1)],
        ),
        (
            {"missed": "skip", "start_deadline": "30m"},
            [("07:00", MISSED, "a later one runs", 3), ("10:00", RAN, "", 1)],
        ),
        ({"missed": "skip", "start_deadline": "29m"}, [("07:00", MISSED, "policy.missed = skip", 4)]),
        (
            {"missed": "all", "missed_window": "10m", "start_deadline": "30m"},
            [("07:00", MISSED, "a later one runs", 3), ("10:00", RAN, "", 1)],
        ),
    ],
)
def test_what_was_missed_is_settled_by_the_policy(
    policy: Mapping[str, object], due: list[tuple[str, OccurrenceStatus, str, int]]
) -> None:
    assert a_plan(HOURLY, "06:00:00", LATE, policy) == due


def test_a_stretch_says_where_it_ends() -> None:
    found = planned(HOURLY, at("06:00:00"), at(LATE), Policy())

    assert found == Plan(
        at("10:00:00"),
        (Due(at("07:00:00"), MISSED, "a later one runs", at("09:00:00"), 3), Due(at("10:00:00"), RAN)),
    )


def test_a_single_miss_is_no_stretch() -> None:
    assert planned(HOURLY, at("06:00:00"), at("08:30:00"), Policy()).due[0] == Due(
        at("07:00:00"), MISSED, "a later one runs"
    )


@pytest.mark.parametrize(
    ("running", "policy", "status"),
    [
        (0, {"overlap": "skip"}, RAN),
        (1, {"overlap": "skip"}, SKIPPED),
        (7, {"overlap": "skip"}, SKIPPED),
        (2, {"overlap": "allow"}, RAN),
        (3, {"overlap": "allow"}, SKIPPED),
        (3, {"overlap": "allow", "max_parallel": 4}, RAN),
        (1, {"overlap": "allow", "max_parallel": 1}, SKIPPED),
    ],
)
def test_a_run_that_goes_on_stands_in_the_way_of_the_next(
    running: int, policy: Mapping[str, object], status: OccurrenceStatus
) -> None:
    why = "overlap" if status is SKIPPED else ""

    assert a_plan(HOURLY, "06:00:00", "07:00:00", policy, running) == [("07:00", status, why, 1)]


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("06:00:00", [("06:00", RAN, "", 1)]),
        ("07:00:00", [("06:00", RAN, "", 1)]),
        ("07:00:01", [("06:00", MISSED, "outside_window", 1)]),
    ],
)
def test_a_single_instant_is_caught_up_with_for_an_hour(
    now: str, due: list[tuple[str, OccurrenceStatus, str, int]]
) -> None:
    assert a_plan(ONCE, "05:00:00", now) == due


MONTHS = at("06:00:01") + timedelta(days=100)


@pytest.mark.parametrize(
    ("policy", "runs", "missed"),
    [
        ({"missed": "skip", "start_deadline": "0s"}, [], 1000),
        ({"missed": "latest"}, ["06:00:00"], 1000),
        ({"missed": "all", "missed_max": 2, "overlap": "allow"}, ["05:59:55", "06:00:00"], 1000),
    ],
)
def test_a_backlog_of_months_is_one_row_counted_to_a_limit(
    policy: Mapping[str, object], runs: list[str], missed: int
) -> None:
    found = planned(OFTEN, at("06:00:00"), MONTHS, Policy.model_validate(policy))
    stretch, *others = found.due

    assert (stretch.status, stretch.nominal_at, stretch.count) == (MISSED, at("06:00:05"), missed)
    assert [f"{due.nominal_at:%H:%M:%S}" for due in others] == runs
    assert found.cursor == at("06:00:00") + timedelta(days=100)
    assert stretch.until_at == (others[0].nominal_at if others else found.cursor + timedelta(seconds=5)) - timedelta(
        seconds=5
    )


def test_no_miss_is_left_out_however_many_are_caught_up_with() -> None:
    policy = Policy(missed="all", missed_max=1000, overlap="allow", max_parallel=100)
    stretch, *others = planned(OFTEN, at("06:00:00"), MONTHS, policy).due

    assert (stretch.nominal_at, stretch.count, len(others)) == (at("06:00:05"), 1000, 1000)


def test_many_instants_close_together_and_long_ago_are_found_at_once() -> None:
    burst = CronTrigger((parse_cron("* * * 1 6 *"),), ZoneInfo("UTC"))  # every second of 1 June
    policy = Policy(missed="all", missed_window=timedelta(days=400), missed_max=3, overlap="allow")
    found = planned(burst, at("06:00:00") - timedelta(days=365), at("06:00:00"), policy)

    assert [f"{due.nominal_at:%m-%d %H:%M:%S}" for due in found.due] == [
        "06-01 00:00:00",
        "06-01 23:59:57",
        "06-01 23:59:58",
        "06-01 23:59:59",
    ]


def test_a_clock_that_is_set_back_a_little_changes_nothing() -> None:
    now = at("12:00:00") - SET_BACK

    assert planned(HOURLY, at("12:00:00"), now, Policy()) == Plan(at("12:00:00"))


def test_a_clock_that_was_far_ahead_and_is_set_right_begins_anew() -> None:
    now = at("12:00:00") - SET_BACK - timedelta(seconds=1)

    assert planned(HOURLY, at("12:00:00"), now, Policy()) == Plan(now)


POLICIES = st.builds(
    Policy,
    missed=st.sampled_from(["skip", "latest", "all"]),
    missed_window=st.none() | st.timedeltas(timedelta(0), timedelta(hours=12)),
    missed_max=st.integers(1, 6),
    overlap=st.sampled_from(["skip", "allow"]),
    max_parallel=st.integers(1, 4),
    start_deadline=st.none() | st.timedeltas(timedelta(0), timedelta(hours=2)),
)
TRIGGERS = st.sampled_from(
    [
        HOURLY,
        EveryTrigger(timedelta(minutes=7), at("00:00:30")),
        CronTrigger((parse_cron("*/20 3-8 * * *"), parse_cron("5 12 * * *")), ZoneInfo("Asia/Kolkata")),
        AtTrigger((at("06:00:00"), at("06:00:01"), at("11:30:00.000001"))),
    ]
)


@given(TRIGGERS, st.integers(0, 86_399), st.integers(0, 90_000), POLICIES, st.integers(0, 4))
@settings(deadline=None)
def test_every_instant_is_accounted_for_once(
    trigger: Trigger, begin: int, seconds: int, policy: Policy, running: int
) -> None:
    cursor = at("00:00:00") + timedelta(seconds=begin)
    now = cursor + timedelta(seconds=seconds)
    instants = walked(trigger, cursor, now)
    found = planned(trigger, cursor, now, policy, running)
    taken = [
        walked(trigger, due.nominal_at - timedelta(microseconds=1), due.until_at or due.nominal_at) for due in found.due
    ]

    assert [instant for stretch in taken for instant in stretch] == instants
    assert [len(stretch) for stretch in taken] == [due.count for due in found.due]
    assert found.cursor == (instants[-1] if instants else cursor)
    assert [due.nominal_at for due in found.due if due.status is not MISSED] == wanted(instants, now, policy, trigger)
    most = max(policy.max_parallel if policy.overlap == "allow" else 1, running)
    assert sum(due.runs for due in found.due) + running <= most


def walked(trigger: Trigger, after: datetime, until: datetime) -> list[datetime]:
    """Return the instants of a stretch, one after the other."""
    instants: list[datetime] = []
    while (following := next_fire(trigger, after)) and following <= until:
        instants.append(following)
        after = following
    return instants


def wanted(instants: list[datetime], now: datetime, policy: Policy, trigger: Trigger) -> list[datetime]:
    """Return the instants that are to run if nothing stands in their way, as the reference says it."""
    usual = timedelta(hours=1) if isinstance(trigger, AtTrigger) else timedelta(hours=24)
    window = usual if policy.missed_window is None else policy.missed_window
    deadline = timedelta(seconds=60) if policy.start_deadline is None else policy.start_deadline
    inside = [instant for instant in instants if now - instant <= window]
    caught_up = {"skip": [], "latest": inside[-1:], "all": inside[-policy.missed_max :]}[policy.missed]
    return caught_up or [instant for instant in instants[-1:] if now - instant <= deadline]
