"""A model that goes in circles: when it is noticed, and when it is over."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kova_auto.core.event import ContextAssembled, Event
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.message import TextPart, ToolSpec
from kova_auto.core.repetition import Circle, circle
from kova_auto.core.run import RunState
from kova_auto.core.step import next_step
from kova_auto.core.steps import CallModel, Finish
from tests.core.facts import NOW, acquired, answered, ran, run_of
from tests.support import call, says

Made = tuple[str, str, str]
"""Tool, argument, result."""


def made(*calls: Made, polling: Sequence[str] = ()) -> RunState:
    """Return a run that has made these calls, one in each iteration."""
    specs = tuple(ToolSpec(name=name, description="", parameters={}, polling=True) for name in polling)
    facts: list[Event] = [acquired()]
    facts.append(ContextAssembled(at=NOW, system="", prompt=(TextPart(text="Look."),), tools=specs))
    for number, (tool, argument, came) in enumerate(calls, start=1):
        facts += answered(says("", call(tool, of=argument)), number)
        facts += ran(CallId(f"{number}.1"), parts=[{"kind": "text", "text": came}])
    return run_of(facts)


A, B, C = ("read", "a", "x"), ("read", "b", "y"), ("grep", "c", "z")


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ([A, A], None),
        ([A, A, A], Circle(("read",), 3, 3)),
        ([B, A, A, A, A], Circle(("read",), 4, 4)),
        ([A, A, B, A], None),
        ([A, B] * 2, None),
        ([A, B] * 3, Circle(("read", "read"), 3, 3)),
        ([A, B, C] * 2, None),
        ([A, B, C] * 3, Circle(("read", "read", "grep"), 3, 3)),
        ([C, *[A, B] * 5], Circle(("read", "read"), 5, 5)),
        ([("read", "a", str(number)) for number in range(6)], Circle(("read",), 6, 1)),
        ([("read", str(number), "x") for number in range(6)], None),
    ],
)
def test_the_newest_calls_go_in_a_circle_of_one_to_three(calls: Sequence[Made], found: Circle | None) -> None:
    assert circle(made(*calls)) == found


def test_what_is_there_for_asking_again_goes_in_no_circle() -> None:
    assert circle(made(*[A] * 9, polling=["read"])) is None
    assert circle(made(*[A, C] * 4, polling=["read"])) == Circle(("grep",), 4, 4)


def test_the_fifth_round_in_vain_ends_the_run() -> None:
    assert next_step(made(*[A] * 4), NOW) == CallModel(5, "test/model")
    assert next_step(made(*[A] * 5), NOW) == Finish(
        Outcome.FAILED,
        "",
        "it went in circles: read 5 times in a row, with the same arguments and results",
        partial=True,
    )
    assert next_step(made(*[("read", "a", str(number)) for number in range(8)]), NOW) == CallModel(9, "test/model")
