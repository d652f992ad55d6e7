"""When an endpoint is left alone, when it is given up, and when it is tried again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from kova_auto.core.delivery.health import (
    Gate,
    Health,
    Standing,
    after_attempt,
    asked_for,
    enabled,
    paused,
    standing,
)
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, NextState
from kova_auto.core.ids import EndpointName
from kova_auto.core.owed import DeliveryStatus

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
FRESH = Health(endpoint=EndpointName("ci"))
Is = AttemptOutcome
WAITS = NextState(DeliveryStatus.WAITING, "why", NOW)


def failed(health: Health, at: datetime, outcome: AttemptOutcome = Is.SERVER_ERROR) -> Health:
    return after_attempt(health, AttemptResult(outcome, "500"), WAITS, at)


def failing(times: int, every: timedelta, health: Health = FRESH) -> Health:
    for number in range(times):
        health = failed(health, NOW + every * number)
    return health


def test_an_endpoint_that_nothing_is_known_of_may_be_sent_to() -> None:
    assert standing(FRESH, NOW) == Standing(Gate.OPEN)


@pytest.mark.parametrize(
    ("times", "every", "gate"),
    [
        (19, 2 * HOUR, Gate.OPEN),  # long enough, and too few
        (20, HOUR, Gate.OPEN),  # enough, in 19 hours
        (20, 2 * HOUR, Gate.DISABLED),
        (25, HOUR, Gate.DISABLED),  # the one that closes the 24 hours
        (24, HOUR, Gate.OPEN),
    ],
)
def test_an_endpoint_is_disabled_after_20_failures_in_24_hours_or_more(
    times: int, every: timedelta, gate: Gate
) -> None:
    assert standing(failing(times, every), NOW + every * times).gate is gate


def test_one_success_makes_up_for_all_that_failed() -> None:
    taken = after_attempt(failing(19, 2 * HOUR), AttemptResult(Is.DELIVERED, "200"), WAITS, NOW + 38 * HOUR)

    assert taken == Health(endpoint=FRESH.endpoint, last_success_at=NOW + 38 * HOUR)
    assert failed(taken, NOW + 40 * HOUR).disabled_at is None


@pytest.mark.parametrize("outcome", [Is.BAD_PAYLOAD, Is.EXPIRED])
def test_what_is_a_message_s_own_fault_is_none_of_the_endpoint(outcome: AttemptOutcome) -> None:
    assert failed(FRESH, NOW, outcome) == FRESH


def test_a_disabled_endpoint_says_why_and_is_probed_once_a_day() -> None:
    sick = failing(20, 2 * HOUR)
    when = NOW + 38 * HOUR

    assert sick.disabled_why == "20 attempts have failed since 2026-12-01 07:00 UTC, and none was good; the last: 500"
    assert standing(sick, when + 23 * HOUR) == Standing(
        Gate.DISABLED, when + 24 * HOUR, f"the endpoint is disabled since 2026-12-02 21:00 UTC: {sick.disabled_why}"
    )
    assert standing(sick, when + 24 * HOUR).gate is Gate.OPEN
    again = failed(sick, when + 24 * HOUR)
    assert (again.disabled_at, again.disabled_why) == (when, sick.disabled_why)
    assert standing(again, when + 47 * HOUR).gate is Gate.DISABLED
    assert standing(again, when + 48 * HOUR).gate is Gate.OPEN


def test_a_probe_that_is_taken_enables_it() -> None:
    sick = failing(20, 2 * HOUR)

    assert after_attempt(sick, AttemptResult(Is.DELIVERED, "200"), WAITS, NOW + 63 * HOUR).disabled_at is None


def test_an_endpoint_that_is_gone_for_good_is_disabled_at_once_and_never_probed() -> None:
    gone = after_attempt(
        FRESH,
        AttemptResult(Is.BAD_ENDPOINT, "410", permanent=True),
        NextState(DeliveryStatus.DEAD, "410", disable=True),
        NOW,
    )

    assert (gone.disabled_at, gone.gone, gone.disabled_why) == (NOW, True, "410")
    assert standing(gone, NOW + 1000 * HOUR).until is None
    assert standing(gone, NOW + 1000 * HOUR).gate is Gate.DISABLED


def test_an_endpoint_that_refused_three_times_is_disabled_and_probed() -> None:
    refused = after_attempt(
        FRESH, AttemptResult(Is.BAD_ENDPOINT, "404"), NextState(DeliveryStatus.DEAD, "404", disable=True), NOW
    )

    assert (refused.disabled_at, refused.probe_at) == (NOW, NOW + 24 * HOUR)


def test_a_pause_is_kept_says_why_and_is_never_shortened() -> None:
    slowed = after_attempt(
        FRESH,
        AttemptResult(Is.THROTTLED, "429"),
        NextState(DeliveryStatus.WAITING, "429; parked", NOW + HOUR, pause_until=NOW + HOUR),
        NOW,
    )

    assert standing(slowed, NOW) == Standing(
        Gate.PAUSED, NOW + HOUR, "the endpoint is paused until 2026-12-01 08:00:00 UTC: 429; parked"
    )
    assert paused(slowed, NOW + HOUR / 2, "less") == slowed
    assert standing(slowed, NOW + HOUR).gate is Gate.OPEN


def test_whoever_enables_it_has_looked_and_its_past_is_forgotten() -> None:
    assert enabled(failing(20, 2 * HOUR)) == FRESH


def test_what_a_person_asks_for_may_go_though_the_endpoint_is_disabled_or_paused() -> None:
    sick = paused(failing(20, 2 * HOUR), NOW + 100 * HOUR, "429")

    assert standing(asked_for(sick, NOW + 40 * HOUR), NOW + 40 * HOUR).gate is Gate.OPEN
    assert asked_for(sick, NOW).disabled_at == sick.disabled_at
    assert asked_for(paused(FRESH, NOW + HOUR, "429"), NOW) == FRESH
