"""Walk at random over the facts that may follow, as a property test's generator of whole runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random

from kova_auto.core.approval.levels import Decision, Mode, Ruling
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ChangesSettled,
    CheckResult,
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
    Previous,
    ProcessStarted,
    RunAcquired,
    RunFinished,
    RunRequested,
    RunRetried,
    StopRequested,
    WorkspaceAwaited,
    WritePlanned,
)
from kova_auto.core.fault import Fault
from kova_auto.core.ids import CallId, RunId, blob_hash, child_run_id
from kova_auto.core.job import Outcome
from kova_auto.core.message import FileChange, ResultStatus, TextPart, ToolResult, Usage, told
from kova_auto.core.owed import Owed
from kova_auto.core.retrying import BY_POLICY
from kova_auto.core.run import RunState, apply
from tests.support import a_job, a_request, call, replied, ruled, says

A_CHANGE = FileChange(path="/srv/app/a", before=None, after=blob_hash(b"new"))
_ASIDE = (RunAcquired, StopRequested, RunFinished, RunRetried, DeliveryStarted, DeliveryFinished, DeliveryRequeued)


def a_talkative_request(run_id: str) -> RunRequested:
    """Return the opening of a run that owes something whenever it can."""
    name = run_id.partition("@")[0]
    job = a_job(
        name,
        automation="workspace-write",
        approval={"when_needed": "suspend", "notify": ("desk",)},
        notify=({"endpoint": "ci"}, {"endpoint": "team", "when": "change"}, {"endpoint": "team", "when": ("done",)}),
    )
    return a_request(run_id, job=job)


def walk(state: RunState, chance: Random, steps: int) -> Iterator[tuple[RunState, Event]]:
    """Yield facts that may follow, each with the state it follows; the work itself comes up most."""
    now = state.request.at
    for _ in range(steps):
        now += timedelta(seconds=1)
        events = [event for event in candidates(state, now) if follows(state, event)]
        kinds = Counter(event.kind for event in events)
        weights = [(1 if isinstance(event, _ASIDE) else 9) / kinds[event.kind] for event in events]
        event = chance.choices(events, weights)[0]
        yield state, event
        state = apply(state, event)


def follows(state: RunState, event: Event) -> bool:
    """Say whether a fact may follow."""
    try:
        apply(state, event)
    except IllegalEventError:
        return False
    return True


def candidates(state: RunState, now: datetime) -> Iterator[Event]:
    """Yield a fact of every kind, whether it may follow or not."""
    yield WorkspaceAwaited(at=now, holder=RunId("other@1"), job="other")
    yield RunAcquired(at=now, epoch=state.epoch + 1, worker="walker")
    yield ClockMoved(at=now, ran_s=0.5)
    yield ContextAssembled(at=now, system="Be brief.", prompt=(TextPart(text="Look."),), tools=())
    yield from _about_model(state, now)
    yield from _about_turn(state, now)
    for call_id in state.open_calls:
        yield from _about_call(call_id, now)
    yield from _about_family(state, now)
    for owed in state.deliveries.values():
        yield from _about_delivery(owed, now)
    yield from _about_end(state, now)


def _about_model(state: RunState, now: datetime) -> Iterator[Event]:
    iteration = state.iteration + 1
    yield ModelCallStarted(at=now, iteration=iteration, model="test/model", request_hash="hash")
    yield replied(iteration, says("Let me see.", call("read", path="a"), call("bash", command="ls")), when=now)
    yield replied(iteration, says("They look.", call("Task", agent="explorer", task="look")), when=now)
    yield replied(iteration, says("That is all.", cost_usd=None), when=now)
    yield ModelCallFailed(
        at=now,
        iteration=iteration,
        error="ModelUnavailableError",
        message="busy",
        retryable=True,
        retry_at=now + timedelta(seconds=30),
    )
    yield ModelCallFailed(
        at=now,
        iteration=iteration,
        error="ModelUnavailableError",
        message="the stream broke off",
        retryable=True,
        fault=Fault.TRUNCATED,
        usage=Usage(input_tokens=10, output_tokens=3, cost_usd=0.002),
    )


def _about_turn(state: RunState, now: datetime) -> Iterator[Event]:
    iteration = state.iteration
    through, model = max(iteration - 1, state.first_reply), "test/model"
    yield CompactionStarted(
        at=now, iteration=iteration, through=through, model=model, reason="threshold", tokens=900, request_hash="hash"
    )
    yield CompactionFailed(
        at=now, iteration=iteration, error="ModelUnavailable", message="busy", usage=Usage(input_tokens=10)
    )
    for asked in ("", model):
        yield ContextCompacted(
            at=now,
            iteration=iteration,
            through=through,
            summary="It looked\0around.",
            strategy="summary" if asked else "fresh",
            reason="threshold",
            tokens_before=900,
            tokens_after=300,
            model=asked,
            usage=Usage(input_tokens=10, output_tokens=3, cost_usd=0.002) if asked else None,
        )
    for call_id in state.open_calls:
        yield ModeEntered(at=now, mode=Mode.PLAN, call_id=call_id, tools=())
    yield ChecksStarted(at=now, iteration=iteration)
    yield ChecksFinished(at=now, iteration=iteration, results=(CheckResult(command="true", exit_code=0),))


def _about_call(call_id: CallId, now: datetime) -> Iterator[Event]:
    for ruling in Ruling:
        yield CallAdjudicated(at=now, call_id=call_id, verdict=ruled(ruling))
    yield ApprovalRequested(at=now, call_id=call_id, expires_at=now + timedelta(hours=1))
    yield ApprovalDecided(at=now, call_id=call_id, decision=Decision.ONCE, by="ada")
    yield ApprovalDecided(at=now, call_id=call_id, decision=Decision.DENY, by="timeout", note="nobody\0answered")
    yield CallStarted(at=now, call_id=call_id)
    yield ProcessStarted(at=now, call_id=call_id, pid=42, started="1")
    yield WritePlanned(at=now, call_id=call_id, change=A_CHANGE)
    for status in ResultStatus:
        yield CallFinished(at=now, call_id=call_id, result=told(status, "so\0it was"))
    entering = ToolResult(status=ResultStatus.OK, parts=(), enters=Mode.PLAN, plan="First, look.", criteria=("it is",))
    yield CallFinished(at=now, call_id=call_id, result=entering)


def _about_family(state: RunState, now: datetime) -> Iterator[Event]:
    for call_id in state.open_calls:
        run_id = child_run_id(state.run_id, call_id)
        result = told(ResultStatus.OK, "dispatched").model_copy(update={"child": run_id})
        yield CallFinished(at=now, call_id=call_id, result=result)
    for child in state.children.values():
        yield ChildFinished(
            at=now,
            call_id=child.call_id,
            run_id=child.run_id,
            outcome=Outcome.DONE,
            report="So\0it is.",
            usage=Usage(input_tokens=10, output_tokens=3, cost_usd=0.002),
            ran_s=2.0,
            tainted_by="the web page https://example.org",
        )
    yield ChildrenStopped(at=now, call_ids=tuple(state.children), reason="enough")
    yield FamilyCounted(at=now, tokens=100, cost_usd=0.01, members=2, reserved_tokens=700, reserved_usd=0.002)


def _about_delivery(owed: Owed, now: datetime) -> Iterator[Event]:
    attempt = owed.attempts
    yield DeliveryStarted(at=now, delivery_id=owed.id, attempt=attempt + 1)
    yield DeliveryFinished(at=now, delivery_id=owed.id, attempt=attempt, result="delivered", status="delivered")
    yield DeliveryFinished(
        at=now,
        delivery_id=owed.id,
        attempt=attempt,
        result="server_error",
        status="waiting",
        http_status=503,
        detail="no\0thanks",
        next_at=now + timedelta(minutes=1),
    )
    yield DeliveryFinished(at=now, delivery_id=owed.id, attempt=attempt, result="gone", status="dead", http_status=410)
    yield DeliveryRequeued(at=now, delivery_id=owed.id, by="ada")


def _about_end(state: RunState, now: datetime) -> Iterator[Event]:
    yield StopRequested(at=now, outcome=Outcome.CANCELLED, reason="enough", by="ada")
    yield RunFinished(at=now, outcome=Outcome.DONE, answer="All\0well.", kept="a copy\0that differs")
    yield RunFinished(
        at=now,
        outcome=Outcome.FAILED,
        reason="it broke",
        partial=True,
        fault=Fault.AUTH,
        pauses="the key\0was refused",
        previous=Previous(outcome=Outcome.DONE, answer_hash=blob_hash(b"")),
    )
    yield ChangesSettled(at=now, how="applied", by="ada", files=("a",))
    yield RunRetried(at=now, attempt=state.attempt + 1, by="ada", not_before=now + timedelta(minutes=5))
    yield RunRetried(at=now, attempt=state.attempt + 1, by=BY_POLICY, ended=Outcome.FAILED, reason="too\0busy")
