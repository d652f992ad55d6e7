"""Choose what a run does next: one pure function, read from the top.

Waiting is a step like any other (`Resting`): suspend, resume and crash recovery have no code of their own.
"""

from __future__ import annotations

from datetime import datetime

from kova_auto.core import limits
from kova_auto.core.answer import answer_of, goes_on, is_silent, last_text
from kova_auto.core.approval.levels import Mode
from kova_auto.core.children.waiting import before_end, running, untold
from kova_auto.core.closing import asks_reader
from kova_auto.core.declaring import declared
from kova_auto.core.event import ModelReplied
from kova_auto.core.goal.ending import goal_end
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.output.contract import fits, held
from kova_auto.core.repetition import TOO_OFTEN, circle
from kova_auto.core.requesting import next_request
from kova_auto.core.retrying import begins_again_at
from kova_auto.core.run import RunState
from kova_auto.core.settling import NOBODY, settle_all
from kova_auto.core.starting import missed_start
from kova_auto.core.steps import (
    AssembleContext,
    AwaitChildren,
    AwaitUntil,
    AwaitWorkspace,
    BeginAgain,
    EnterMode,
    Finish,
    Recover,
    Refuse,
    Rest,
    RunChecks,
    Step,
)
from kova_auto.core.stop_reason import StopReason

CONTINUATIONS = 3  # of a reply that the output limit cut off
OUTPUT_LIMIT = "the model's output limit cut its reply off, time and again"
UNANSWERED = "its answer ends with a question, and nobody was there to answer"
PLAN_NOT_CARRIED_OUT = "it made a plan, and nobody was there to let it be carried out"
_ENDING = (StopReason.END, StopReason.TOOL_CALLS)
PAUSES = 5  # in a row that a provider may ask for
DEATHS = 5


def may_rest(state: RunState) -> bool:
    """Say whether anything is there for which a run could rest; where nothing is, its next step acts at any instant."""
    if state.finished or state.not_before or state.failure or state.awaited or state.unsummed or state.children:
        return True
    return any(state.calls[call_id].approval for call_id in state.open_calls)


def next_step(state: RunState, now: datetime) -> Step:
    """Return what the run does next; the first rule that speaks wins."""
    step = _next_step(state, now)
    if isinstance(step, Finish) and state.children and (first := before_end(state, step)):
        return first
    if isinstance(step, Finish) and state.deaths < DEATHS:
        again_at = begins_again_at(state, step.outcome, step.fault, now)
        return BeginAgain(step, again_at) if again_at else step
    return step


def _next_step(state: RunState, now: datetime) -> Step:
    if state.finished:
        return Rest()
    if state.stop:
        return _stopping(state, state.stop.outcome, state.stop.reason)
    if state.request.blocked:
        return _stopping(state, Outcome.BLOCKED, state.request.blocked)
    if too_late := missed_start(state, now):
        return _stopping(state, Outcome.CANCELLED, too_late)
    if state.awaited:
        return AwaitWorkspace(state.awaited.holder)
    if reached := _given_up(state) or limits.always(state, now):
        return _stopping(state, reached.outcome, reached.reason)
    if state.not_before and now < state.not_before and not state.context:
        return AwaitUntil(state.not_before)
    if state.context is None:
        return AssembleContext()
    if call := state.unsettled:
        return settle_all(state, call, now)
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


def _after_calls(state: RunState, now: datetime) -> Step:
    replies = state.replies[state.first_reply :]
    if entering := _entering(state):
        return entering
    if state.children and replies and not replies[-1].calls and replies[-1].reply.stop in _ENDING and running(state):
        return AwaitChildren()  # Their reports belong to its answer.
    if state.mode is Mode.PLAN and state.concludes == Outcome.DONE:
        return Finish(Outcome.DONE, state.plan, PLAN_NOT_CARRIED_OUT, partial=state.hurried)
    if replies and (end := _conclude(state, replies)):
        return end
    if (found := circle(state)) and found.vain >= TOO_OFTEN:
        reason = f"it went in circles: {found.names} {found.vain} times in a row, with the same arguments and results"
        return Finish(Outcome.FAILED, last_text(state), reason, partial=True)
    return next_request(state, now)


