"""The ceilings of a run, and how much of its time is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import pytest

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.event import Event
from kova_auto.core.job import Outcome
from kova_auto.core.limits import Reached, always, left_s, running_s
from kova_auto.core.message import ResultStatus
from tests.core.facts import (
    SECOND,
    acquired,
    answered,
    asked,
    asks_for,
    assembled,
    begun,
    broke,
    calling,
    decided,
    ended,
    judged,
    result,
    retried,
    run_of,
)
from tests.support import a_job, at, says

ANSWERED_LATE = decided(Decision.ONCE).model_copy(update={"at": at("18:00:00")})


@pytest.mark.parametrize(
    ("facts", "now", "seconds"),
    [
        pytest.param([], "09:00:00", 0.0, id="queued"),
        pytest.param([acquired()], "06:00:07", 5.0, id="at work"),
        pytest.param([acquired()], "05:00:00", 0.0, id="the clock was set back"),
        pytest.param([acquired(), assembled(at("06:00:05"))], "06:00:07", 2.0, id="at work since its last fact"),
        pytest.param([acquired()], "06:05:02", 300.0, id="making what it works in"),
        pytest.param([acquired(), assembled(at("06:05:02"))], "06:05:03", 1.0, id="what it works in is made"),
        pytest.param(
            [acquired(), assembled(at("06:00:05")), calling(), acquired(2, when=at("09:00:00"))],
            "09:00:01",
            1.0,
            id="its first worker died",
        ),
        pytest.param([*asks_for("bash"), judged(Ruling.ASK), asked()], "09:00:00", 0.0, id="waiting for a person"),
        pytest.param(
            [*asks_for("bash"), judged(Ruling.ASK), asked(), ANSWERED_LATE],
            "18:00:03",
            3.0,
            id="going on since the person's answer",
        ),
        pytest.param([*begun(), *broke(retry_at=at("09:00:00"))], "08:00:00", 0.0, id="waiting for the model"),
        pytest.param([*begun(), *broke(retry_at=at("09:00:00"))], "09:00:03", 3.0, id="since the model may be asked"),
        pytest.param([*begun(), *broke(), calling()], "06:00:05", 3.0, id="asking the model again"),
        pytest.param([*begun(), *answered(says("Hm.")), ended(), retried()], "09:00:00", 0.0, id="another attempt"),
    ],
)
def test_running_time_is_the_time_under_a_worker(facts: Sequence[Event], now: str, seconds: float) -> None:
    assert running_s(run_of(facts), at(now)) == seconds


@pytest.mark.parametrize(
    ("now", "left"), [("06:00:02", 60.0), ("06:01:01.500000", 0.5), ("06:01:02", 0.0), ("23:00:00", 0.0)]
)
def test_what_is_left_ends_at_zero(now: str, left: float) -> None:
    assert left_s(run_of(acquired(), job=a_job(limits={"timeout": "1m"})), at(now)) == left


REFUSALS = [
    *asks_for("a", "b", "c"),
    *(judged(Ruling.DENY), result(ResultStatus.DENIED)),
    *(judged(Ruling.DENY, SECOND), result(ResultStatus.DENIED, SECOND)),
]
TIMED_OUT = Reached(Outcome.TIMED_OUT, "its limit of 1m running time is reached")
BLOCKED = Reached(Outcome.BLOCKED, "2 calls were refused (limits.denials = 2)")


@pytest.mark.parametrize(
    ("limits", "now", "reached"),
    [
        ({}, at("06:00:02"), None),
        ({"timeout": "1m"}, at("06:01:01.999999"), None),
        ({"timeout": "1m"}, at("06:01:02"), TIMED_OUT),
        ({"denials": 3}, at("06:00:02"), None),
        ({"denials": 2}, at("06:00:02"), BLOCKED),
        ({"denials": 1}, at("06:00:02"), Reached(Outcome.BLOCKED, "2 calls were refused (limits.denials = 1)")),
        ({"timeout": "1m", "denials": 2}, at("06:01:02"), TIMED_OUT),
    ],
)
def test_time_and_refusals_end_a_run_whatever_it_does(
    limits: Mapping[str, object], now: datetime, reached: Reached | None
) -> None:
    assert always(run_of(REFUSALS, job=a_job(limits=limits)), now) == reached


@pytest.mark.parametrize("status", [ResultStatus.ERROR, ResultStatus.UNKNOWN, ResultStatus.CANCELLED])
def test_only_a_refusal_counts_as_one(status: ResultStatus) -> None:
    state = run_of(asks_for("bash"), result(status), job=a_job(limits={"denials": 1}))

    assert always(state, at("06:00:02")) is None


@pytest.mark.parametrize(
    ("required", "reached"),
    [
        (("write",), None),
        (("bash", "write"), Reached(Outcome.BLOCKED, "a call of bash was refused (limits.required_tools)")),
    ],
)
def test_a_job_is_blocked_by_one_refusal_of_what_it_cannot_do_without(
    required: tuple[str, ...], reached: Reached | None
) -> None:
    facts = [*asks_for("bash"), judged(Ruling.DENY), result(ResultStatus.DENIED)]

    assert always(run_of(facts, job=a_job(limits={"required_tools": required})), at("06:00:02")) == reached
