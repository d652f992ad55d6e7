"""Everything that was said in a run, in its order."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import ContextCompacted
from kova_auto.core.message import AssistantMessage, ToolMessage, UserMessage
from kova_auto.core.transcript.told import What, told_in
from tests.core.transcript.scenes import eventful
from tests.story import Story
from tests.support import says


def test_each_thing_is_told_once_and_where_it_belongs() -> None:
    told = told_in(eventful().events)
    assert [(said.what, said.attempt, said.iteration) for said in told] == [
        (What.SYSTEM, 1, 1),
        (What.PROMPT, 1, 1),
        (What.REPLY, 1, 1),
        (What.RESULT, 1, 1),
        (What.RESULT, 1, 1),
        (What.ASIDE, 1, 2),
        (What.REPLY, 1, 2),
    ]
    kinds = [type(said.message) for said in told]
    assert kinds[1:] == [UserMessage, AssistantMessage, ToolMessage, ToolMessage, UserMessage, AssistantMessage]
    assert [said.seq for said in told] == sorted(said.seq for said in told)


def test_a_further_attempt_is_given_its_prompt_anew() -> None:
    told = told_in(Story().says(says("One.")).ends().again().says(says("Two.")).events)
    assert [(said.attempt, said.what) for said in told if said.what in {What.PROMPT, What.REPLY}] == [
        (1, What.PROMPT),
        (1, What.REPLY),
        (2, What.PROMPT),
        (2, What.REPLY),
    ]


def test_a_summary_stands_where_it_took_the_place_of_what_was_said() -> None:
    story = Story().says(says("One."))
    folded = {"summary": "So far: one.", "strategy": "fresh", "reason": "threshold"}
    sizes = {"tokens_before": 9, "tokens_after": 3}
    story.events.append(
        ContextCompacted.model_validate({"at": story.later(), "iteration": 1, "through": 1, **folded, **sizes})
    )
    *_, last = told_in(story.events)
    assert (last.what, isinstance(last.message, UserMessage)) == (What.SUMMARY, True)


def test_no_facts_are_no_transcript() -> None:
    with pytest.raises(IllegalEventError):
        told_in([])