def _entering(state: RunState) -> EnterMode | None:
    """Return the step into the mode that the newest calls were let through to; None where they lead to none."""
    for call_id in state.open_calls:
        result = state.calls[call_id].result
        if result and result.enters and result.enters != state.mode:
            return EnterMode(Mode(result.enters), call_id)
    return None


def _conclude(state: RunState, replies: tuple[ModelReplied, ...]) -> Finish | RunChecks | None:
    """Return what the newest reply brings the run to; None where the model is asked again."""
    newest = replies[-1]
    if newest.calls and newest.reply.stop is not StopReason.REFUSED:  # What was refused half-way is asked for no more.
        return _cut_again(state, replies)
    match newest.reply.stop:
        case StopReason.LENGTH:
            return _cut_off(replies, CONTINUATIONS, OUTPUT_LIMIT)
        case StopReason.PAUSED:
            return _cut_off(replies, PAUSES, f"the provider paused {PAUSES + 1} times in a row")
        case StopReason.REFUSED:
            why = f": {newest.reply.stop_detail}" if newest.reply.stop_detail else ""
            return Finish(Outcome.FAILED, "", f"the model refused{why}")
        case StopReason.END | StopReason.TOOL_CALLS:
            return _ended(state, replies)


def _ended(state: RunState, replies: tuple[ModelReplied, ...]) -> Finish | RunChecks | None:
    text = replies[-1].reply.text
    if state.children and (untold(state) or state.iteration + 1 in state.asides):
        return None  # It has been told of them, and has not answered, or is to be told.
    if state.mode is Mode.GOAL:
        end = goal_end(state)
        return held(state, end) if end and end.outcome is Outcome.DONE else end or _silent(replies)
    if state.concludes == Outcome.DONE:
        return held(state, Finish(Outcome.DONE, answer_of(replies), partial=state.hurried))
    if state.concludes:
        return Finish(Outcome(state.concludes), text, declared(state), partial=state.hurried)
    if text.strip() or goes_on(replies[:-1]):
        answer = answer_of(replies)
        if state.request.level is None and asks_reader(answer) and not fits(state, answer):
            return Finish(Outcome.NEEDS_INPUT, answer, UNANSWERED, partial=state.hurried)
        return held(state, Finish(Outcome.DONE, answer, partial=state.hurried))
    return _silent(replies)


def _silent(replies: tuple[ModelReplied, ...]) -> Finish | None:
    """Return the end of a run whose newest reply says nothing, and the one before said nothing either."""
    if replies[-1].reply.text.strip() or len(replies) < 2 or not is_silent(replies[-2]):
        return None
    return Finish(Outcome.FAILED, "", "the model ended its turn without a word, twice")


def _cut_off(replies: tuple[ModelReplied, ...], most: int, reason: str) -> Finish | None:
    """Return the end of a run whose reply goes on and on; None where the model may go on with it."""
    stop = replies[-1].reply.stop
    others = (number for number, reply in enumerate(reversed(replies)) if reply.calls or reply.reply.stop is not stop)
    if next(others, len(replies)) <= most:
        return None
    return Finish(Outcome.FAILED, answer_of(replies), reason, partial=True)


def _cut_again(state: RunState, replies: tuple[ModelReplied, ...]) -> Finish | None:
    """Return the end of a run whose calls the output limit cut off twice in a row."""
    cut = [reply.calls and reply.reply.stop is StopReason.LENGTH for reply in replies[-2:]]
    return Finish(Outcome.FAILED, last_text(state), OUTPUT_LIMIT, partial=True) if len(cut) > 1 and all(cut) else None
