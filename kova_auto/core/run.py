"""What a run's facts add up to: `fold` the list, `apply` one more.

`apply` refuses what cannot follow (a second result, a second decision). It decides nothing about what happens
next; that is `core/step.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import reduce
from typing import assert_never

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ChangesSettled,
    ClockMoved,
    ContextAssembled,
    DeliveryFinished,
    DeliveryRequeued,
    DeliveryStarted,
    Event,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    ProcessStarted,
    RunAcquired,
    RunFinished,
    RunRequested,
    RunRetried,
    StopRequested,
    WorkspaceAwaited,
    WritePlanned,
)
from kova_auto.core.fault import BUSY
from kova_auto.core.holding import no_wait, unsettleable, wants_workspace
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus, Usage
from kova_auto.core.owed import Cause, for_approval, for_outcome, for_unreached
from kova_auto.core.repetition import call_key
from kova_auto.core.state import CallState, Execution, RunState, Spent, opened, replace

__all__ = ["CallState", "Execution", "RunState", "Spent", "apply", "fold", "opened"]


def fold(events: Iterable[Event]) -> RunState:
    """Return what a run's facts add up to, oldest first.

    Raises:
        IllegalEventError: The list is empty, does not begin with `RunRequested`, or holds what cannot follow.
    """
    rest = iter(events)
    first = next(rest, None)
    if not isinstance(first, RunRequested):
        msg = f"a run's journal begins with run_requested, found {first.kind if first else 'nothing'}"
        raise IllegalEventError(msg)
    return reduce(apply, rest, opened(first))


def apply(state: RunState, event: Event) -> RunState:
    """Return the state after one more fact.

    Raises:
        IllegalEventError: The event cannot follow what is there.
    """
    after = _apply(state, event)
    last_at, ran_s = _timed(after, event, finished=state.finished is not None)
    deaths = 0 if _came_of(state, event) else after.deaths
    return replace(after, seq=state.seq + 1, deaths=deaths, last_at=last_at, ran_s=ran_s)


_REAL = (ResultStatus.OK, ResultStatus.ERROR, ResultStatus.DENIED, ResultStatus.STALE)
_BY_OTHERS = (
    ApprovalDecided,
    StopRequested,
    DeliveryStarted,
    DeliveryFinished,
    DeliveryRequeued,
    RunRetried,
    WorkspaceAwaited,
)


def _came_of(state: RunState, event: Event) -> bool:
    """Say whether a fact shows that its worker got somewhere: what is only told of a call that it cut off does not."""
    if isinstance(event, CallFinished):
        return event.result.status in _REAL and not state.call(event.call_id).in_doubt
    return isinstance(event, ApprovalRequested)


def _timed(state: RunState, event: Event, *, finished: bool) -> tuple[datetime | None, float]:
    """Return when the worker's last fact was, and the running time until then; what others write moves no clock."""
    if finished or isinstance(event, _BY_OTHERS):
        return state.last_at, state.ran_s
    if isinstance(event, RunAcquired) or state.last_at is None:
        return event.at, state.ran_s
    if isinstance(event, ClockMoved):
        return event.at, state.ran_s + event.ran_s
    return event.at, state.ran_s + max((event.at - state.last_at).total_seconds(), 0.0)


def _refuse(state: RunState, event: Event, why: str) -> IllegalEventError:
    return IllegalEventError(f"{event.kind} cannot follow in run {state.run_id}: {why}")


def _apply(state: RunState, event: Event) -> RunState:
    match event:
        case RunRequested():
            raise _refuse(state, event, "the run is open already")
        case RunAcquired():
            return _acquired(state, event)
        case DeliveryStarted() | DeliveryFinished() | DeliveryRequeued():
            return _delivery(state, event)
        case RunRetried():
            return _retried(state, event)
        case WorkspaceAwaited() | ChangesSettled():
            return _about_workspace(state, event)
        case _ if state.finished:
            raise _refuse(state, event, "the run has finished")
        case ClockMoved():
            return state
        case ContextAssembled():
            if state.context:
                raise _refuse(state, event, "its context is assembled")
            return replace(state, context=event)
        case ModelCallStarted():
            if state.calling or state.unsettled:
                raise _refuse(state, event, "a call is open")
            return _asking_model(state, event)
        case ModelReplied():
            return _replied(state, event)
        case ModelCallFailed():
            if not state.calling:
                raise _refuse(state, event, "no model call is open")
            return _model_failed(state, event)
        case (
            CallAdjudicated()
            | ApprovalRequested()
            | ApprovalDecided()
            | CallStarted()
            | ProcessStarted()
            | WritePlanned()
            | CallFinished()
        ):
            return _call(state, event)
        case StopRequested():
            if state.stop:
                raise _refuse(state, event, f"it is stopping already ({state.stop.outcome})")
            return replace(state, stop=event)
        case RunFinished():
            return _finished(state, event)
        case _:
            assert_never(event)


