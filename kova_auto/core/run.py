"""What a run's facts add up to: `fold` the list, `apply` one more.

`apply` refuses what cannot follow (a second result, a second decision). It decides nothing about what happens
next; that is `core/step.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import reduce
from typing import assert_never

from kova_auto.core.call_state import CallState
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ChangesSettled,
    ChecksFinished,
    ChecksStarted,
    ChildFinished,
    ChildrenStopped,
    ClockMoved,
    CompactionFailed,
    CompactionStarted,
    ContextAssembled,
    ContextCompacted,
    DeliveryFinished,
    DeliveryRequeued,
    DeliveryStarted,
    Event,
    FamilyCounted,
    ModeEntered,
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
from kova_auto.core.holding import no_wait, unsettleable, wants_workspace
from kova_auto.core.message import ResultStatus
from kova_auto.core.owed import Cause, for_outcome, for_unreached
from kova_auto.core.run_calls import about_call
from kova_auto.core.run_children import about_family, with_told
from kova_auto.core.run_models import about_model
from kova_auto.core.run_turns import about_turn
from kova_auto.core.state import Execution, RunState, Spent, opened, refused, replace

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
    if isinstance(event, ContextAssembled):
        after = replace(after, set_up_s=ran_s)
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
    ChildFinished,
)


def _came_of(state: RunState, event: Event) -> bool:
    """Say whether a fact shows that its worker got somewhere: what is only told of a call that it cut off does not."""
    if isinstance(event, CallFinished):
        return event.result.status in _REAL and not state.call(event.call_id).in_doubt
    return isinstance(event, ApprovalRequested)


def _timed(state: RunState, event: Event, *, finished: bool) -> tuple[datetime | None, float]:
    """Return when the worker's last fact was, and the running time until then; what others write moves no clock."""
    if isinstance(event, ChildFinished) and state.last_at and not finished and _is_idle(state):
        # Whoever waits for its children runs on as long as they do, and rests with them; waking up now and then to
        # look after them is no rest. What a child did before it rested may have been beside another.
        waited_s = max((event.at - state.last_at).total_seconds(), 0.0)
        with_it_s = state.children[event.call_id].since_s + event.ran_s
        return event.at, max(state.ran_s + min(waited_s, event.stretch_s), with_it_s)
    if finished or isinstance(event, _BY_OTHERS):
        return state.last_at, state.ran_s
    if isinstance(event, RunAcquired) or state.last_at is None:
        return event.at, state.ran_s
    if isinstance(event, ClockMoved):
        return event.at, state.ran_s + event.ran_s
    return event.at, state.ran_s + max((event.at - state.last_at).total_seconds(), 0.0)


def _is_idle(state: RunState) -> bool:
    """Say whether nothing of a run's own is under way, and no person is waited for."""
    if state.calling or state.compacting or state.checking or state.awaited:
        return False
    calls = [state.calls[call_id] for call_id in state.open_calls]
    return not any(call.result is None and (call.started or call.approval) for call in calls)


def _apply(state: RunState, event: Event) -> RunState:
    match event:
        case RunRequested():
            raise refused(state, event, "the run is open already")
        case RunAcquired():
            return _acquired(state, event)
        case DeliveryStarted() | DeliveryFinished() | DeliveryRequeued():
            return _delivery(state, event)
        case RunRetried():
            return _retried(state, event)
        case WorkspaceAwaited() | ChangesSettled():
            return _about_workspace(state, event)
        case _ if state.finished:
            raise refused(state, event, "the run has finished")
        case ClockMoved():
            return state
        case ContextAssembled() | ModelCallStarted() | ModelReplied() | ModelCallFailed():
            return about_model(state, event)
        case (
            CompactionStarted()
            | CompactionFailed()
            | ContextCompacted()
            | ModeEntered()
            | ChecksStarted()
            | ChecksFinished()
        ):
            return about_turn(state, event)
        case (
            CallAdjudicated()
            | ApprovalRequested()
            | ApprovalDecided()
            | CallStarted()
            | ProcessStarted()
            | WritePlanned()
            | CallFinished()
        ):
            return about_call(state, event)
        case ChildFinished() | ChildrenStopped() | FamilyCounted():
            return about_family(state, event)
        case StopRequested():
            if state.stop:
                raise refused(state, event, f"it is stopping already ({state.stop.outcome})")
            return replace(state, stop=event)
        case RunFinished():
            return _finished(state, event)
        case _:
            assert_never(event)


