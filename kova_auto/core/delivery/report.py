"""Turn a run's facts into what an endpoint is told."""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Literal

from kova_auto.core.delivery.notice import ApprovalNotice, Change, Denial, Notice, RunReport
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.message import FileChange, ResultStatus
from kova_auto.core.owed import Cause, Owed
from kova_auto.core.run import CallState, RunState
from kova_auto.core.view import level_of

LONGEST_ARGUMENTS = 2000


def notice_of(state: RunState, owed: Owed) -> Notice:
    """Return what is told of the event that a duty is about.

    Raises:
        IllegalEventError: There is nothing to tell any more: the run was begun again, or the call is settled.
    """
    return _approval(state, owed) if owed.cause is Cause.APPROVAL else report_of(state)


def report_of(state: RunState) -> RunReport:
    """Return the report of a finished run.

    Raises:
        IllegalEventError: It has not finished.
    """
    if state.finished is None or state.finished_at is None:
        msg = f"run {state.run_id} has not finished"
        raise IllegalEventError(msg)
    replies = state.replies[state.first_reply :]
    calls = [state.calls[call.id] for reply in replies for call in reply.calls]
    return RunReport(
        run_id=state.run_id,
        job=state.job.name,
        description=state.job.description,
        outcome=state.finished.outcome,
        scripted=state.request.scripted,
        model=state.request.model if state.request.scripted else state.pin.label,
        mode=state.job.mode,
        level=level_of(state),
        workspace=state.request.workspace,
        nominal_at=state.request.nominal_at,
        started_at=state.started_at,
        finished_at=state.finished_at,
        duration_s=state.ran_s,
        iterations=len(replies),
        tool_calls=len(calls),
        denied=tuple(_denial(call) for call in calls if _is_denied(call)),
        tokens_in=state.usage.input_tokens,
        tokens_out=state.usage.output_tokens,
        cost_usd=state.usage.cost_usd,
        answer=state.finished.answer,
        reason=state.finished.reason,
        partial=state.finished.partial,
        pauses=state.finished.pauses,
        changes=_changes(calls, PurePath(state.request.workspace)),
    )


def _is_denied(call: CallState) -> bool:
    return call.result is not None and call.result.status is ResultStatus.DENIED


def _denial(call: CallState) -> Denial:
    return Denial(tool=call.call.tool, reason=call.result.text if call.result else "")


def _changes(calls: list[CallState], workspace: PurePath) -> tuple[Change, ...]:
    """Return each file once, as the run left it against what it found."""
    files: dict[str, FileChange] = {}
    for change in (change for call in calls if call.result for change in call.result.changes):
        first = files.get(change.path, change)
        files[change.path] = change.model_copy(update={"before": first.before})
    kept = (change for change in files.values() if change.before != change.after)
    return tuple(Change(path=_shown(change.path, workspace), what=_what(change)) for change in kept)


def _what(change: FileChange) -> Literal["created", "modified", "deleted"]:
    if change.before is None:
        return "created"
    return "deleted" if change.after is None else "modified"


def _shown(path: str, workspace: PurePath) -> str:
    return str(PurePath(path).relative_to(workspace)) if PurePath(path).is_relative_to(workspace) else path


def _approval(state: RunState, owed: Owed) -> ApprovalNotice:
    for call in state.calls.values():
        if call.approval and call.approval.at == owed.owed_at and call.awaits_person:
            arguments = json.dumps(call.call.args, ensure_ascii=False, indent=2)
            return ApprovalNotice(
                run_id=state.run_id,
                job=state.job.name,
                call_id=call.call.id,
                tool=call.call.tool,
                arguments=arguments[:LONGEST_ARGUMENTS],
                reason=call.verdict.reason if call.verdict else "",
                scripted=state.request.scripted,
                requested_at=call.approval.at,
                expires_at=call.approval.expires_at,
            )
    msg = f"nobody is asked any more: the call of {owed.owed_at:%Y-%m-%d %H:%M:%S} UTC is settled"
    raise IllegalEventError(msg)
