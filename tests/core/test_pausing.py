"""Which schedules rest: whatever was said last, by a person or by a run's end, holds."""

from __future__ import annotations

import pytest

from kova_auto.core.ids import JobName
from kova_auto.core.pausing import JobMark, Pause, pauses
from tests.support import at

NIGHTLY = JobName("nightly")
BY_RUN = Pause(job=NIGHTLY, at=at("06:00:00"), by="run nightly@1", reason="the key was refused")


def mark(clock: str, *, paused: bool) -> JobMark:
    """Return what a person said."""
    return JobMark(job=NIGHTLY, at=at(clock), paused=paused, by="ada", reason="because")


def by_ada(clock: str) -> Pause:
    """Return the pause that a person asked for."""
    return Pause(job=NIGHTLY, at=at(clock), by="ada", reason="because")


@pytest.mark.parametrize(
    ("said", "ended", "rests"),
    [
        ([], [], None),
        ([mark("05:00:00", paused=True)], [], by_ada("05:00:00")),
        ([mark("05:00:00", paused=False)], [], None),
        ([], [BY_RUN], BY_RUN),
        ([mark("05:00:00", paused=False)], [BY_RUN], BY_RUN),
        ([mark("05:00:00", paused=True)], [BY_RUN], BY_RUN),
        ([mark("06:00:00", paused=False)], [BY_RUN], None),
        ([mark("07:00:00", paused=False)], [BY_RUN], None),
        ([mark("07:00:00", paused=True)], [BY_RUN], by_ada("07:00:00")),
    ],
)
def test_what_was_said_last_holds(said: list[JobMark], ended: list[Pause], rests: Pause | None) -> None:
    assert pauses(said, ended) == ({NIGHTLY: rests} if rests else {})


def test_each_job_rests_by_itself() -> None:
    other = BY_RUN.model_copy(update={"job": JobName("weekly")})

    assert pauses([mark("07:00:00", paused=False)], [BY_RUN, other]) == {"weekly": other}
