"""Whatever models, tools, workers and persons do: no run with a goal ends well unless the goal was found reached."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import reduce

from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.levels import ApprovalLevel, Decision
from kova_auto.core.context.asides import asides
from kova_auto.core.event import (
    ApprovalDecided,
    CallFinished,
    CallStarted,
    Event,
    ModelCallStarted,
    RunAcquired,
    RunRequested,
)
from kova_auto.core.goal.turns import changes, turns_of
from kova_auto.core.goal.view import GoalStatus, goal_view
from kova_auto.core.job import Outcome
from kova_auto.core.limits import running_s
from kova_auto.core.message import ResultStatus, ToolCall, ToolResult, told
from kova_auto.core.run import RunState, apply, opened
from kova_auto.core.step import next_step
from kova_auto.core.steps import AwaitApproval, AwaitUntil, CallModel, Execute, Recover, Rest, Step
from tests.core.goal.goals import a_goal_job
from tests.properties.deeds import MOST_STEPS, RESULTS, SECOND, Draw, recorded
from tests.support import a_request, call, replied, says

PROPOSE = call("goal_propose_criteria", criteria=["it is green"])
COMPLETE = call("goal_complete", summary="All is done.", results=[{"id": "c1", "met": True, "evidence": "x"}])
BLOCKED = call("goal_blocked", reason="no key", evidence="none")
READS, EDITS, QUIET = call("read", path="a"), call("edit", path="a"), call("nothing_to_report", reason="as before")
REPLIES = st.sampled_from(
    [
        says("I propose.", PROPOSE),
        says("It is reached.", COMPLETE),
        says("It is reached.", COMPLETE),
        says("I cannot.", BLOCKED),
        says("I look.", READS),
        says("I change it.", EDITS),
        says("Both.", READS, COMPLETE),
        says("Nothing to tell.", QUIET),
        says("So."),
        says("So."),
        says("Done."),
        says(" "),
    ]
)


def result_of(asked: ToolCall, draw: Draw) -> ToolResult:
    """Return what a tool of goal mode may say to a call, or any other to any."""
    accepted = draw(st.booleans())
    judged = [{"id": "c1", "met": accepted, "evidence": "x"}]
    more: dict[str, object] = {
        "goal_propose_criteria": {"criteria": ["it is green"]},
        "goal_complete": {"judged": judged, "concludes": "done" if accepted else None},
        "goal_blocked": {"concludes": "blocked"} if accepted else {},
    }
    if asked.tool not in more:
        return draw(RESULTS)
    status = ResultStatus.OK if accepted else ResultStatus.ERROR
    said = more[asked.tool] if accepted or asked.tool == "goal_complete" else {}
    assert isinstance(said, dict)
    return ToolResult.model_validate({**told(status, "so it was").model_dump(), **said})


def done(step: Step, state: RunState, now: datetime, draw: Draw) -> Iterator[Event]:
    """Yield the facts of one step of a run with a goal."""
    effect = step if isinstance(step, Execute) or (isinstance(step, Recover) and step.replay) else None
    if not isinstance(step, CallModel) and effect is None:
        yield from recorded(step, state, now, draw)
        return
    died = bool(state.calling or (state.unsettled and state.unsettled.started and not state.unsettled.in_doubt))
    yield RunAcquired(at=now, epoch=state.epoch + 1, worker="one", lease_broken=died)
    if isinstance(step, CallModel):
        said = {"iteration": step.iteration, "model": "test/model", "request_hash": "hash"}
        besides = asides(state, running_s(state, now))
        yield ModelCallStarted.model_validate({"at": now, **said, "asides": besides.texts, "hurries": besides.hurries})
        if draw(st.integers(0, 9)):
            yield replied(step.iteration, draw(REPLIES), when=now)
    elif effect:
        yield CallStarted(at=now, call_id=effect.call_id)
        if draw(st.integers(0, 9)):
            found = result_of(state.call(effect.call_id).call, draw)
            yield CallFinished(at=now, call_id=effect.call_id, result=found)


def driven(request: RunRequested, draw: Draw) -> RunState:
    """Return a run that was driven to its end."""
    state, now = opened(request), request.at
    for _ in range(MOST_STEPS):
        now += SECOND
        step = next_step(state, now)
        if isinstance(step, Rest):
            break
        if isinstance(step, AwaitUntil):
            now = step.until
        if isinstance(step, AwaitApproval):
            answer = draw(st.sampled_from(Decision))
            state = apply(state, ApprovalDecided(at=now, call_id=step.call_id, decision=answer, by="ada"))
            continue
        state = reduce(apply, done(step, state, now, draw), state)
    return state


@given(st.data(), st.booleans(), st.none() | st.just(ApprovalLevel.AUTO), st.integers(1, 6))
@settings(deadline=None, max_examples=250)
def test_no_run_with_a_goal_ends_well_unless_the_goal_was_found_reached(
    data: st.DataObject, is_named: bool, level: ApprovalLevel | None, turns: int
) -> None:
    job = a_goal_job(*(["it is green"] if is_named else []), turns=turns, limits={"iterations": 12})
    state = driven(a_request(job=job, level=level), data.draw)

    assert state.finished is not None
    assert sum(turn.has_ended for turn in turns_of(state)) <= turns + 1  # The last word on a goal that was reached.
    accepted = [
        place
        for place, known in enumerate(state.calls.values())
        if known.call.tool == "goal_complete" and known.result and known.result.concludes
    ]
    if state.finished.outcome in (Outcome.DONE, Outcome.NOTHING_TO_REPORT):
        assert accepted
        assert not any(changes(known) for known in list(state.calls.values())[accepted[-1] + 1 :])
    if state.finished.reason.startswith("the goal is blocked"):
        assert any(known.result and known.result.concludes == "blocked" for known in state.calls.values())
    view = goal_view(state)
    assert view is not None
    assert (view.status is GoalStatus.COMPLETE) == (state.finished.outcome in (Outcome.DONE, Outcome.NOTHING_TO_REPORT))
