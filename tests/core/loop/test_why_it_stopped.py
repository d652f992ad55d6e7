"""Why a run has stopped, or what it waits for, as a sentence."""

from __future__ import annotations

from kova_auto.core.event import StopRequested
from kova_auto.core.job import Outcome
from kova_auto.core.loop.view import loop_view
from kova_auto.core.loop.why import why_it_stopped
from tests.story import Story
from tests.support import at, call, says


def test_it_says_why_it_stopped() -> None:
    begun = Story()
    stopping = StopRequested(at=at("06:01:00"), outcome=Outcome.CANCELLED, reason="enough", by="ada")
    cases = {
        "it goes on": begun.events[:2],
        "it has not begun": begun.events[:1],
        "the model asked for nothing more and gave its answer": Story().says(says("A.")).ends(answer="A.").events,
        "limits.tokens = 5 is reached": Story()
        .ends(Outcome.BUDGET_EXCEEDED, reason="limits.tokens = 5 is reached")
        .events,
        "it waits for a person: call 1.1 (change)": Story().says(says("", call("change"))).waits("1.1").events,
        "it asks the model again at 2026-12-01 06:01:00 UTC, because busy": Story()
        .fails("busy", at("06:01:00"))
        .events,
        "it asks for a summary of older iterations again at 2026-12-01 06:01:00 UTC, because busy": Story()
        .says(says("A."))
        .sums_up(then="busy", retry_at=at("06:01:00"))
        .events,
        "it is being ended as cancelled: enough": [*begun.events, stopping],
    }
    assert {loop_view(events).why: events for events in cases.values()} == cases


def test_the_reason_of_a_finished_run_comes_first() -> None:
    assert why_it_stopped(Story().ends(Outcome.DONE, reason="because").state) == "because"
