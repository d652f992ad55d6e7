"""Rows folded from a run's facts: where to look, never what to do.

Stores keep them as tables; a test rebuilds them from the journal and compares.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kova_auto.core.holding import workspace_held
from kova_auto.core.ids import CallId, DeliveryId, EndpointName, JobName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.owed import Owed
from kova_auto.core.reserving import reserved
from kova_auto.core.retrying import said_ended
from kova_auto.core.run import Execution, RunState
from kova_auto.core.step import may_rest, next_step
from kova_auto.core.steps import AwaitApproval, AwaitChildren, AwaitUntil, AwaitWorkspace, Rest
from kova_auto.core.value import Value

EXCERPT = 500


def _line(text: str) -> str:
    """Return text that any database keeps: what a model or a receiver said may hold a NUL, and PostgreSQL cannot."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")


class RunRow(Value):
    """Show one run in a list.

    Attributes:
        reason: Why it ended; while it waits for its next attempt, why the one before did.
        wake_at: When it can go on without anybody doing anything; None: at once, or not at all.
        resting: It waits for a person, an instant, its workspace, or nothing at all.
        cost_usd: None where a price is not known.
        fault: Of the model call that ended it; empty where none did.
        pauses: Why the job's schedule rests since it ended; empty where it goes on.
        holds: The workspace that it has to itself; empty where it has none.
        waits_for: The run that has its workspace; empty where it waits for none.
        kept: What it left to be applied or discarded, which nobody has done yet; empty where that is nothing.
        tokens: Of its children, too, once they have finished; so for `cost_usd`.
        parent: The run that dispatched it; empty where none did.
        root: The first of its line; empty where no run dispatched it.
        agent: The definition that it is of; empty where no run dispatched it.
        reserved_tokens: That it sets aside of what it shares with others; 0 where it shares nothing, and at its end.
        reserved_usd: Likewise.
    """

    run_id: RunId
    job: JobName
    origin: str
    nominal_at: datetime | None
    requested_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    execution: Execution
    outcome: Outcome | None
    reason: str
    partial: bool
    scripted: bool
    staged: bool
    model: str
    mode: str
    level: str
    workspace: str
    attempt: int
    iterations: int
    calls: int
    denied: int
    unknown: int
    tokens: int
    cost_usd: float | None
    answer_excerpt: str
    answer_hash: str
    wake_at: datetime | None
    resting: bool
    fault: str
    pauses: str
    holds: str
    waits_for: str
    kept: str
    parent: str
    root: str
    agent: str
    reserved_tokens: int
    reserved_usd: float


class FamilyUse(Value):
    """Say what the other runs of a family have used.

    Attributes:
        tokens: That count against `limits.tokens`.
        cost_usd: As far as prices are known.
        members: Runs of the family that have not finished, all of them.
        reserved_tokens: That the others set aside, for the reply that is under way or for their next.
        reserved_usd: Likewise.
    """

    tokens: int
    cost_usd: float
    members: int
    reserved_tokens: int
    reserved_usd: float


class UsageRow(Value):
    """Show what one call of a model has used.

    Attributes:
        seq: Position of its fact in the run's journal.
        failed: The call gave no reply; it is billed all the same.
        cost_usd: None where the price is not known.
        agent: The definition of the subagent whose run it was; empty where no run dispatched it.
    """

    run_id: RunId
    seq: int
    job: JobName
    at: datetime
    model: str
    attempt: int
    iteration: int
    failed: bool
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    cost_usd: float | None
    agent: str


class ApprovalRow(Value):
    """Show one call that needed a person."""

    run_id: RunId
    call_id: CallId
    job: JobName
    tool: str
    reason: str
    requested_at: datetime
    expires_at: datetime | None
    decision: str | None
    decided_by: str | None
    decided_at: datetime | None
    open: bool


class DeliveryRow(Value):
    """Show one duty to tell an endpoint.

    Attributes:
        run_id: Of the run that owes it, or of the alert that does (`core/delivery/alert.py`).
    """

    delivery_id: DeliveryId
    run_id: RunId
    job: JobName
    endpoint: EndpointName
    cause: str
    cause_seq: int
    owed_at: datetime
    status: str
    attempts: int
    in_flight: bool
    next_at: datetime | None
    expires_at: datetime | None
    http_status: int | None
    result: str
    detail: str


class DueEndpoint(Value):
    """Say how much is due for one endpoint, and how much of it somebody waits for."""

    endpoint: EndpointName
    due: int
    urgent: int


def run_row(state: RunState) -> RunRow:
    """Return the row of one run."""
    return RunRow(**run_columns(state))


