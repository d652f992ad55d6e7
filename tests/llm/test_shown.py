"""What is shown of a reply while it arrives."""

from __future__ import annotations

from kova_auto.core.message import CallDelta, ReasoningDelta, TextDelta
from kova_auto.llm.shown import Shown


def test_pieces_of_one_text_that_came_together_are_shown_as_one() -> None:
    shown = Shown()
    shown.add(ReasoningDelta, "so ")
    shown.add(ReasoningDelta, "then")
    shown.add(TextDelta, "a")
    shown.call("read")
    shown.add(TextDelta, "b")
    shown.add(TextDelta, "c")

    assert shown.take() == [
        ReasoningDelta(text="so then"),
        TextDelta(text="a"),
        CallDelta(name="read"),
        TextDelta(text="bc"),
    ]


def test_nothing_is_shown_twice() -> None:
    shown = Shown()
    shown.add(TextDelta, "a")
    shown.take()
    shown.add(TextDelta, "b")

    assert shown.take() == [TextDelta(text="b")]
    assert shown.take() == []
