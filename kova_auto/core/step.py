"""Choose what a run does next: one pure function, read from the top.

Waiting is a step like any other (`Resting`): suspend, resume and crash recovery have no code of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kova_auto.core import limits
from kova_auto.core.approval.levels import Ruling
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import CallState, RunState
from kova_auto.core.stop_reason import StopReason

MODEL_ATTEMPTS = 4
DEATHS = 5
NOBODY = "timeout"  # who decides where the time to answer is over
ARGUMENTS = "arguments"  # rule of a call whose arguments fit no schema: an error, not a refusal


@dataclass(frozen=True, slots=True)
class AssembleContext:
    """Put together what the model is given first."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask the model for the reply of an iteration (from 1)."""

    iteration: int


@dataclass(frozen=True, slots=True)
class Adjudicate:
    """Decide what may happen to a call."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Ask a person about a call."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class ExpireApproval:
    """Answer for the person who did not in time."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class Refuse:
    """Tell the model that a call is not executed, and why."""

    call_id: CallId
    reason: str
    status: ResultStatus = ResultStatus.DENIED


@dataclass(frozen=True, slots=True)
class Execute:
    """Do what a call asks."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class Recover:
    """Settle a call that was cut off half-way; `replay` lets a tool that is safe to repeat run again."""

    call_id: CallId
    replay: bool = True


@dataclass(frozen=True, slots=True)
class Finish:
    """End the run."""

    outcome: Outcome
    answer: str = ""
    reason: str = ""
    partial: bool = False


@dataclass(frozen=True, slots=True)
class AwaitApproval:
    """Rest until a person answers, or until the instant."""

    call_id: CallId
    until: datetime | None


@dataclass(frozen=True, slots=True)
class AwaitUntil:
    """Rest until an instant."""

    until: datetime


@dataclass(frozen=True, slots=True)
class Rest:
    """Rest for good: the run has finished."""


Resting = AwaitApproval | AwaitUntil | Rest
Acting = AssembleContext | CallModel | Adjudicate | AskPerson | ExpireApproval | Refuse | Execute | Recover | Finish
Step = Acting | Resting


def settles(step: Acting) -> bool:
    """Say whether a step only brings to its end what is there: neither a ceiling nor a wish to stop cuts it off."""
    return isinstance(step, Refuse | Finish) or (isinstance(step, Recover) and not step.replay)


def next_step(state: RunState, now: datetime) -> Step:
    """Return what the run does next; the first rule that speaks wins."""
    if state.finished:
        return Rest()
    if state.stop:
        return _stopping(state, state.stop.outcome, state.stop.reason)
    if state.request.blocked:
        return _stopping(state, Outcome.BLOCKED, state.request.blocked)
    if reached := _given_up(state) or limits.always(state, now):
        return _stopping(state, reached.outcome, reached.reason)
    if state.not_before and now < state.not_before and not state.context:
        return AwaitUntil(state.not_before)
    if state.context is None:
        return AssembleContext()
    if call := state.unsettled:
        return _settle(state, call, now)
    return _after_calls(state, now)


def _given_up(state: RunState) -> limits.Reached | None:
    """Return why the run is to end, because its workers died or nobody answered."""
    if state.deaths and state.job.policy.on_interrupt == "fail":
        return limits.Reached(Outcome.INTERRUPTED, 'its worker died (policy.on_interrupt = "fail")')
    if state.deaths >= DEATHS:
        return limits.Reached(Outcome.FAILED, f"{state.deaths} workers died in a row, and no call was finished")
    if state.job.approval.on_timeout == "stop":
        for call in (state.calls[call_id] for call_id in state.open_calls):
            if call.decision and call.decision.by == NOBODY:
                return limits.Reached(Outcome.BLOCKED, f"nobody answered in time about {call.call.tool}")
    return None


def _stopping(state: RunState, outcome: Outcome, reason: str) -> Step:
    if call := state.unsettled:
        if call.in_doubt or call.started:
            return Recover(call.call.id, replay=False)
        return Refuse(call.call.id, f"the run was ended before this call: {reason}", ResultStatus.CANCELLED)
    return Finish(outcome, answer=last_text(state), reason=reason, partial=bool(state.replies[state.first_reply :]))


def _settle(state: RunState, call: CallState, now: datetime) -> Step:
    if call.in_doubt:
        return Recover(call.call.id)
    if call.verdict is None:
        return Adjudicate(call.call.id)
    match call.verdict.ruling:
        case Ruling.ALLOW:
            return Execute(call.call.id)
        case Ruling.DENY if call.verdict.rule == ARGUMENTS:
            return Refuse(call.call.id, call.verdict.reason, ResultStatus.ERROR)
        case Ruling.DENY:
            return Refuse(call.call.id, call.verdict.reason)
        case Ruling.ASK:
            return _asking(state, call, now)


def _asking(state: RunState, call: CallState, now: datetime) -> Step:
    reason = call.verdict.reason if call.verdict else ""
    if call.decision:
        if call.permitted:
            return Execute(call.call.id)
        note = f": {call.decision.note}" if call.decision.note else ""
        return Refuse(call.call.id, f"{call.decision.by} refused this call{note}. Do not repeat it unchanged.")
    if call.approval:
        expires = call.approval.expires_at
        return ExpireApproval(call.call.id) if expires and now >= expires else AwaitApproval(call.call.id, expires)
    if state.request.level is None and state.job.approval.when_needed == "deny":
        return Refuse(call.call.id, reason)
    return AskPerson(call.call.id)


def _after_calls(state: RunState, now: datetime) -> Step:
    newest = state.replies[-1] if state.iteration > state.first_reply else None
    if newest and not newest.calls:
        return _conclude(state, newest.reply.stop, newest.reply.text)
    if state.failure:
        if not state.failure.retryable or state.failures >= MODEL_ATTEMPTS:
            return Finish(
                Outcome.FAILED, last_text(state), f"{state.failure.error}: {state.failure.message}", partial=True
            )
        if state.failure.retry_at and now < state.failure.retry_at:
            return AwaitUntil(state.failure.retry_at)
    if reached := limits.before_model(state):
        return Finish(reached.outcome, last_text(state), reached.reason, partial=True)
    return CallModel(state.iteration + 1)


def _conclude(state: RunState, stop: StopReason, text: str) -> Finish:
    if stop is StopReason.LENGTH:
        return Finish(Outcome.FAILED, text, "the reply was cut off by the model's output limit", partial=True)
    if stop is StopReason.REFUSED:
        return Finish(Outcome.FAILED, text, "the model refused")
    if state.concludes:
        return Finish(Outcome(state.concludes), text)
    if not text.strip():
        return Finish(Outcome.FAILED, "", "the model ended its turn without a word")
    return Finish(Outcome.DONE, text)


def last_text(state: RunState) -> str:
    """Return the last text that this attempt's model wrote, empty if it wrote none."""
    texts = (reply.reply.text for reply in reversed(state.replies[state.first_reply :]))
    return next((text for text in texts if text.strip()), "")