_AboutCall = (
    CallAdjudicated | ApprovalRequested | ApprovalDecided | CallStarted | ProcessStarted | WritePlanned | CallFinished
)


def _call(state: RunState, event: _AboutCall) -> RunState:
    match event:
        case CallAdjudicated():
            call = state.call(event.call_id)
            if call.result or (call.verdict and not state.overtaken(call)):
                raise _refuse(state, event, f"call {event.call_id} is settled")
            return state.changing(event.call_id, verdict=event.verdict, judged_seq=state.seq + 1)
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


def _acquired(state: RunState, event: RunAcquired) -> RunState:
    if state.finished:
        raise _refuse(state, event, "the run has finished")
    if event.epoch <= state.epoch:
        raise _refuse(state, event, f"epoch {event.epoch} is not above {state.epoch}")
    calls = {
        key: replace(call, in_doubt=True) if call.started and call.result is None else call
        for key, call in state.calls.items()
    }
    started = state.started_at or event.at
    deaths = state.deaths + event.lease_broken
    taken = replace(state, epoch=event.epoch, calls=calls, calling=None, started_at=started, deaths=deaths)
    return replace(taken, holds=state.holds or wants_workspace(state), awaited=None)


def _about_workspace(state: RunState, event: WorkspaceAwaited | ChangesSettled) -> RunState:
    if why := no_wait(state, event.holder) if isinstance(event, WorkspaceAwaited) else unsettleable(state):
        raise _refuse(state, event, why)
    return replace(state, awaited=event) if isinstance(event, WorkspaceAwaited) else replace(state, settled=event)


def _asking_model(state: RunState, event: ModelCallStarted) -> RunState:
    takes_over = state.asked not in ("", event.model)
    asides = {**state.asides, event.iteration: event.asides} if event.asides else state.asides
    return replace(
        state,
        calling=event,
        asked=event.model,
        failures=0 if takes_over else state.failures,
        failure=None if takes_over else state.failure,  # It was another's: should this call be lost, it is made again.
        asides=asides,
        hurried=state.hurried or event.hurries,
        model_calls=state.model_calls + 1,
    )


def _model_failed(state: RunState, event: ModelCallFailed) -> RunState:
    busy = event.fault in BUSY
    spent = _with_spent(state, event, event.usage) if event.usage else state
    return replace(
        spent,
        calling=None,
        failure=event,
        failures=state.failures + 1,
        failed={**state.failed, busy: state.failed.get(busy, 0) + 1},
    )


def _with_spent(state: RunState, event: ModelReplied | ModelCallFailed, usage: Usage) -> RunState:
    used = Spent(
        seq=state.seq + 1,
        at=event.at,
        attempt=state.attempt,
        iteration=event.iteration,
        model=state.asked,
        usage=usage,
        failed=isinstance(event, ModelCallFailed),
    )
    return replace(state, spent=(*state.spent, used), usage=state.usage.plus(usage))


def _replied(state: RunState, event: ModelReplied) -> RunState:
    if not state.calling:
        raise _refuse(state, event, "no model call is open")
    if event.iteration != state.iteration + 1:
        raise _refuse(state, event, f"iteration {event.iteration} does not follow {state.iteration}")
    added = {call.id: CallState(call) for call in event.calls}
    if len(added) < len(event.calls) or added.keys() & state.calls.keys():
        raise _refuse(state, event, "two calls have one id")
    return replace(
        _with_spent(state, event, event.reply.usage),
        calling=None,
        failures=0,
        failure=None,
        replies=(*state.replies, event),
        calls={**state.calls, **added},
        open_calls=tuple(added),
    )


def _asked(state: RunState, event: ApprovalRequested) -> RunState:
    call = state.call(event.call_id)
    if call.verdict is None or call.verdict.ruling is not Ruling.ASK or call.approval or call.result:
        raise _refuse(state, event, f"call {event.call_id} needs no person")
    asked = state.changing(event.call_id, approval=event, asked_seq=state.seq + 1)
    owed = for_approval(state.request, state.seq + 1, event)
    return replace(asked, deliveries={**asked.deliveries, **owed})


