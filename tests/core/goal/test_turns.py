"""Where turns end, what counts as work, and when a run stalls."""

from __future__ import annotations

import pytest

from kova_auto.core.event import Event
from kova_auto.core.goal.turns import changes, fingerprint, has_stalled, is_work, turns_of
from kova_auto.core.message import ModelReply, ResultStatus
from kova_auto.core.stop_reason import StopReason
from tests.core.facts import FIRST, answered, asks_for, begun, ran, result, run_of
from tests.core.goal.goals import Move, a_goal_job, a_goal_run, completed, did, proposed, quiet, refused, said_blocked
from tests.support import says


def stopped(text: str, stop: StopReason) -> ModelReply:
    return says(text).model_copy(update={"stop": stop})


def test_a_turn_ends_with_an_answer_that_asks_for_no_tool() -> None:
    run = a_goal_run(did("read"), did("edit"), "One is done.", "Nothing new.", did("bash"))
    shape = [
        (turn.number, turn.answer, [call.call.tool for call in turn.calls], turn.has_ended) for turn in turns_of(run)
    ]

    assert shape == [
        (1, "One is done.", ["read", "edit"], True),
        (2, "Nothing new.", [], True),
        (3, "", ["bash"], False),
    ]


def test_a_run_without_a_reply_has_no_turn() -> None:
    assert turns_of(a_goal_run()) == ()


@pytest.mark.parametrize(
    ("replies", "turns"),
    [
        pytest.param([stopped("One, ", StopReason.LENGTH)], [("", False)], id="cut off"),
        pytest.param([stopped("One, ", StopReason.LENGTH), says("two.")], [("One, two.", True)], id="goes on"),
        pytest.param([stopped("One, ", StopReason.LENGTH), says("")], [("One, ", True)], id="nothing was missing"),
        pytest.param([stopped("", StopReason.PAUSED), says("One.")], [("One.", True)], id="paused"),
        pytest.param([says(" ")], [("", False)], id="without a word"),
        pytest.param([says(" "), says("One.")], [("One.", True)], id="found its words"),
        pytest.param([says("One."), says("Two."), says(" ")], [("One.", True), ("Two.", True), ("", False)], id="two"),
        pytest.param([stopped("No.", StopReason.REFUSED)], [("", False)], id="refused"),
    ],
)
def test_a_reply_that_is_cut_off_or_says_nothing_ends_no_turn(
    replies: list[ModelReply], turns: list[tuple[str, bool]]
) -> None:
    events: list[Event] = [*begun()]
    for iteration, reply in enumerate(replies, start=1):
        events += answered(reply, iteration)

    assert [(turn.answer, turn.has_ended) for turn in turns_of(run_of(events, job=a_goal_job("x")))] == turns


@pytest.mark.parametrize(
    ("tool", "status", "worked"),
    [
        ("read", ResultStatus.OK, True),
        ("bash", ResultStatus.ERROR, True),
        ("edit", ResultStatus.UNKNOWN, True),
        ("edit", ResultStatus.CANCELLED, False),
        ("question", ResultStatus.OK, False),
        ("todo", ResultStatus.OK, False),
        ("memory_write", ResultStatus.OK, False),
        ("memory_search", ResultStatus.OK, True),
        ("nothing_to_report", ResultStatus.OK, False),
        ("goal_propose_criteria", ResultStatus.OK, False),
        ("goal_complete", ResultStatus.ERROR, False),
        ("goal_blocked", ResultStatus.ERROR, False),
    ],
)
def test_work_is_what_does_more_than_talk(tool: str, status: ResultStatus, worked: bool) -> None:
    turn = turns_of(a_goal_run(did(tool, status)))[0]

    assert (turn.has_worked, is_work(turn.calls[0])) == (worked, worked)


def test_what_was_refused_or_is_still_open_is_no_work() -> None:
    refusal, open_call = a_goal_run(refused("edit")), run_of(asks_for("edit"), job=a_goal_job("x"))

    assert [turn.has_worked for run in (refusal, open_call) for turn in turns_of(run)] == [False, False]


@pytest.mark.parametrize(
    ("tool", "changed"), [("read", False), ("glob", False), ("grep", False), ("bash", True), ("write", True)]
)
def test_only_what_more_than_looks_may_have_changed_something(tool: str, changed: bool) -> None:
    run = run_of(asks_for(tool), ran(), job=a_goal_job("x"))

    assert changes(run.calls[FIRST]) is changed
    assert not changes(run_of(asks_for("bash"), result(ResultStatus.CANCELLED), job=a_goal_job("x")).calls[FIRST])


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Still blocked.", "Still  blocked.\n", True),
        ("\uff33till blocked.", "Still\u00a0blocked.", True),
        ("Still\x00 blocked.", "Stillblocked.", True),
        ("Still blocked.", "still blocked.", False),
        ("Still blocked.", "Still blocked!", False),
        ("lone \ud800", "lone \ud800 ", True),
    ],
)
def test_answers_are_compared_by_what_they_say(one: str, other: str, same: bool) -> None:
    assert (fingerprint(one) == fingerprint(other)) is same


@pytest.mark.parametrize(
    ("moves", "stalled"),
    [
        (("No.", "No."), False),
        (("No.", "No.", "N o."), True),
        (("No.", "No.", "Yes."), False),
        (("Yes.", "No.", "No.", "No."), True),
        (("No.", did("read"), "No.", "No."), False),
        ((did("read"), "No.", "No.", "No.", "No."), True),
        (("No.", did("todo"), "No.", "No."), True),
        (("No.", refused("edit"), "No.", "No."), True),
        (("No.", "No.", "No.", did("todo")), False),
    ],
)
def test_three_turns_without_work_and_in_the_same_words_are_a_stall(moves: tuple[Move, ...], stalled: bool) -> None:
    assert has_stalled(turns_of(a_goal_run(*moves))) is stalled


def test_a_turn_knows_which_tools_were_called() -> None:
    turn = turns_of(a_goal_run((proposed("x"), quiet()), said_blocked(), completed()))[0]

    assert [turn.called(tool) for tool in ("goal_blocked", "goal_complete", "edit")] == [True, True, False]
