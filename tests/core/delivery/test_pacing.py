"""How fast a receiver is spoken to."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.delivery.pacing import PACES, Bucket, Pace, full, take
from kova_auto.core.delivery.target import FormatName

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
PACE = Pace(burst=4, every_s=2.0, reserved=1)


def sent_at(count: int, *, urgent: bool = False) -> list[float]:
    """Return when messages go that are all there at once, in seconds."""
    bucket, now, times = full(PACE, NOW), NOW, list[float]()
    for _ in range(3 * count):
        bucket, until = take(bucket, PACE, now, urgent=urgent, message=f"msg_{len(times)}")
        if until is None:
            times.append((now - NOW).total_seconds())
        else:
            now = until
    return times[:count]


def test_a_few_go_at_once_and_the_others_one_after_the_other_never_in_step() -> None:
    times = sent_at(200)
    gaps = {round(after - before, 3) for before, after in pairwise(times[3:])}

    assert times[:4] == [0, 0, 0, times[3]]
    assert times[3] > 0
    assert 197 * PACE.every_s <= times[-1] <= 197 * PACE.every_s * 1.4
    assert len(gaps) > 50


def test_what_somebody_waits_for_goes_though_results_have_spent_all_that_is_theirs() -> None:
    bucket = full(PACE, NOW)
    for number in range(3):
        bucket, _ = take(bucket, PACE, NOW, urgent=False, message=f"{number}")

    assert take(bucket, PACE, NOW, urgent=False, message="result")[1] is not None
    assert take(bucket, PACE, NOW, urgent=True, message="approval")[1] is None


def test_a_clock_that_is_set_back_fills_no_bucket() -> None:
    assert take(Bucket(0, NOW), PACE, NOW - timedelta(days=1), urgent=True, message="m")[1] is not None


@given(st.lists(st.tuples(st.floats(0, 10), st.booleans()), min_size=1, max_size=60))
def test_in_no_stretch_is_more_sent_than_the_burst_and_what_time_has_added(
    arrivals: list[tuple[float, bool]],
) -> None:
    bucket, now, gone = full(PACE, NOW), NOW, list[datetime]()
    for wait_s, urgent in arrivals:
        now += timedelta(seconds=wait_s)
        bucket, until = take(bucket, PACE, now, urgent=urgent, message="m")
        gone += [now] if until is None else []

    for first, start in enumerate(gone):
        for last, end in enumerate(gone[first:], first):
            allowed = PACE.burst + (end - start).total_seconds() / PACE.every_s
            assert last - first + 1 <= allowed + 1e-6


def test_every_pace_is_of_a_format_and_keeps_something_back() -> None:
    assert all(0 < pace.reserved < pace.burst for pace in PACES.values())
    assert PACES.keys() < {name.value for name in FormatName}
