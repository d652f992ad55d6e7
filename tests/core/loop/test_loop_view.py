"""The Loop view: iterations, what each was trying to do, what came back, and why it stopped."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.errors import ConfigError
from kova_auto.core.event import CallFinished, CallStarted, ClockMoved, ModelCallStarted, RunAcquired, StopRequested
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.loop.values import InterludeKind, Iteration, LoopApproval, LoopCall, LoopFailure
from kova_auto.core.loop.view import loop_view, narrowed
from kova_auto.core.message import ModelReply, ResultStatus, Usage, told
from kova_auto.core.stop_reason import StopReason
from tests.story import Story
from tests.support import a_request, at, call, ok, says


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
            stop=StopReason.TOOL_CALLS,
            context_tokens=10,
            tokens_in=10,
            cost_usd=0.001,
            calls=(
                LoopCall(
                    call_id=CallId("1.1"),
                    tool="look",
                    arguments={"path": "a"},
                    ruling=Ruling.ALLOW,
                    reason="because",
                    rule="test.allow",
                    took_s=1.0,
                    status=ResultStatus.OK,
                    result="seen",
                ),
                LoopCall(
                    call_id=CallId("1.2"),
                    tool="change",
                    arguments={},
                    ruling=Ruling.DENY,
                    reason="because",
                    rule="test.deny",
                    status=ResultStatus.DENIED,
                    result="not allowed",
                ),
            ),
        ),
    )


def test_calls_that_ran_at_the_same_time_are_shown_beside_each_other() -> None:
    reply = says("I look.", call("read", path="a"), call("grep", pattern="b"), call("change"), call("glob"))
    (iteration,) = loop_view(Story().says(reply).does_together("1.1", "1.2").does("1.3").does("1.4").events).iterations
    assert [call.beside for call in iteration.calls] == [("1.2",), ("1.1",), (), ()]
    assert [call.took_s for call in iteration.calls] == [2.0, 1.0, 1.0, 1.0]


def test_a_call_that_was_begun_anew_is_beside_nothing_that_was_before() -> None:
    story = Story().says(says("I look.", call("read", path="a"), call("grep", pattern="b"))).does_together("1.1", "1.2")
    del story.events[-1]
    story.events.append(RunAcquired(at=story.later(), epoch=2, worker="two", lease_broken=True))
    again = story.starts_again("1.1").events
    again.append(CallFinished(at=story.later(), call_id=CallId("1.1"), result=ok()))
    view = loop_view(story.events)
    assert [call.beside for call in view.iterations[0].calls] == [(), ("1.1",)]
    assert view.interludes[-1].text == (
        "the process that had the run was lost during call 1.1 (read); it was taken up again"
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


def test_a_scripted_run_is_labelled() -> None:
    assert loop_view(Story(a_request(scripted=True)).events).scripted


def test_the_context_is_what_the_provider_counted_and_else_our_estimate() -> None:
    story = Story().says(says("I look.", call("look"))).does("1.1").says(replace_usage(says("Done."), Usage()))
    counted, estimated = loop_view(story.events).iterations

    assert (counted.context_tokens, counted.context_estimated) == (10, False)
    assert estimated.context_estimated
    assert estimated.context_tokens > 10


def test_what_a_cache_served_is_told_apart() -> None:
    story = Story().fails(usage=Usage(input_tokens=7, cache_read_tokens=5))
    story.says(replace_usage(says("Done."), Usage(input_tokens=20, cache_read_tokens=16)))
    (iteration,) = loop_view(story.events).iterations

    assert (iteration.context_tokens, iteration.tokens_in, iteration.tokens_cached) == (20, 27, 21)


def test_waiting_for_a_person_is_apart_from_how_long_a_call_took() -> None:
    story = Story().says(says("", call("change"))).waits("1.1").answers("1.1", Decision.ONCE, note="Go on.")
    story.events.append(CallStarted(at=at("06:02:00"), call_id=CallId("1.1")))
    story.events.append(CallFinished(at=at("06:02:04"), call_id=CallId("1.1"), result=ok()))
    ((shown,),) = (iteration.calls for iteration in loop_view(story.events).iterations)

    assert (shown.took_s, shown.waited_s, shown.decided_by) == (4.0, 1.0, "ada")
    assert shown.approval == LoopApproval(
        asked_at=at("06:00:06"),
        expires_at=None,
        decided_at=at("06:00:07"),
        decision=Decision.ONCE,
        by="ada",
        note="Go on.",
    )


def test_a_call_that_waits_has_nobody_who_answered() -> None:
    ((shown,),) = (each.calls for each in loop_view(Story().says(says("", call("do"))).waits("1.1").events).iterations)
    assert shown.approval == LoopApproval(asked_at=at("06:00:06"), expires_at=None)
    assert (shown.decided_by, shown.waited_s, shown.took_s, shown.status) == (None, None, None, None)


def test_what_the_model_was_told_besides_is_in_the_iteration_that_followed() -> None:
    story = Story()
    story.events.append(
        ModelCallStarted(at=at("06:00:05"), iteration=1, model="m", request_hash="h", asides=("Be brief.",))
    )
    (iteration,) = loop_view(story.events).iterations
    assert iteration.asides == ("Be brief.",)


def test_what_happened_between_iterations_is_told_before_the_one_that_follows() -> None:
    story = Story().says(says("", call("look"))).starts("1.1")
    story.events += [
        RunAcquired(at=at("06:05:00"), epoch=2, worker="two", lease_broken=True),
        ClockMoved(at=at("06:06:00"), ran_s=2.0),
    ]
    stop = StopRequested(at=at("06:07:00"), outcome=Outcome.TIMED_OUT, reason="limits.timeout = 20m", by="service")
    story.events.append(stop)

    assert [(told.before, told.kind, told.text) for told in loop_view(story.events).interludes] == [
        (
            2,
            InterludeKind.TAKEN_UP,
            "the process that had the run was lost during call 1.1 (look); it was taken up again",
        ),
        (2, InterludeKind.CLOCK, "the clock was set, or the machine slept: 2.0 s had really gone by"),
        (2, InterludeKind.STOP, "service had it ended as timed out: limits.timeout = 20m"),
    ]


def test_time_in_which_nothing_ran_counts_for_no_iteration() -> None:
    story = Story().says(says("", call("look"))).starts("1.1")
    story.events += [
        RunAcquired(at=at("07:00:00"), epoch=2, worker="two", lease_broken=True),
        CallFinished(at=at("07:00:02"), call_id=CallId("1.1"), result=told(ResultStatus.UNKNOWN, "lost")),
    ]
    (iteration,) = loop_view(story.events).iterations
    assert iteration.took_s == 5.0


def test_one_attempt_or_iteration_can_be_looked_at_alone() -> None:
    story = Story().says(says("One.")).ends().again().says(says("", call("look"))).does("2.1").says(says("Three."))
    view = loop_view(story.events)

    assert [found.number for found in narrowed(view, attempt=2).iterations] == [2, 3]
    assert [found.number for found in narrowed(view, attempt=2, iteration=3).iterations] == [3]
    assert narrowed(view, attempt=1).attempts == ()
    assert narrowed(view) == view
    assert narrowed(view, iteration=1).tokens == view.tokens


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"attempt": 3}, "--attempt: wanted an attempt from 1 to 2, found 3"),
        ({"iteration": 9}, "--iteration: wanted an iteration from 1 to 2, found 9"),
        ({"attempt": 1, "iteration": 2}, "--iteration: wanted an iteration from 1 to 1, found 2"),
    ],
)
def test_an_attempt_or_iteration_that_is_not_there_is_named(wanted: dict[str, int], said: str) -> None:
    view = loop_view(Story().says(says("One.")).ends().again().says(says("Two.")).events)
    with pytest.raises(ConfigError) as refused:
        narrowed(view, **wanted)
    assert said in str(refused.value)


def test_how_long_the_first_word_took_counts_from_the_request_that_was_answered() -> None:
    story = Story().fails("busy").says(says("Done."))
    story.events[-1] = story.events[-1].model_copy(update={"first_at": at("06:00:05") + timedelta(milliseconds=400)})
    (iteration,) = loop_view(story.events).iterations
    assert iteration.first_token_s == 0.4


def replace_usage(reply: ModelReply, usage: Usage) -> ModelReply:
    return reply.model_copy(update={"usage": usage})
