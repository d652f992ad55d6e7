"""What is wrong with a job is said, but not over and over."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName
from kova_auto.scheduling.means import Grumbles
from tests.doubles.clock import HandClock


def fails(grumbles: Grumbles, clock: HandClock, error: Exception, name: str = "nightly") -> None:
    """Let something go wrong with a job."""
    with grumbles.about(JobName(name), clock.now()):
        raise error


def test_a_job_that_fails_all_the_time_is_heard_of_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    grumbles, clock = Grumbles(), HandClock()
    for _ in range(180):
        fails(grumbles, clock, ConfigError("no model"))
        clock.later(1)
    fails(grumbles, clock, ZeroDivisionError(), "other")

    assert len(caplog.messages) == 4
    assert caplog.messages[0] == "the schedule of nightly waits: no model"
    assert caplog.messages[-1] == "the schedule of other waits: a failure that nobody foresaw"


def test_what_is_no_failure_is_not_held_up() -> None:
    with pytest.raises(KeyboardInterrupt), Grumbles().about(JobName("nightly"), HandClock().now()):
        raise KeyboardInterrupt
