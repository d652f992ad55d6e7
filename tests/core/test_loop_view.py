"""The Loop view: iterations, what each was trying to do, what came back, and why it stopped."""

from __future__ import annotations

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.event import StopRequested
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.loop_view import Iteration, LoopCall, LoopFailure, loop_view, why_it_stopped
from kova_auto.core.message import ModelReply, ResultStatus, Usage
from kova_auto.core.stop_reason import StopReason
from tests.story import Story
from tests.support import a_request, at, call, says


def test_an_iteration_is_of_the_model_that_replied() -> None:
    story = Story(model="one/big").fails("gone")
    story.model = "two/small"

    (iteration,) = loop_view(story.says(says("Well.")).events).iterations
    assert (iteration.model, len(iteration.failures)) == ("two/small", 1)


def test_an_iteration_tells_what_it_tried_and_what_came_back() -> None:
    story = Story().says(says("I look.", call("look", path="a"), call("change"))).does("1.1", "seen").refuses("1.2")
    assert loop_view(story.events).iterations == (
        Iteration(
            number=1,
            attempt=1,
            began_at=at("06:00:03"),
            took_s=6.0,
            model="m",
            intent="I look.",
            replied=True,
            tokens_in=10,
            cost_usd=0.001,
            calls=(
                LoopCall(
                    call_id=CallId("1.1"),
                    tool="look",
                    arguments={"path": "a"},
                    ruling=Ruling.ALLOW,
                    rule="test.allow",
                    status=ResultStatus.OK,
                    result="seen",
                ),
                LoopCall(
                    call_id=CallId("1.2"),
                    tool="change",
                    arguments={},
                    ruling=Ruling.DENY,
                    rule="test.deny",
                    status=ResultStatus.DENIED,
                    result="not allowed",
                ),
            ),
        ),
    )


def test_tries_that_gave_no_reply_belong_to_their_iteration() -> None:
    view = loop_view(Story().fails("busy", at("06:00:09")).says(says("Done.")).events)
    failure = LoopFailure(at=at("06:00:04"), error="ModelUnavailable", message="busy", retry_at=at("06:00:09"))
    assert [(found.number, found.failures, found.intent) for found in view.iterations] == [(1, (failure,), "Done.")]


def test_what_a_try_without_a_reply_used_is_in_its_iteration() -> None:
    story = Story().fails("broke off", usage=Usage(input_tokens=7, output_tokens=2, cost_usd=0.25))
    (iteration,) = loop_view(story.says(says("Done.", cost_usd=0.5)).events).iterations
    (failure,) = iteration.failures

    assert (failure.tokens, failure.cost_usd) == (9, 0.25)
    assert (iteration.tokens_in, iteration.tokens_out, iteration.cost_usd) == (17, 2, 0.75)


def test_an_iteration_with_a_price_that_is_not_known_has_no_cost() -> None:
    (iteration,) = loop_view(Story().says(says("Done.", cost_usd=None)).events).iterations

    assert (iteration.tokens_in, iteration.cost_usd) == (10, None)


def test_an_iteration_without_a_reply_yet_is_shown() -> None:
    (iteration,) = loop_view(Story().asks().events).iterations
    assert (iteration.replied, iteration.intent, iteration.calls) == (False, "", ())


def test_each_attempt_has_iterations_of_its_own() -> None:
    view = loop_view(Story().says(says("One.")).ends(answer="One.").again().says(says("Two.")).ends().events)
    assert [(found.attempt, found.number, found.intent) for found in view.iterations] == [
        (1, 1, "One."),
        (2, 2, "Two."),
    ]


def test_a_reply_without_words_is_told_by_its_thoughts_or_its_calls() -> None:
    thinks = ModelReply(text="", reasoning="Let me see.", stop=StopReason.TOOL_CALLS, calls=(call("look"),))
    acts = says("", call("look"), call("look"), call("change"))
    story = Story().says(thinks).does("1.1").says(acts)
    assert [found.intent for found in loop_view(story.events).iterations] == ["Let me see.", "calls look, change"]


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
        "it is being ended as cancelled: enough": [*begun.events, stopping],
    }
    assert {loop_view(events).why: events for events in cases.values()} == cases


def test_a_scripted_run_is_labelled() -> None:
    assert loop_view(Story(a_request(scripted=True)).events).scripted


def test_the_reason_of_a_finished_run_comes_first() -> None:
    assert why_it_stopped(Story().ends(Outcome.DONE, reason="because").state) == "because"