def run_columns(state: RunState) -> dict[str, Any]:
    """Return what is in the row of one run, by its columns: to be compared with an earlier one, and written."""
    request, finished = state.request, state.finished
    results = [call.result.status for call in state.calls.values() if call.result is not None]
    wake_at, resting = _waiting(state)
    set_aside, used = reserved(state), state.used_in_all
    return {
        "run_id": state.run_id,
        "job": JobName(request.job.name),
        "origin": request.origin,
        "nominal_at": request.nominal_at,
        "requested_at": request.at,
        "started_at": state.started_at,
        "finished_at": state.finished_at,
        "execution": state.execution,
        "outcome": finished.outcome if finished else None,
        "reason": _line(finished.reason if finished else why_again(state)),
        "partial": bool(finished and finished.partial),
        "scripted": request.scripted,
        "staged": request.staged,
        "model": state.asked or request.model,
        "mode": state.mode,
        "level": level_of(state),
        "workspace": request.workspace,
        "attempt": state.attempt,
        "iterations": len(state.replies) - state.first_reply,
        "calls": len(state.calls),
        "denied": results.count(ResultStatus.DENIED),
        "unknown": results.count(ResultStatus.UNKNOWN),
        "tokens": used.tokens,
        "cost_usd": used.cost_usd,
        "answer_excerpt": _line(finished.answer[:EXCERPT]) if finished else "",
        "answer_hash": finished.answer_hash if finished else "",
        "wake_at": wake_at,
        "resting": resting,
        "fault": (finished.fault or "") if finished else "",
        "pauses": _line(finished.pauses) if finished else "",
        "holds": workspace_held(state),
        "waits_for": state.awaited.holder if state.awaited else "",
        "kept": _line(finished.kept) if finished and not state.settled else "",
        "parent": request.child_of.run_id if request.child_of else "",
        "root": request.child_of.root if request.child_of else "",
        "agent": request.child_of.agent if request.child_of else "",
        "reserved_tokens": set_aside.tokens,
        "reserved_usd": set_aside.usd,
    }


def usage_rows(state: RunState, known: int = 0) -> tuple[UsageRow, ...]:
    """Return a row for each call of a model that has used anything, oldest first, without the first `known`."""
    return tuple(UsageRow(**columns) for columns in usage_columns(state, known))


def usage_columns(state: RunState, known: int = 0) -> list[dict[str, Any]]:
    """Return what is in these rows, by its columns: to be written."""
    by = state.request.child_of
    return [
        {
            "run_id": state.run_id,
            "seq": spent.seq,
            "job": JobName(state.job.name),
            "at": spent.at,
            "model": spent.model,
            "attempt": spent.attempt,
            "iteration": spent.iteration,
            "failed": spent.failed,
            **spent.usage.__dict__,
            "agent": by.agent if by else "",
        }
        for spent in state.spent[known:]
    ]


def level_of(state: RunState) -> str:
    """Return the name of the level that judges the run's calls."""
    return state.request.level or state.job.automation


def why_again(state: RunState) -> str:
    """Return why a run waits for another attempt; empty where it does not, or somebody asked for it."""
    last = state.retried[-1] if state.retried and not (state.finished or state.started_at) else None
    return said_ended(last) if last else ""


def _waiting(state: RunState) -> tuple[datetime | None, bool]:
    if not may_rest(state):
        return None, False
    match next_step(state, state.last_at or state.request.at):
        case AwaitApproval(until=until):
            return until, True
        case AwaitUntil(until=until) | AwaitChildren(until=until):
            return until, True
        case AwaitWorkspace() | Rest():
            return None, True
        case _:
            return None, False


def approval_rows(state: RunState) -> tuple[ApprovalRow, ...]:
    """Return the rows of the calls that needed a person, in their order."""
    return tuple(
        ApprovalRow(
            run_id=state.run_id,
            call_id=call_id,
            job=JobName(state.job.name),
            tool=_line(call.call.tool),
            reason=_line(call.verdict.reason) if call.verdict else "",
            requested_at=call.approval.at,
            expires_at=call.approval.expires_at,
            decision=call.decision.decision if call.decision else None,
            decided_by=_line(call.decision.by) if call.decision else None,
            decided_at=call.decision.at if call.decision else None,
            open=call.awaits_person and state.finished is None,
        )
        for call_id, call in state.calls.items()
        if call.approval
    )


def delivery_rows(state: RunState) -> tuple[DeliveryRow, ...]:
    """Return the rows of everything the run owes or owed, in their order."""
    return tuple(delivery_row(state.run_id, JobName(state.job.name), owed) for owed in state.deliveries.values())


def delivery_row(run_id: RunId, job: JobName, owed: Owed) -> DeliveryRow:
    """Return the row of one duty."""
    return DeliveryRow(
        delivery_id=owed.id,
        run_id=run_id,
        job=job,
        endpoint=owed.endpoint,
        cause=owed.cause,
        cause_seq=owed.cause_seq,
        owed_at=owed.owed_at,
        status=owed.status,
        attempts=owed.attempts,
        in_flight=owed.in_flight,
        next_at=owed.next_at,
        expires_at=owed.expires_at,
        http_status=owed.http_status,
        result=_line(owed.result),
        detail=_line(owed.detail),
    )
