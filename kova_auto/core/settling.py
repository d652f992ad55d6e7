"""Choose what settles the calls of a reply: judged, asked about, executed, refused, in the model's order.

Calls that stand next to each other and only look are judged all before the first of them is executed, and those that
need nobody are executed at the same time. Whatever stands behind a call that changes something waits for that.
"""

from __future__ import annotations

from datetime import datetime
from itertools import takewhile

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.children.waiting import waits
from kova_auto.core.event import ApprovalDecided
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import CallState, RunState
from kova_auto.core.steps import (
    Adjudicate,
    AnswerForNobody,
    AskPerson,
    AwaitApproval,
    Execute,
    ExecuteTogether,
    Recover,
    Refuse,
    Step,
)
from kova_auto.core.tool_names import ALONE, LOOKS, PLAN_EXIT, TASK_WAIT

NOBODY = "timeout"  # who decides where the time to answer is over
UNREACHED = "unreachable"  # who decides where nobody could be asked
NOT_ALONE = "{tool} must be the only call of its reply: nothing was done. Make the others first, then call it alone."
PLAN_IS_RESULT = "Nobody carries out plans here: the plan is the result of this run, which ends with it."
ARGUMENTS = "arguments"  # rule of a call whose arguments fit no schema: an error, not a refusal


def settle_all(state: RunState, first: CallState, now: datetime) -> Step:
    """Return what settles the first open call; while that waits for a person, those behind it are judged and asked too.

    They are executed in the model's order all the same, also those that only look.
    """
    if len(state.open_calls) > 1 and first.call.tool in LOOKS and (looking := _looking(state, now)):
        return looking
    step = _settle(state, first, now)
    if not isinstance(step, AwaitApproval):
        return step
    until = step.until
    for call in (state.calls[call_id] for call_id in state.open_calls):
        if call is first or call.result or call.in_doubt or call.started:
            continue
        ahead = _settle(state, call, now)
        if isinstance(ahead, Adjudicate | AskPerson | AnswerForNobody):
            return ahead
        if isinstance(ahead, AwaitApproval) and ahead.until:
            until = min(until, ahead.until) if until else ahead.until
    return AwaitApproval(first.call.id, until)


def _looking(state: RunState, now: datetime) -> Step | None:
    """Return what judges the calls that come next and only look, or executes several of them; None where nothing does.

    One that is refused holds up none of those behind it; one that a person decides about holds up all of them.
    """
    unsettled = (call for call in map(state.call, state.open_calls) if call.result is None)
    calls = list(takewhile(lambda call: call.call.tool in LOOKS, unsettled))
    steps = [_settle(state, call, now) for call in calls]
    for step in steps:
        if isinstance(step, Adjudicate | Recover):
            return step
    together: list[CallId] = []
    for call, step in zip(calls, steps, strict=True):
        if call.decision or not isinstance(step, Execute | Refuse):
            break
        if isinstance(step, Execute):
            together.append(call.call.id)
    return ExecuteTogether(tuple(together)) if len(together) > 1 else None


def _settle(state: RunState, call: CallState, now: datetime) -> Step:
    if call.in_doubt:
        return Recover(call.call.id)
    if call.verdict is None and len(state.open_calls) > 1 and call.call.tool in ALONE:
        return Refuse(call.call.id, NOT_ALONE.format(tool=call.call.tool), ResultStatus.ERROR)
    if call.verdict is None or state.overtaken(call):
        return Adjudicate(call.call.id)
    match call.verdict.ruling:
        case Ruling.ALLOW:
            return _allowed(state, call, now)
        case Ruling.DENY if call.verdict.rule == ARGUMENTS:
            return Refuse(call.call.id, call.verdict.reason, ResultStatus.ERROR)
        case Ruling.DENY:
            return Refuse(call.call.id, call.verdict.reason)
        case Ruling.ASK:
            return _asking(state, call, now)


def _allowed(state: RunState, call: CallState, now: datetime) -> Step:
    """Return what executes a call; one that waits for children is executed when they are there."""
    wait = waits(state, call, now) if call.call.tool == TASK_WAIT and not call.started else None
    return wait or Execute(call.call.id)


def _asking(state: RunState, call: CallState, now: datetime) -> Step:
    asks = call.verdict is not None and call.verdict.question
    if call.call.tool == PLAN_EXIT and _nobody_lets(state, call):
        return Refuse(call.call.id, PLAN_IS_RESULT, ResultStatus.CANCELLED, Outcome.DONE)
    if call.decision:
        return Execute(call.call.id) if call.permitted else _denied(call.call.id, call.decision, asks=asks)
    if call.approval:
        expires = call.approval.expires_at
        if expires and now >= expires:
            return AnswerForNobody(call.call.id, NOBODY, "nobody answered in time", goes_on=asks)
        if (owed := state.unreached(call)) and state.job.approval.on_unreachable == "deny":
            note = f"nobody could be asked: {owed.endpoint}: {owed.detail or owed.result}"
            return AnswerForNobody(call.call.id, UNREACHED, note, goes_on=asks)
        return AwaitApproval(call.call.id, expires)
    if state.request.level is None and state.job.approval.when_needed == "deny" and not asks:
        return Refuse(call.call.id, call.verdict.reason if call.verdict else "")
    return AskPerson(call.call.id)


def _nobody_lets(state: RunState, call: CallState) -> bool:
    """Say whether no person decides about a call: the job does not want to wait for one, or none came in time."""
    if said := call.decision:
        return said.decision is Decision.DENY and said.by in (NOBODY, UNREACHED)
    return call.approval is None and state.request.level is None and state.job.approval.when_needed == "deny"


def _denied(call_id: CallId, said: ApprovalDecided, *, asks: bool) -> Refuse:
    note = f": {said.note}" if said.note else ""
    if asks:
        reason = f"{said.by} gives no answer{note}. Take the most careful reading, and say what you assumed."
        return Refuse(call_id, reason, ResultStatus.ERROR)
    if said.by in (NOBODY, UNREACHED):
        return Refuse(call_id, f"This call needs a person's approval, and it was refused because {said.note}.")
    return Refuse(call_id, f"{said.by} refused this call{note}. Do not repeat it unchanged.")
