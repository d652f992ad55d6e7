"""What becomes of several calls of one reply that only look: judged all, then executed at the same time."""

from __future__ import annotations

from datetime import datetime
from itertools import combinations

import pytest

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.event import Event
from kova_auto.core.ids import CallId, call_id
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState
from kova_auto.core.step import next_step
from kova_auto.core.steps import (
    TOGETHER,
    Adjudicate,
    AskPerson,
    AwaitApproval,
    CallModel,
    Execute,
    ExecuteTogether,
    Recover,
    Refuse,
    Step,
)
from tests.core.facts import (
    FIRST,
    NOW,
    SECOND,
    acquired,
    answered,
    asked,
    begun,
    decided,
    judged,
    ran,
    result,
    run_of,
    started,
    stop,
)
from tests.support import a_job, at, call, says

THIRD, FOURTH = CallId("1.3"), CallId("1.4")
ALLOW, ASK, DENY = Ruling.ALLOW, Ruling.ASK, Ruling.DENY
THREE: list[Event] = [judged(ALLOW), judged(ALLOW, SECOND), judged(ALLOW, THIRD)]
SUSPENDS = a_job(approval={"when_needed": "suspend"})


def asks(*tools: str) -> list[Event]:
    """Bring a run to a first reply that calls these tools, no two with the same arguments."""
    return [*begun(), *answered(says("Let me see.", *(call(tool, of=place) for place, tool in enumerate(tools))))]


LOOKS = asks("read", "grep", "web_fetch", "bash")


def step_of(*facts: Event | list[Event], now: datetime = NOW) -> Step:
    return next_step(run_of(*facts, job=SUSPENDS), now)


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        pytest.param([], Adjudicate(FIRST), id="none is judged"),
        pytest.param([judged(ALLOW)], Adjudicate(SECOND), id="one is"),
        pytest.param(THREE, ExecuteTogether((FIRST, SECOND, THIRD)), id="all are, and what follows changes something"),
        pytest.param([judged(DENY), *THREE[1:]], ExecuteTogether((SECOND, THIRD)), id="the first is refused"),
        pytest.param([THREE[0], judged(DENY, SECOND), THREE[2]], ExecuteTogether((FIRST, THIRD)), id="one of them is"),
        pytest.param([judged(DENY), judged(DENY, SECOND), THREE[2]], Refuse(FIRST, "because"), id="one is allowed"),
        pytest.param([*THREE[:2], judged(ASK, THIRD)], ExecuteTogether((FIRST, SECOND)), id="the last needs a person"),
        pytest.param([THREE[0], judged(ASK, SECOND), THREE[2]], Execute(FIRST), id="one behind the first does"),
        pytest.param([judged(ASK), *THREE[1:]], AskPerson(FIRST), id="the first does"),
        pytest.param([judged(ASK), *THREE[1:], asked()], Adjudicate(FOURTH), id="who was asked holds up the others"),
        pytest.param(
            [judged(ASK), *THREE[1:], asked(), judged(ALLOW, FOURTH)],
            AwaitApproval(FIRST, None),
            id="so that they wait, too",
        ),
        pytest.param(
            [judged(ASK), *THREE[1:], asked(), decided(Decision.ONCE)], Execute(FIRST), id="what was let through"
        ),
        pytest.param(
            [judged(ASK), *THREE[1:], asked(), decided(Decision.ONCE), started(), result()],
            Adjudicate(SECOND),
            id="behind which the others are judged anew",
        ),
        pytest.param(
            [*THREE, *(started(key) for key in (FIRST, SECOND, THIRD)), result(call_id=SECOND), acquired(2)],
            Recover(FIRST),
            id="their worker died",
        ),
        pytest.param(
            [*THREE, *(started(key) for key in (SECOND, THIRD)), result(call_id=SECOND), acquired(2)],
            Recover(THIRD),
            id="what is in doubt comes first",
        ),
        pytest.param(
            [*THREE, *(started(key) for key in (FIRST, SECOND, THIRD)), result(call_id=SECOND), stop()],
            Recover(FIRST, replay=False),
            id="somebody ended the run meanwhile",
        ),
        pytest.param([*ran(), *ran(SECOND), *ran(THIRD)], Adjudicate(FOURTH), id="then comes what changes something"),
    ],
)
def test_calls_that_only_look_are_settled_together(facts: list[Event], step: Step) -> None:
    assert step_of(LOOKS, facts) == step


