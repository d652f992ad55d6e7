"""A recording: one attempt of a run, with how long everything took, and which of its calls stand for another's."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ToolCall
from kova_auto.core.recording import Pair, Pairing, recording_of
from tests.story import Story
from tests.support import call, says, tool_call

A, B, C = (call("look", path=name) for name in "abc")


def test_a_recording_holds_what_was_answered_and_how_long_it_took() -> None:
    story = Story().fails().says(says("I look.", A, B)).does("1.1").refuses("1.2").says(says("Well."))
    recording = recording_of(story.events)
    assert [(line.answer.kind, line.idle_s, line.took_s) for line in recording.lines] == [
        ("model_call_failed", 1.0, 1.0),
        ("model_replied", 1.0, 1.0),
        ("model_replied", 1.0, 1.0),
    ]
    assert recording.took_s == {"1.1": 3.0, "1.2": 2.0}
    assert (
        sum(line.idle_s + line.took_s for line in recording.lines) + 5.0
        == recording.state.ran_s - recording.state.set_up_s
    )
    assert [known.call.id for known in recording.calls] == ["1.1", "1.2"]


def test_a_call_of_the_model_that_was_cut_off_is_left_out() -> None:
    recording = recording_of(Story().says(says("", A)).does("1.1").asks().events)
    assert [line.answer.iteration for line in recording.lines] == [1]


def test_each_attempt_is_a_recording_of_its_own() -> None:
    story = Story().says(says("One.", A)).does("1.1").ends(Outcome.FAILED).again().says(says("Two.")).ends()
    first, last = recording_of(story.events, 1), recording_of(story.events)
    assert [[reply.reply.text for reply in found.replies] for found in (first, last)] == [["One."], ["Two."]]
    assert [(found.begun.iteration, found.begun.attempt, found.state.attempt) for found in (first, last)] == [
        (0, 1, 1),
        (1, 2, 2),
    ]
    assert recording_of(story.events, 2) == last


@pytest.mark.parametrize("attempt", [0, 3])
def test_an_attempt_that_is_not_there_is_named(attempt: int) -> None:
    story = Story().says(says("One.")).ends().again()
    with pytest.raises(ConfigError, match=f"wanted an attempt from 1 to 2, found {attempt}"):
        recording_of(story.events, attempt)


def paired(*calls: ToolCall) -> dict[str, tuple[str, bool]]:
    """Pair calls with a recording of A and B, then C and A."""
    story = Story().says(says("", A, B)).does("1.1").does("1.2").says(says("", C, A)).does("2.1").does("2.2")
    pairing = Pairing(recording_of(story.events).calls)
    for asked in calls:
        pairing = pairing.plus(asked, int(asked.id[0]))
    assert [pairing.of(CallId(key)) is not None for key in pairing.pairs] == [True] * len(pairing.pairs)
    return {key: (pair.recorded, pair.moved) for key, pair in pairing.pairs.items()}


def at(place: str, path: str, **more: str) -> ToolCall:
    iteration, index = map(int, place.split("."))
    return tool_call("look", iteration=iteration, index=index, path=path, **more)


@pytest.mark.parametrize(
    ("calls", "pairs"),
    [
        (["1.1 a", "1.2 b", "2.1 c", "2.2 a"], ["1.1", "1.2", "2.1", "2.2"]),
        (["1.1 b"], ["1.2"]),
        (["1.1 b", "1.2 a"], ["1.2", "2.2 moved"]),
        (["2.1 a", "2.2 a", "2.3 a"], ["1.1 moved", "2.2", None]),
        (["1.1 c"], ["2.1 moved"]),
        (["1.1 d"], [None]),
        (["2.1 c", "2.2 b", "2.3 a"], ["2.1", "1.2 moved", "2.2"]),
        (["1.1 a", "1.2 a", "1.3 b", "2.1 c"], ["1.1", "2.2 moved", "1.2 moved", "2.1 moved"]),
    ],
    ids=["the same", "one left out", "in turns", "too often", "early", "new", "one too late", "behind"],
)
def test_a_call_stands_for_the_next_of_its_kind_or_else_for_any(calls: list[str], pairs: list[str | None]) -> None:
    found = paired(*(at(*asked.split()) for asked in calls))
    shown = [found.get(asked.split()[0]) for asked in calls]
    assert [one and one[0] + (" moved" if one[1] else "") for one in shown] == pairs


def test_what_a_provider_calls_a_call_does_not_count_and_its_arguments_in_any_order_do() -> None:
    recorded = recording_of(Story().says(says("", call("look", a=1, b=None))).does("1.1").events).calls
    pairing = Pairing(recorded)
    same = tool_call("look", b=None, a=1).model_copy(update={"provider_id": "toolu_1"})
    assert pairing.plus(same, 1).pairs == {"1.1": Pair(CallId("1.1"), moved=False)}
    for other in (tool_call("find", a=1, b=None), tool_call("look", a=1), same.model_copy(update={"unparsed": "{"})):
        assert pairing.plus(other, 1) == pairing
