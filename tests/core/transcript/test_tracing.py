"""A run as spans: what lies in what, what failed, and what waited."""

from __future__ import annotations

import pytest

from kova_auto.core.event import CompactionStarted, ContextCompacted
from kova_auto.core.job import Outcome
from kova_auto.core.message import Usage
from kova_auto.core.transcript.span import Span
from kova_auto.core.transcript.tracing import LOST, spans_of
from tests.core.transcript.scenes import eventful, lost
from tests.story import Story
from tests.support import at, call, says


def tree(story: Story) -> list[str]:
    return [f"{span.parent.name if span.parent else ''} > {span.name}" for span in spans_of(story.events)]


def only(story: Story, kind: str) -> Span:
    (span,) = (span for span in spans_of(story.events) if span.kind == kind)
    return span


def test_calls_lie_in_their_iteration_and_iterations_in_the_run() -> None:
    assert tree(eventful()) == [
        " > invoke_agent nightly",
        "invoke_agent nightly > iteration 1",
        "iteration 1 > chat claude",
        "iteration 1 > wait to ask again",
        "iteration 1 > chat claude",
        "iteration 1 > execute_tool look",
        "iteration 1 > execute_tool change",
        "invoke_agent nightly > iteration 2",
        "iteration 2 > chat claude",
    ]


def test_no_span_is_outside_its_parent_or_ends_before_it_begins() -> None:
    for story in (eventful(), lost(), Story(), Story().says(says("One.")).ends().again().says(says("Two."))):
        for span in spans_of(story.events):
            assert span.ended_at is not None
            assert span.began_at <= span.ended_at
            if span.parent:
                assert span.parent.ended_at is not None
                assert span.parent.began_at <= span.began_at
                assert span.ended_at <= span.parent.ended_at
            assert all(span.began_at <= moment.at <= span.ended_at for moment in span.moments)


def test_calls_that_ran_at_the_same_time_overlap() -> None:
    story = Story().says(says("I look.", call("read", path="a"), call("grep", pattern="b"))).does_together("1.1", "1.2")
    first, second = (span for span in spans_of(story.events) if span.kind == "tool")
    assert first.ended_at
    assert second.ended_at
    assert first.began_at < second.began_at < second.ended_at < first.ended_at


def test_a_call_of_a_model_has_what_the_conventions_name() -> None:
    story = Story(model="gemini/flash").says(says("Done."))
    story.events[-1] = story.events[-1].model_copy(update={"first_at": at("06:00:04")})
    assert only(story, "chat").attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "flash",
        "gen_ai.request.stream": True,
        "gen_ai.response.finish_reasons": ["end"],
        "gen_ai.response.model": "test/model",
        "gen_ai.response.time_to_first_chunk": 1.0,
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 0,
        "gen_ai.usage.cache_read.input_tokens": 0,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "gen_ai.usage.reasoning.output_tokens": 0,
        "kova.cost_usd": 0.001,
    }


def test_a_call_that_failed_is_an_error_with_what_it_used_and_the_wait_is_a_span() -> None:
    spans = spans_of(eventful().events)
    failed, answered = (span for span in spans if span.kind == "chat" and span.parent is spans[1])
    (wait,) = (span for span in spans if span.kind == "retry")

    assert (failed.error, failed.attributes["error.type"]) == ("busy", "ModelUnavailable")
    assert failed.attributes["gen_ai.usage.input_tokens"] == 7
    assert answered.error is None
    assert (wait.began_at, wait.ended_at) == (failed.ended_at, answered.began_at)
    assert wait.attributes == {"kova.retry.attempt": 1, "kova.retry.reason": "ModelUnavailable"}


def test_waiting_for_a_person_is_a_moment_of_its_call() -> None:
    (span,) = (span for span in spans_of(eventful().events) if span.name == "execute_tool change")
    assert [(moment.name, moment.attributes) for moment in span.moments] == [
        ("kova.approval.requested", {}),
        ("kova.approval.decided", {"kova.approval.decision": "once", "kova.approval.by": "ada"}),
        ("kova.call.started", {}),
    ]
    assert (span.attributes["kova.verdict"], span.attributes["kova.status"], span.error) == ("ask", "ok", None)


def test_a_refused_call_is_no_error() -> None:
    span = only(Story().says(says("", call("change"))).refuses("1.1"), "tool")
    assert (span.error, span.attributes["kova.verdict"], span.attributes["kova.status"]) == (None, "deny", "denied")


def test_what_was_lost_with_its_process_says_so() -> None:
    spans = spans_of(lost().events)
    assert [span.error for span in spans if span.kind == "chat"] == [LOST, None]
    assert [span.error for span in spans if span.kind == "tool"] == ["the call ended as unknown"]
    assert [moment.name for moment in spans[0].moments] == ["kova.taken_up"] * 2


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (Outcome.DONE, None),
        (Outcome.NOTHING_TO_REPORT, None),
        (Outcome.CANCELLED, None),
        (Outcome.NEEDS_INPUT, None),
        (Outcome.FAILED, "because"),
        (Outcome.TIMED_OUT, "because"),
        (Outcome.BLOCKED, "because"),
        (Outcome.CONTRACT_FAILED, "because"),
    ],
)
def test_a_run_is_an_error_where_it_came_to_no_good_end_that_somebody_wanted(
    outcome: Outcome, error: str | None
) -> None:
    span = only(Story().ends(outcome, reason="because"), "run")
    assert (span.error, span.attributes["kova.outcome"]) == (error, outcome)
    assert ("error.type" in span.attributes) is (error is not None)


def test_an_attempt_that_was_begun_anew_is_not_its_error() -> None:
    story = Story().ends(Outcome.FAILED, reason="because").again().says(says("Two.")).ends(answer="Two.")
    run = only(story, "run")
    assert (run.error, run.ended_at) == (None, story.state.finished_at)


def test_a_summary_is_a_call_of_a_model_for_another_purpose() -> None:
    story = Story().says(says("One."))
    asked = {"iteration": 1, "through": 1, "model": "a/b", "reason": "threshold", "tokens": 9, "request_hash": "h"}
    story.events.append(CompactionStarted.model_validate({"at": story.later(), **asked}))
    folded = {"iteration": 1, "through": 1, "summary": "So far.", "strategy": "summary", "reason": "threshold"}
    used = {"tokens_before": 9, "tokens_after": 3, "model": "a/b", "usage": Usage(input_tokens=5)}
    story.events.append(ContextCompacted.model_validate({"at": story.later(), **folded, **used}))
    *_, span = spans_of(story.events)
    assert (span.name, span.attributes["kova.purpose"], span.attributes["gen_ai.usage.input_tokens"]) == (
        "chat b",
        "compaction",
        5,
    )
    assert span.parent is not None
    assert span.parent.kind == "run"
