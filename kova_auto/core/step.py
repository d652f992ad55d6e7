"""Choose what a run does next: one pure function, read from the top.

Waiting is a step like any other (`Resting`): suspend, resume and crash recovery have no code of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kova_auto.core import budget, limits
from kova_auto.core.approval.levels import Ruling
from kova_auto.core.closing import asks_reader
from kova_auto.core.event import ApprovalDecided, ModelReplied
from kova_auto.core.fault import Fault
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.patience import following
from kova_auto.core.repetition import TOO_OFTEN, circle
from kova_auto.core.retrying import begins_again_at
from kova_auto.core.run import CallState, RunState
from kova_auto.core.starting import missed_start
from kova_auto.core.stop_reason import StopReason

CONTINUATIONS = 3  # of a reply that the output limit cut off
OUTPUT_LIMIT = "the model's output limit cut its reply off, time and again"
UNANSWERED = "its answer ends with a question, and nobody was there to answer"
PAUSES = 5  # in a row that a provider may ask for
DEATHS = 5
NOBODY = "timeout"  # who decides where the time to answer is over
UNREACHED = "unreachable"  # who decides where nobody could be asked
_UNFINISHED = (StopReason.LENGTH, StopReason.PAUSED)
ARGUMENTS = "arguments"  # rule of a call whose arguments fit no schema: an error, not a refusal


@dataclass(frozen=True, slots=True)
class AssembleContext:
    """Put together what the model is given first."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask a model (`provider/model`) for the reply of an iteration (from 1)."""

    iteration: int
    model: str
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Adjudicate:
    """Decide what may happen to a call."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Ask a person about a call."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class AnswerForNobody:
    """Answer for the person who did not in time, or could not be asked; `by` stands for the name.

    Attributes:
        goes_on: The call asks something: its answer is that nobody is there.
    """

    call_id: CallId
    by: str
    note: str
    goes_on: bool = False


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
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class BeginAgain:
    """End this attempt, and have the run begin anew: the job's policy covers what it comes to.

    Attributes:
        end: What would end the run otherwise.
        not_before: When the next attempt may begin.
    """

    end: Finish
    not_before: datetime


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
class AwaitWorkspace:
    """Rest until the run that has the workspace has finished."""

    holder: RunId


@dataclass(frozen=True, slots=True)
class Rest:
    """Rest for good: the run has finished."""


Resting = AwaitApproval | AwaitUntil | AwaitWorkspace | Rest
Ending = Finish | BeginAgain
Acting = AssembleContext | CallModel | Adjudicate | AskPerson | AnswerForNobody | Refuse | Execute | Recover | Ending
Step = Acting | Resting


def settles(step: Acting) -> bool:
    """Say whether a step only brings to its end what is there: neither a ceiling nor a wish to stop cuts it off."""
    return isinstance(step, Refuse | Ending) or (isinstance(step, Recover) and not step.replay)


def may_rest(state: RunState) -> bool:
    """Say whether anything is there for which a run could rest; where nothing is, its next step acts at any instant."""
    if state.finished or state.not_before or state.failure or state.awaited:
        return True
    return any(state.calls[call_id].approval for call_id in state.open_calls)


def next_step(state: RunState, now: datetime) -> Step:
    """Return what the run does next; the first rule that speaks wins."""
    step = _next_step(state, now)
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
        return _settle_all(state, call, now)
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


def _settle_all(state: RunState, first: CallState, now: datetime) -> Step:
    """Return what settles the first open call; while that waits for a person, those behind it are judged and asked too.

    They are executed in the model's order all the same.
    """
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


def _settle(state: RunState, call: CallState, now: datetime) -> Step:
    if call.in_doubt:
        return Recover(call.call.id)
    if call.verdict is None or state.overtaken(call):
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
    asks = call.verdict is not None and call.verdict.question
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


def _denied(call_id: CallId, said: ApprovalDecided, *, asks: bool) -> Refuse:
    note = f": {said.note}" if said.note else ""
    if asks:
        reason = f"{said.by} gives no answer{note}. Take the most careful reading, and say what you assumed."
        return Refuse(call_id, reason, ResultStatus.ERROR)
    if said.by in (NOBODY, UNREACHED):
        return Refuse(call_id, f"This call needs a person's approval, and it was refused because {said.note}.")
    return Refuse(call_id, f"{said.by} refused this call{note}. Do not repeat it unchanged.")


def _after_calls(state: RunState, now: datetime) -> Step:
    replies = state.replies[state.first_reply :]
    if replies and (end := _conclude(state, replies)):
        return end
    if (found := circle(state)) and found.vain >= TOO_OFTEN:
        reason = f"it went in circles: {found.names} {found.vain} times in a row, with the same arguments and results"
        return Finish(Outcome.FAILED, last_text(state), reason, partial=True)
    pin = state.pin
    if failure := state.failure:
        if not failure.retryable:
            other = following(state)
            if other is None:
                reason = f"{failure.error}: {failure.message}"
                return Finish(Outcome.FAILED, last_text(state), reason, partial=bool(replies), fault=failure.fault)
            pin = other
        elif failure.retry_at and now < failure.retry_at:
            return AwaitUntil(failure.retry_at)
    room = budget.next_call(state, pin)
    if isinstance(room, limits.Reached):
        return Finish(room.outcome, last_text(state), room.reason, partial=True)
    return CallModel(state.iteration + 1, pin.name, room.max_output_tokens)


def _conclude(state: RunState, replies: tuple[ModelReplied, ...]) -> Finish | None:
    """Return the end that the newest reply brings; None where the model is asked again."""
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


def _ended(state: RunState, replies: tuple[ModelReplied, ...]) -> Finish | None:
    text = replies[-1].reply.text
    if state.concludes:
        return Finish(Outcome(state.concludes), text, partial=state.hurried)
    if text.strip() or _goes_on(replies[:-1]):
        answer = answer_of(replies)
        if state.request.level is None and asks_reader(answer):
            return Finish(Outcome.NEEDS_INPUT, answer, UNANSWERED, partial=state.hurried)
        return Finish(Outcome.DONE, answer, partial=state.hurried)
    if len(replies) > 1 and _is_silent(replies[-2]):
        return Finish(Outcome.FAILED, "", "the model ended its turn without a word, twice")
    return None


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


def _is_silent(reply: ModelReplied) -> bool:
    return not reply.calls and not reply.reply.text.strip() and reply.reply.stop is StopReason.END


def _goes_on(replies: tuple[ModelReplied, ...]) -> bool:
    """Say whether what comes next belongs to the reply before: that was cut off, or paused, with something said."""
    return bool(answer_of(replies).strip()) and replies[-1].reply.stop in _UNFINISHED and not replies[-1].calls


def answer_of(replies: tuple[ModelReplied, ...]) -> str:
    """Return the text of the last reply, with what it went on with after having been cut off or paused."""
    parts: list[str] = []
    for reply in reversed(replies):
        if parts and (reply.calls or reply.reply.stop not in _UNFINISHED):
            break
        parts.append(reply.reply.text)
    return "".join(reversed(parts))


def last_text(state: RunState) -> str:
    """Return the last text that this attempt's model wrote, empty if it wrote none."""
    replies = state.replies[state.first_reply :]
    texts = (answer_of(replies[:end]) for end in range(len(replies), 0, -1))
    return next((text for text in texts if text.strip()), "")
