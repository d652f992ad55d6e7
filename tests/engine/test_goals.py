"""Whole runs with a goal: over several turns, agreed to or not, and killed at every fact."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest
from pydantic import JsonValue

from kova_auto.core.approval.levels import ApprovalLevel, Decision
from kova_auto.core.consent import ApprovalDecided
from kova_auto.core.event import Event, ModelCallStarted
from kova_auto.core.goal.contract import Author
from kova_auto.core.goal.view import goal_view
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Job, Outcome
from kova_auto.core.message import ModelReply, ResultStatus
from kova_auto.core.run import RunState
from kova_auto.engine.driver import LEASE
from tests.doubles.goals import GoalHands
from tests.doubles.journal import MemoryJournal
from tests.doubles.model import ScriptedModel, call, says
from tests.engine.worlds import RUN, Stage
from tests.support import a_job

OK, ERROR, DENIED = ResultStatus.OK, ResultStatus.ERROR, ResultStatus.DENIED


class Killed(BaseException):
    """Stand for the end of the process: nothing catches it."""


def a_goal(*criteria: JsonValue, **changes: object) -> Job:
    fields = {"mode": "goal", "goal": {"criteria": [*criteria]}, "automation": "full", **changes}
    return a_job("nightly", **fields)


def complete(*met: str, summary: str = "All is done.") -> ModelReply:
    results: list[JsonValue] = [{"id": each, "met": True, "evidence": "a.txt:1"} for each in met]
    return says("It is reached.", call("goal_complete", summary=summary, results=results))


def propose(*criteria: str) -> ModelReply:
    return says("By these.", call("goal_propose_criteria", criteria=[*criteria]))


def blocked(reason: str = "there is no key") -> ModelReply:
    return says("I cannot.", call("goal_blocked", reason=reason, evidence="I asked."))


LOOK, CHANGE = says("I look.", call("look")), says("I change it.", call("change"))
BY_BOTH = a_goal("it is written", {"command": "check it"})
WHOLE = (LOOK, says("Half."), complete("c1", "c2"), CHANGE, complete("c1", "c2"), says("All of it."))


def a_stage(journal: MemoryJournal | None = None) -> Stage:
    return Stage(journal=journal or MemoryJournal(), hands=GoalHands(safe=frozenset({"look", "change"})))


async def run_of(*lines: ModelReply, job: Job = BY_BOTH, level: ApprovalLevel | None = None) -> tuple[Stage, RunState]:
    """Return a run as far as it comes by itself."""
    stage = a_stage()
    await stage.opened(job=job, level=level)
    await stage.advance(*lines)
    return stage, await stage.journal.load(RUN)


async def test_a_goal_is_pursued_over_turns_until_it_is_reached() -> None:
    stage, state = await run_of(*WHOLE)

    assert await stage.ended() == (Outcome.DONE, "")
    assert state.finished is not None
    assert state.finished.answer == "All of it."
    assert await stage.statuses() == [OK, ERROR, OK, OK]
    view = goal_view(state)
    assert view is not None
    assert [(one.id, one.met, one.evidence) for one in view.criteria] == [
        ("c1", True, "a.txt:1"),
        ("c2", True, "the command `check it`: exit code 0\nso it is"),
    ]


async def test_between_turns_alone_it_is_told_to_go_on_and_what_was_said_stays_as_it_was() -> None:
    model = ScriptedModel(*WHOLE)
    stage = a_stage()
    await stage.opened(job=BY_BOTH)
    await stage.engine(model=model).advance(RUN)
    told = [event.asides for event in await stage.facts() if isinstance(event, ModelCallStarted)]

    assert [len(asides) for asides in told] == [0, 0, 1, 0, 0, 0]
    for before, after in zip(model.requests, model.requests[1:], strict=False):
        assert (before.system, before.tools) == (after.system, after.tools)
        assert after.messages[: len(before.messages)] == before.messages


async def test_criteria_of_its_own_stand_at_once_where_nobody_is_there() -> None:
    stage, state = await run_of(LOOK, propose("it is written"), CHANGE, complete("c1"), says("Done."), job=a_goal())

    assert await stage.ended() == (Outcome.DONE, "it was judged by criteria of its own, to which nobody has agreed")
    assert await stage.statuses() == [OK, OK, OK, OK]
    assert (view := goal_view(state)) is not None
    assert (view.author, [one.text for one in view.criteria]) == (Author.MODEL, ["it is written"])


async def test_a_call_of_goal_mode_stands_alone_in_its_reply() -> None:
    both = says("All at once.", call("change"), *complete("c1", "c2").calls)
    stage, _ = await run_of(both, complete("c1", "c2"), says("Done."))

    assert await stage.statuses() == [OK, ERROR, OK]
    assert await stage.ended() == (Outcome.DONE, "")


async def test_a_run_that_says_in_three_turns_that_it_is_blocked_ends_so() -> None:
    stage, state = await run_of(
        blocked(), says("No key."), blocked(), says("Still none."), blocked(), says("Somebody has to give me a key.")
    )

    assert await stage.ended() == (Outcome.BLOCKED, "the goal is blocked: there is no key")
    assert await stage.statuses() == [ERROR, ERROR, OK]
    assert (state.finished and state.finished.answer) == "Somebody has to give me a key."


async def test_a_turn_in_which_it_was_not_blocked_begins_the_count_anew() -> None:
    lines = (blocked(), says("A."), LOOK, says("B."), blocked(), says("C."), blocked(), says("D."))
    stage, _ = await run_of(*lines, job=a_goal(goal={"criteria": ["x"], "turns": 4}))

    assert await stage.statuses() == [ERROR, OK, ERROR, ERROR]
    assert (await stage.ended())[0] is Outcome.BUDGET_EXCEEDED


async def test_a_run_that_stalls_fails() -> None:
    stage, _ = await run_of(says("I think about it."), says("I think about it."), says("I  think about it."))

    assert await stage.ended() == (
        Outcome.FAILED,
        "it stalled: 3 turns in a row did nothing and ended in the same words; not met: c1, c2",
    )


async def answered(stage: Stage, call_id: str, decision: Decision, **more: object) -> None:
    fields = {"at": stage.clock.now(), "call_id": call_id, "decision": decision, "by": "ada", **more}
    await stage.journal.append(await stage.journal.load(RUN), ApprovalDecided.model_validate(fields))


AGREED = (CHANGE, propose("it works"), propose("`check it` ends well"), CHANGE, complete("c1"), says("Done."))


async def test_a_person_at_hand_agrees_to_criteria_before_anything_is_changed() -> None:
    stage, state = await run_of(*AGREED, job=a_goal(), level=ApprovalLevel.AUTO)
    assert await stage.statuses() == [DENIED]
    assert [known.call.id for known in state.pending] == ["2.1"]

    await answered(stage, "2.1", Decision.DENY, note="name the command")
    await stage.advance(*AGREED)
    refusal = (await stage.journal.load(RUN)).call(CallId("2.1")).result
    assert refusal is not None
    assert refusal.text == "ada refused this call: name the command. Do not repeat it unchanged."

    await answered(stage, "3.1", Decision.ONCE)
    await stage.advance(*AGREED)
    assert await stage.ended() == (Outcome.DONE, "")
    assert await stage.statuses() == [DENIED, DENIED, OK, OK, OK]
    assert (view := goal_view(await stage.journal.load(RUN))) is not None
    assert (view.author, [one.text for one in view.criteria]) == (Author.PERSON, ["`check it` ends well"])


@pytest.mark.parametrize(
    ("args", "criteria", "last"),
    [
        ({"criteria": ["it is short"]}, ["it is short"], complete("c1")),
        ({"criteria": []}, [], complete()),
    ],
)
async def test_a_person_may_write_the_criteria_or_want_none(
    args: dict[str, JsonValue], criteria: list[str], last: ModelReply
) -> None:
    lines = (propose("it is long"), CHANGE, last, says("Done."))
    stage, _ = await run_of(*lines, job=a_goal(), level=ApprovalLevel.AUTO)
    await answered(stage, "1.1", Decision.ONCE, args=args)
    await stage.advance(*lines)

    assert await stage.ended() == (Outcome.DONE, "")
    assert (view := goal_view(await stage.journal.load(RUN))) is not None
    assert [one.text for one in view.criteria] == criteria


async def test_what_cannot_be_proposed_is_put_before_nobody() -> None:
    lines = (propose(*map(str, range(9))), propose("1"))
    stage, state = await run_of(*lines, job=a_goal(), level=ApprovalLevel.AUTO)

    assert (await stage.statuses(), [known.call.id for known in state.pending]) == ([ERROR], ["2.1"])


@dataclass(frozen=True)
class End:
    """Hold what a run came to, as far as a crash must not change it."""

    outcome: Outcome
    answer: str
    reason: str
    results: tuple[tuple[str, ResultStatus, str], ...]
    asked: tuple[str, ...]


async def end_of(stage: Stage) -> End:
    state = await stage.journal.load(RUN)
    asked = {
        event.iteration: event.request_hash for event in await stage.facts() if isinstance(event, ModelCallStarted)
    }
    results = tuple((key, known.result.status, known.result.text) for key, known in state.calls.items() if known.result)
    assert state.finished is not None
    return End(state.finished.outcome, state.finished.answer, state.finished.reason, results, tuple(asked.values()))


async def killed_at(place: int, lines: Sequence[ModelReply], job: Job, *, before: bool) -> tuple[Stage, bool]:
    """Return a run that was killed before or after a fact, and brought to its end by the next process."""
    kept: list[Event] = []

    def dies(run_id: RunId, event: Event) -> None:
        del run_id
        kept.append(event)
        if len(kept) == place:
            raise Killed

    stage = a_stage(MemoryJournal())
    await stage.opened(job=job)
    stage.journal.before_append, stage.journal.after_append = (dies, None) if before else (None, dies)
    try:
        await stage.advance(*lines)
    except Killed:
        stage.journal.before_append = stage.journal.after_append = None
        stage.clock.instant += LEASE + timedelta(seconds=1)
        await stage.engine(*lines, worker="two").advance(RUN)
        return stage, True
    return stage, False


OWN = (propose("it is written"), says("A."), CHANGE, complete("c1"), says("B."))
BLOCKED = (blocked(), says("A."), blocked(), says("B."), blocked(), says("C."))
CAPPED = (LOOK, says("A."), LOOK, says("B."))


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize(
    ("lines", "job"),
    [
        pytest.param(WHOLE, BY_BOTH, id="reached"),
        pytest.param(OWN, a_goal(), id="its own"),
        pytest.param(BLOCKED, BY_BOTH, id="blocked"),
        pytest.param((says("A."), says("A."), says("A.")), BY_BOTH, id="stalled"),
        pytest.param(CAPPED, a_goal(goal={"criteria": ["x"], "turns": 2}), id="capped"),
    ],
)
async def test_killed_at_any_fact_it_ends_the_same_and_its_model_is_asked_the_same(
    lines: Sequence[ModelReply], job: Job, *, before: bool
) -> None:
    undisturbed, _ = await run_of(*lines, job=job)
    wanted, place, was_killed = await end_of(undisturbed), 0, True
    while was_killed:
        place += 1
        stage, was_killed = await killed_at(place, lines, job, before=before)
        assert (place, await end_of(stage)) == (place, wanted)

    assert place > 8