def test_what_looks_behind_a_call_that_changes_something_waits_for_that() -> None:
    tools = asks("read", "grep", "write", "read", "glob")
    looked: list[Event] = [judged(ALLOW), judged(ALLOW, SECOND)]
    assert step_of(tools, looked) == ExecuteTogether((FIRST, SECOND))
    looked += [started(), started(SECOND), result(call_id=SECOND), result()]
    assert step_of(tools, looked) == Adjudicate(THIRD)
    assert step_of(tools, looked, judged(ALLOW, THIRD)) == Execute(THIRD)
    assert step_of(tools, looked, ran(THIRD)) == Adjudicate(FOURTH)


def test_a_single_look_is_executed_by_itself() -> None:
    assert step_of(asks("read"), judged(ALLOW)) == Execute(FIRST)
    assert step_of(asks("read", "bash", "read"), judged(ALLOW)) == Execute(FIRST)


def test_a_job_that_asks_nobody_lets_the_others_run() -> None:
    state = run_of(LOOKS, judged(ALLOW), judged(ASK, SECOND), judged(ALLOW, THIRD))
    assert next_step(state, NOW) == ExecuteTogether((FIRST, THIRD))


def test_all_that_stand_next_to_each_other_are_one_step_however_many_run_at_the_same_time() -> None:
    keys = [call_id(1, index) for index in range(1, TOGETHER + 4)]
    facts: list[Event] = [*asks(*["read"] * len(keys)), *(judged(ALLOW, key) for key in keys)]
    assert step_of(facts) == ExecuteTogether(tuple(keys))
    facts += [*(started(key) for key in keys[:TOGETHER]), *(result(call_id=key) for key in keys[:TOGETHER])]
    assert step_of(facts) == ExecuteTogether(tuple(keys[TOGETHER:]))


def settled(facts: list[Event], rulings: dict[CallId, Ruling], taints: str = "") -> tuple[RunState, list[Step]]:
    """Return what becomes of the calls of a run, and the steps that were taken; each look brings `taints`."""
    state, steps = run_of(facts), list[Step]()
    while not isinstance(step := next_step(state, NOW), CallModel):
        steps.append(step)
        match step:
            case Adjudicate(key):
                facts = [*facts, judged(rulings.get(key, ALLOW), key)]
            case Execute(key):
                facts = [*facts, started(key), result(call_id=key, taints=taints)]
            case ExecuteTogether(keys):
                some = keys[:TOGETHER] if taints else keys
                facts = [*facts, *map(started, some), *(result(call_id=key, taints=taints) for key in reversed(some))]
            case Refuse(key):
                facts = [*facts, result(ResultStatus.DENIED, key)]
            case _:
                raise AssertionError(step)
        state = run_of(facts)
    return state, steps


@pytest.mark.parametrize("denied", [keys for size in range(4) for keys in combinations(range(1, 6), size)])
def test_each_call_is_judged_once(denied: tuple[int, ...]) -> None:
    rulings = {call_id(1, index): DENY for index in denied}
    state, steps = settled(asks("read", "read", "read", "read", "read"), rulings)
    assert sum(isinstance(step, Adjudicate) for step in steps) == 5
    assert sum(isinstance(step, ExecuteTogether) for step in steps) == (len(denied) < 4)
    assert all(call.result for call in state.calls.values())


def test_what_was_judged_before_a_page_came_is_judged_again_where_it_did_not_run_with_it() -> None:
    keys = [call_id(1, index) for index in range(1, TOGETHER + 3)]
    _, steps = settled(asks(*["web_fetch"] * len(keys)), {}, taints="a page of c.example")
    assert [step.call_id for step in steps if isinstance(step, Adjudicate)] == [*keys, *keys[TOGETHER:]]
    assert [step.call_ids for step in steps if isinstance(step, ExecuteTogether)] == [
        tuple(keys),
        tuple(keys[TOGETHER:]),
    ]


def test_whom_nobody_answers_in_time_holds_up_no_more() -> None:
    facts = [*LOOKS, judged(ASK), *THREE[1:], asked(expires=at("07:00:00")), judged(ALLOW, FOURTH)]
    said = decided(Decision.DENY, by="timeout", note="nobody answered in time")
    refused = step_of(facts, said)
    assert isinstance(refused, Refuse)
    assert step_of(facts, said, result(ResultStatus.DENIED)) == Adjudicate(SECOND)
