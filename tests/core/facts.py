"""Facts of one run, one word each; where a fact is about a call, it is the first of the first reply unless said."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import cast

from kova_auto.core.approval.levels import Decision, Ruling, Verdict
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ContextAssembled,
    Event,
    Fact,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    Previous,
    ProcessStarted,
    RunAcquired,
    RunFinished,
    RunRetried,
    StopRequested,
    WritePlanned,
)
from kova_auto.core.ids import CallId, blob_hash
from kova_auto.core.job import Outcome
from kova_auto.core.message import FileChange, ModelReply, ResultStatus, TextPart, ToolResult, told
from kova_auto.core.run import RunState, fold
from tests.support import a_request, at, call, replied, ruled, says

FIRST = CallId("1.1")
SECOND = CallId("1.2")
NOW = at("06:00:02")


def run_of(*facts: Fact | Iterable[Fact], **request: object) -> RunState:
    """Return what these facts add up to, behind the one that opens the run."""
    rest = [fact for given in facts for fact in ([given] if isinstance(given, Fact) else given)]
    return fold(cast("list[Event]", [a_request(**request), *rest]))  # type: ignore[arg-type]  # the request's own fields


def acquired(epoch: int = 1, *, when: datetime = NOW, broken: bool = False) -> RunAcquired:
    """Say that a worker took the run."""
    return RunAcquired(at=when, epoch=epoch, worker=f"worker {epoch}", lease_broken=broken)


def assembled(when: datetime = NOW) -> ContextAssembled:
    """Hold what the model is given first."""
    return ContextAssembled(at=when, system="Be brief.", prompt=(TextPart(text="Look around."),), tools=())


def begun(when: datetime = NOW) -> list[Event]:
    """Bring a run to its first call of the model."""
    return [acquired(when=when), assembled(when)]


def calling(iteration: int = 1, *, when: datetime = NOW) -> ModelCallStarted:
    """Announce a call of the model."""
    return ModelCallStarted(at=when, iteration=iteration, model="test/model", request_hash="hash")


def answered(reply: ModelReply, iteration: int = 1, *, when: datetime = NOW) -> list[Event]:
    """Call the model and get a reply."""
    return [calling(iteration, when=when), replied(iteration, reply, when=when)]


def asks_for(*tools: str) -> list[Event]:
    """Bring a run to a first reply that calls these tools."""
    return [*begun(), *answered(says("Let me see.", *map(call, tools)))]


def two_calls() -> ModelReplied:
    """Hold a first reply with two calls."""
    return replied(1, says("Let me see.", call("read"), call("bash")), when=NOW)


def broke(*, retryable: bool = True, retry_at: datetime | None = None, when: datetime = NOW) -> list[Event]:
    """Call the model and get none."""
    why = {"error": "ModelUnavailable", "message": "busy"}
    return [calling(when=when), ModelCallFailed(at=when, iteration=1, retryable=retryable, retry_at=retry_at, **why)]


def judged(ruling: Ruling, call_id: CallId = FIRST, *, verdict: Verdict | None = None) -> CallAdjudicated:
    """Hold a call's verdict."""
    return CallAdjudicated(at=NOW, call_id=call_id, verdict=verdict or ruled(ruling))


def asked(call_id: CallId = FIRST, *, expires: datetime | None = None) -> ApprovalRequested:
    """Ask a person."""
    return ApprovalRequested(at=NOW, call_id=call_id, expires_at=expires)


def decided(decision: Decision, call_id: CallId = FIRST, *, by: str = "ada", note: str = "") -> ApprovalDecided:
    """Hold a person's answer."""
    return ApprovalDecided(at=NOW, call_id=call_id, decision=decision, by=by, note=note)


def started(call_id: CallId = FIRST) -> CallStarted:
    """Announce a call's effect."""
    return CallStarted(at=NOW, call_id=call_id)


def process(call_id: CallId = FIRST, *, background: bool = False) -> ProcessStarted:
    """Name the process group that a call owns."""
    return ProcessStarted(at=NOW, call_id=call_id, pid=42, started="7", background=background)


def planned(call_id: CallId = FIRST) -> WritePlanned:
    """Announce a write."""
    change = FileChange(path="/srv/app/a", before=None, after=blob_hash(b"new"))
    return WritePlanned(at=NOW, call_id=call_id, change=change)


def result(status: ResultStatus = ResultStatus.OK, call_id: CallId = FIRST, **more: object) -> CallFinished:
    """Hold a call's result."""
    found = ToolResult.model_validate({**told(status, "so it was").model_dump(), **more})
    return CallFinished(at=NOW, call_id=call_id, result=found)


def ran(call_id: CallId = FIRST, **more: object) -> list[Event]:
    """Allow a call, execute it and hold its result."""
    return [judged(Ruling.ALLOW, call_id), started(call_id), result(ResultStatus.OK, call_id, **more)]


def stop(outcome: Outcome = Outcome.CANCELLED) -> StopRequested:
    """Ask a run to end."""
    return StopRequested(at=NOW, outcome=outcome, reason="enough", by="ada")


def ended(
    outcome: Outcome = Outcome.DONE,
    answer: str = "All well.",
    *,
    previous: Previous | None = None,
    when: datetime = NOW,
) -> RunFinished:
    """End a run."""
    return RunFinished(at=when, outcome=outcome, answer=answer, previous=previous)


def retried(attempt: int = 2, *, not_before: datetime | None = None, day_spent_usd: float | None = None) -> RunRetried:
    """Open a finished run again."""
    return RunRetried(at=NOW, attempt=attempt, by="ada", not_before=not_before, day_spent_usd=day_spent_usd)