def _acquired(state: RunState, event: RunAcquired) -> RunState:
    if state.finished:
        raise refused(state, event, "the run has finished")
    if event.epoch <= state.epoch:
        raise refused(state, event, f"epoch {event.epoch} is not above {state.epoch}")
    calls = {
        key: replace(call, in_doubt=True) if call.started and call.result is None else call
        for key, call in state.calls.items()
    }
    started = state.started_at or event.at
    deaths = state.deaths + event.lease_broken
    taken = replace(
        state,
        epoch=event.epoch,
        calls=calls,
        calling=None,
        compacting=None,
        checking=None,
        counted_seq=0,
        started_at=started,
        deaths=deaths,
        taken_s=state.ran_s,
    )
    return replace(taken, holds=state.holds or wants_workspace(state), awaited=None)


def _about_workspace(state: RunState, event: WorkspaceAwaited | ChangesSettled) -> RunState:
    if why := no_wait(state, event.holder) if isinstance(event, WorkspaceAwaited) else unsettleable(state):
        raise refused(state, event, why)
    return replace(state, awaited=event) if isinstance(event, WorkspaceAwaited) else replace(state, settled=event)


def _finished(state: RunState, event: RunFinished) -> RunState:
    if state.unsettled:
        raise refused(state, event, "a call has no result yet")
    owed = for_outcome(state.request, state.seq + 1, event)
    ended = replace(
        state,
        finished=event,
        finished_at=event.at,
        calling=None,
        compacting=None,
        checking=None,
        holds=False,
        awaited=None,
    )
    return replace(ended, deliveries={**state.deliveries, **owed})


def _unretriable(state: RunState, event: RunRetried) -> str:
    """Return why no further attempt can begin; empty where one can."""
    if state.request.child_of:
        return f"it was dispatched by {state.request.child_of.run_id}, and is not tried again without it"
    if event.ended is None:
        return "" if state.finished else "the run has not finished"
    if state.finished:
        return "the run has finished"
    if state.stop and state.stop.outcome is not event.ended:
        return f"it is being ended as {state.stop.outcome}"
    return "a call has no result yet" if state.unsettled else ""


def _retried(state: RunState, event: RunRetried) -> RunState:
    if why := _unretriable(state, event):
        raise refused(state, event, why)
    if event.attempt != state.attempt + 1:
        raise refused(state, event, f"attempt {event.attempt} does not follow {state.attempt}")
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
        wordings=state.wordings,
        not_before=event.not_before,
        holds=state.holds,
        deliveries=state.deliveries,
        remembered=state.remembered,
        tainted_by=state.tainted_by,
        children=with_told(state.children, tuple(state.children)),  # Whoever begins anew is given no report of them.
        family=state.family,
    )


def _delivery(state: RunState, event: DeliveryStarted | DeliveryFinished | DeliveryRequeued) -> RunState:
    owed = state.deliveries.get(event.delivery_id)
    if owed is None:
        raise refused(state, event, f"nothing is owed as {event.delivery_id}")
    try:
        changed = owed.after(event)
    except ValueError as exc:
        raise refused(state, event, str(exc)) from exc
    deliveries = {**state.deliveries, event.delivery_id: changed}
    if isinstance(event, DeliveryFinished) and changed.cause is Cause.APPROVAL:
        deliveries |= for_unreached(state.request, deliveries, state.seq + 1, event)
    return replace(state, deliveries=deliveries)
