"""What the facts about a call add to a run."""

from __future__ import annotations

from typing import assert_never

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ProcessStarted,
    WritePlanned,
)
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus, ToolResult
from kova_auto.core.owed import for_approval
from kova_auto.core.repetition import call_key
from kova_auto.core.run_children import dispatching, with_result
from kova_auto.core.skill_facts import UsedSkill
from kova_auto.core.state import RunState, refused, replace
from kova_auto.core.tool_names import LOOKS, TASK

AboutCall = (
    CallAdjudicated | ApprovalRequested | ApprovalDecided | CallStarted | ProcessStarted | WritePlanned | CallFinished
)


def about_call(state: RunState, event: AboutCall) -> RunState:
    """Return the state after a fact about one of its calls; raise IllegalEventError where it cannot follow."""
    match event:
        case CallAdjudicated():
            call = state.call(event.call_id)
            if call.result or (call.verdict and not state.overtaken(call)):
                raise refused(state, event, f"call {event.call_id} is settled")
            return state.changing(event.call_id, verdict=event.verdict, judged_seq=state.seq + 1, judged_at=event.at)
        case ApprovalRequested():
            return _asked(state, event)
        case ApprovalDecided():
            return _decided(state, event)
        case CallStarted():
            return _started(state, event)
        case ProcessStarted():
            _wants_started(state, event)
            return state.changing(event.call_id, process=event)
        case WritePlanned():
            _wants_started(state, event)
            return state.changing(event.call_id, planned=(*state.call(event.call_id).planned, event))
        case CallFinished():
            return _call_finished(state, event)
        case _:
            assert_never(event)


def _asked(state: RunState, event: ApprovalRequested) -> RunState:
    call = state.call(event.call_id)
    if call.verdict is None or call.verdict.ruling is not Ruling.ASK or call.approval or call.result:
        raise refused(state, event, f"call {event.call_id} needs no person")
    asked = state.changing(event.call_id, approval=event, asked_seq=state.seq + 1)
    owed = for_approval(state.request, state.seq + 1, event)
    return replace(asked, deliveries={**asked.deliveries, **owed})


def _decided(state: RunState, event: ApprovalDecided) -> RunState:
    """Take the first answer; what a person changed is another call, and is judged anew."""
    call = state.call(event.call_id)
    if said := call.decision:
        raise refused(state, event, f"{said.by} has answered already ({said.decision}, {said.at:%Y-%m-%d %H:%M:%SZ})")
    if not call.awaits_person:
        raise refused(state, event, f"call {event.call_id} awaits no decision")
    if event.args is None or event.decision is Decision.DENY:
        decided = state.changing(event.call_id, decision=event)
    else:
        changed = call.call.model_copy(update={"args": event.args, "unparsed": None})
        decided = state.changing(event.call_id, decision=event, call=changed, verdict=None)
    return replace(decided, remembered=state.remembered.plus(event.remembered)) if event.remembered else decided


def _wants_started(state: RunState, event: ProcessStarted | WritePlanned) -> None:
    call = state.call(event.call_id)
    if call.started is None or call.result or call.in_doubt:
        raise refused(state, event, f"call {event.call_id} is not being executed")


def _started(state: RunState, event: CallStarted) -> RunState:
    call = state.call(event.call_id)
    if not call.permitted:
        raise refused(state, event, f"call {event.call_id} is not permitted")
    if call.result or (call.started and not call.in_doubt):
        raise refused(state, event, f"call {event.call_id} was executed")
    started = state.changing(
        event.call_id, started=event, started_seq=state.seq + 1, in_doubt=False, process=None, planned=()
    )
    return dispatching(started, call.call) if call.call.tool == TASK else started


def keeps_verdicts(result: ToolResult) -> bool:
    """Say whether the result of a call that only looks changes no verdict on others."""
    return not result.taints


def _call_finished(state: RunState, event: CallFinished) -> RunState:
    call, result = state.call(event.call_id), event.result
    if call.result:
        raise refused(state, event, f"call {event.call_id} has its result")
    if result.status is ResultStatus.OK and not call.started:
        raise refused(state, event, f"call {event.call_id} was never started")
    if result.concludes and result.concludes not in set(Outcome):
        raise refused(state, event, f"{result.concludes!r} is no outcome")
    seen = {**state.seen, **result.reads}
    seen.update({change.path: change.after for change in result.changes if change.after})
    only_looked = call.call.tool in LOOKS and call.decision is None and keeps_verdicts(result)
    done = state.changing(event.call_id, result=result, in_doubt=False)
    if result.status is ResultStatus.DENIED:
        key = call_key(call.call)
        done = replace(done, denials=state.denials + 1, refused={**state.refused, key: state.refused.get(key, 0) + 1})
    if call.call.tool == TASK or result.reports:
        done = replace(done, children=with_result(state.children, event))
    return replace(
        done,
        seen=seen,
        todo=result.todo if result.todo is not None else state.todo,
        plan=result.plan if result.plan is not None else state.plan,
        plan_file=result.changes[-1].path if result.plan is not None and result.changes else state.plan_file,
        criteria=result.criteria if result.criteria is not None else state.criteria,
        skills=_with_skill(state, result),
        concludes=_concluded(state, result),
        tainted_by=state.tainted_by or result.taints,
        settled_seq=state.settled_seq if only_looked else state.seq + 1,
    )


def _with_skill(state: RunState, result: ToolResult) -> tuple[UsedSkill, ...]:
    """Return the skills that are loaded, as each was last."""
    if result.skill is None:
        return state.skills
    return (*(one for one in state.skills if one.name != result.skill.name), result.skill)


def _concluded(state: RunState, result: ToolResult) -> str | None:
    """Return the outcome that calls have given the run so far: the newest, but nobody is silent about a failure."""
    if state.concludes == Outcome.FAILED and result.concludes == Outcome.NOTHING_TO_REPORT:
        return state.concludes
    return result.concludes or state.concludes