def _decided(state: RunState, event: ApprovalDecided) -> RunState:
    """Take the first answer; what a person changed is another call, and is judged anew."""
    call = state.call(event.call_id)
    if said := call.decision:
        raise _refuse(state, event, f"{said.by} has answered already ({said.decision}, {said.at:%Y-%m-%d %H:%M:%SZ})")
    if not call.awaits_person:
        raise _refuse(state, event, f"call {event.call_id} awaits no decision")
    if event.args is None or event.decision is Decision.DENY:
        decided = state.changing(event.call_id, decision=event)
    else:
        changed = call.call.model_copy(update={"args": event.args, "unparsed": None})
        decided = state.changing(event.call_id, decision=event, call=changed, verdict=None)
    return replace(decided, remembered=state.remembered.plus(event.remembered)) if event.remembered else decided


def _wants_started(state: RunState, event: ProcessStarted | WritePlanned) -> None:
    call = state.call(event.call_id)
    if call.started is None or call.result or call.in_doubt:
        raise _refuse(state, event, f"call {event.call_id} is not being executed")


def _started(state: RunState, event: CallStarted) -> RunState:
    call = state.call(event.call_id)
    if not call.permitted:
        raise _refuse(state, event, f"call {event.call_id} is not permitted")
    if call.result or (call.started and not call.in_doubt):
        raise _refuse(state, event, f"call {event.call_id} was executed")
    return state.changing(event.call_id, started=event, in_doubt=False, process=None, planned=())


def _call_finished(state: RunState, event: CallFinished) -> RunState:
    call, result = state.call(event.call_id), event.result
    if call.result:
        raise _refuse(state, event, f"call {event.call_id} has its result")
    if result.status is ResultStatus.OK and not call.started:
        raise _refuse(state, event, f"call {event.call_id} was never started")
    if result.concludes and result.concludes not in set(Outcome):
        raise _refuse(state, event, f"{result.concludes!r} is no outcome")
    seen = {**state.seen, **result.reads}
    seen.update({change.path: change.after for change in result.changes if change.after})
    done = state.changing(event.call_id, result=result, in_doubt=False)
    if result.status is ResultStatus.DENIED:
        key = call_key(call.call)
        done = replace(done, denials=state.denials + 1, refused={**state.refused, key: state.refused.get(key, 0) + 1})
    return replace(
        done,
        seen=seen,
        todo=result.todo if result.todo is not None else state.todo,
        concludes=result.concludes or state.concludes,
        tainted_by=state.tainted_by or result.taints,
        settled_seq=state.seq + 1,
    )


def _finished(state: RunState, event: RunFinished) -> RunState:
    if state.unsettled:
        raise _refuse(state, event, "a call has no result yet")
    owed = for_outcome(state.request, state.seq + 1, event)
    ended = replace(state, finished=event, finished_at=event.at, calling=None, holds=False, awaited=None)
    return replace(ended, deliveries={**state.deliveries, **owed})


def _unretriable(state: RunState, event: RunRetried) -> str:
    """Return why no further attempt can begin; empty where one can."""
    if event.ended is None:
        return "" if state.finished else "the run has not finished"
    if state.finished:
        return "the run has finished"
    if state.stop and state.stop.outcome is not event.ended:
        return f"it is being ended as {state.stop.outcome}"
    return "a call has no result yet" if state.unsettled else ""


def _retried(state: RunState, event: RunRetried) -> RunState:
    if why := _unretriable(state, event):
        raise _refuse(state, event, why)
    if event.attempt != state.attempt + 1:
        raise _refuse(state, event, f"attempt {event.attempt} does not follow {state.attempt}")
    day_usd = state.day_before_usd
    if event.ended is None:
        day_usd = day_usd + state.charged_usd if event.day_spent_usd is None else event.day_spent_usd
    return replace(
        opened(state.request),
        day_before_usd=day_usd,
        seq=state.seq,
        epoch=state.epoch,
        attempt=event.attempt,
        retried=(*state.retried, event),
        replies=state.replies,
        first_reply=len(state.replies),
        calls=state.calls,
        model_calls=state.model_calls,
        usage=state.usage,
        spent=state.spent,
        not_before=event.not_before,
        holds=state.holds,
        deliveries=state.deliveries,
        remembered=state.remembered,
        tainted_by=state.tainted_by,
    )


def _delivery(state: RunState, event: DeliveryStarted | DeliveryFinished | DeliveryRequeued) -> RunState:
    owed = state.deliveries.get(event.delivery_id)
    if owed is None:
        raise _refuse(state, event, f"nothing is owed as {event.delivery_id}")
    try:
        changed = owed.after(event)
    except ValueError as exc:
        raise _refuse(state, event, str(exc)) from exc
    deliveries = {**state.deliveries, event.delivery_id: changed}
    if isinstance(event, DeliveryFinished) and changed.cause is Cause.APPROVAL:
        deliveries |= for_unreached(state.request, deliveries, state.seq + 1, event)
    return replace(state, deliveries=deliveries)
