"""Comparing a replay with its recording: what is the same, what differs, and what only one of them has."""

from __future__ import annotations

import pytest

from kova_auto.core.approval.levels import Ruling, Verdict
from kova_auto.core.event import CallAdjudicated
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.recording import Pairing, Recording, recording_of
from kova_auto.core.replay import End, Ending, Match, Replay, Replayed, ReplayedCall, ReplayedIteration, compared
from kova_auto.core.steps import Finish
from tests.story import Story
from tests.support import at, call, ruled, says

DONE = End(Ending.FINISHED, "done", finish=Finish(Outcome.DONE, "Well."))
OPEN = End(Ending.RECORDING, "the recording ends here")


def paired(recording: Recording, now: Story) -> Pairing:
    pairing = Pairing(recording.calls)
    for reply in now.state.replies:
        for asked in reply.calls:
            pairing = pairing.plus(asked, reply.iteration)
    return pairing


def comparison(then: Story, now: Story, end: End = OPEN) -> Replay:
    recording = recording_of(then.events)
    return compared(recording, Replayed(now.state, paired(recording, now), end))


def looked(text: str = "I look.", path: str = "a", cost_usd: float = 0.001) -> Story:
    return Story().says(says(text, call("look", path=path), cost_usd=cost_usd)).does("1.1")


def test_the_same_is_no_difference() -> None:
    assert comparison(looked(), looked()) == Replay(
        run_id=looked().run_id,
        job="nightly",
        attempt=1,
        model_then="test/model",
        model_now=None,
        differs=False,
        unjudged="",
        ended=Ending.RECORDING,
        why="the recording ends here",
        diverged_at=None,
        outcome_then=None,
        outcome_now=None,
        reason_then="",
        reason_now="",
        partial_then=False,
        partial_now=False,
        tokens_then=10,
        tokens_now=10,
        cost_usd_then=0.001,
        cost_usd_now=0.001,
        unreached=0,
        iterations=(
            ReplayedIteration(
                number=1,
                differs=False,
                text_then="I look.",
                text_now="I look.",
                calls=(
                    ReplayedCall(
                        call_id=CallId("1.1"),
                        recorded_id=CallId("1.1"),
                        match=Match.SAME,
                        differs=False,
                        tool="look",
                        arguments_then={"path": "a"},
                        arguments_now={"path": "a"},
                        verdict_then=ruled(Ruling.ALLOW),
                        verdict_now=ruled(Ruling.ALLOW),
                    ),
                ),
                tokens_then=10,
                tokens_now=10,
                cost_usd_then=0.001,
                cost_usd_now=0.001,
            ),
        ),
    )


@pytest.mark.parametrize(
    "now",
    [
        looked("I see."),
        looked(cost_usd=0.002),
        Story().says(says("I look.", call("look", path="a"), tokens=11)).does("1.1"),
        Story().says(says("I look.", call("look", path="a"))).refuses("1.1"),
        Story().says(says("I look.")),
    ],
    ids=["text", "cost", "tokens", "verdict", "calls"],
)
def test_an_iteration_differs_in_its_text_its_cost_its_verdicts_or_its_calls(now: Story) -> None:
    replay = comparison(looked(), now)
    assert (replay.differs, [iteration.differs for iteration in replay.iterations]) == (True, [True])


def with_verdict(**changes: object) -> Story:
    story = Story().says(says("", call("look")))
    verdict = Verdict.model_validate({"ruling": Ruling.ALLOW, "reason": "fine", "rule": "level.look", **changes})
    story.events.append(CallAdjudicated(at=at("06:01:00"), call_id=CallId("1.1"), verdict=verdict))
    return story


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({"policy_hash": "another"}, False),
        ({"rule": "level.find"}, True),
        ({"reason": "very fine"}, True),
        ({"confinement": "reading"}, True),
        ({"ruling": Ruling.DENY}, True),
    ],
)
def test_a_verdict_differs_in_everything_but_the_hash_of_its_policy(changes: dict[str, object], differs: bool) -> None:
    assert comparison(with_verdict(), with_verdict(**changes)).differs is differs


def test_a_call_that_was_not_judged_any_more_has_no_other_verdict() -> None:
    (iteration,) = comparison(with_verdict(), Story().says(says("", call("look")))).iterations
    assert [(found.verdict_now, found.differs) for found in iteration.calls] == [(None, False)]


def test_a_call_with_other_arguments_stands_beside_the_recorded_one() -> None:
    then = Story().says(says("", call("look", path="a"), call("find", path="a"), call("look", path="b")))
    now = Story().says(says("", call("look", path="c"), call("find", path="a"), call("find", path="b")))
    (iteration,) = comparison(then, now, End(Ending.DIVERGED, "new", call_id=CallId("1.1"))).iterations
    assert [(found.match, found.call_id, found.recorded_id) for found in iteration.calls] == [
        (Match.CHANGED, "1.1", "1.1"),
        (Match.SAME, "1.2", "1.2"),
        (Match.NEW, "1.3", None),
        (Match.MISSING, None, "1.3"),
    ]
    assert (iteration.calls[0].arguments_then, iteration.calls[0].arguments_now) == ({"path": "a"}, {"path": "c"})
    assert (iteration.calls[3].arguments_then, iteration.calls[3].arguments_now) == ({"path": "b"}, None)


def test_iterations_that_only_one_of_them_has_are_told_apart() -> None:
    longer = looked().says(says("Well."))
    assert (comparison(longer, looked()).unreached, comparison(longer, looked()).differs) == (1, True)
    more = comparison(looked(), longer).iterations[1]
    assert (more.text_then, more.text_now, more.tokens_then, more.tokens_now) == (None, "Well.", 0, 10)


@pytest.mark.parametrize(
    ("then", "end", "differs"),
    [
        (looked().ends(), DONE, False),
        (looked().ends(Outcome.FAILED), DONE, True),
        (looked(), DONE, True),
        (looked().ends(), OPEN, True),
        (looked().ends(), End(Ending.FINISHED, "", finish=Finish(Outcome.DONE, partial=True)), True),
        (looked(), End(Ending.WAITING, "later"), True),
        (looked(), End(Ending.DIVERGED, "new", call_id=CallId("1.1")), True),
    ],
    ids=["the same", "outcome", "open then", "open now", "partial", "waiting", "diverged"],
)
def test_how_both_ended_is_compared(then: Story, end: End, differs: bool) -> None:
    assert comparison(then, looked(), end).differs is differs


def test_an_unknown_price_is_no_cost_of_nothing() -> None:
    unknown = Story().says(says("I look.", call("look", path="a"), cost_usd=None)).does("1.1")
    replay = comparison(looked(), unknown)
    assert (replay.cost_usd_then, replay.cost_usd_now, replay.differs) == (0.001, None, True)
