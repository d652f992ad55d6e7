"""Turn a run's facts into what an endpoint is told."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Literal

from pydantic import JsonValue

from kova_auto.core.children.reports import changed_files
from kova_auto.core.consent import Standing
from kova_auto.core.delivery.alert import AlertState
from kova_auto.core.delivery.notice import ApprovalNotice, Change, Denial, Notice, RunReport
from kova_auto.core.delivery.text import clean, visible
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.message import FileChange, ResultStatus
from kova_auto.core.owed import Cause, Owed
from kova_auto.core.run import CallState, RunState
from kova_auto.core.tool_names import PLAN_EXIT
from kova_auto.core.view import level_of

LONGEST_ARGUMENTS = 2000
LONGEST_PLAN = 8000


def notice_of(state: RunState | AlertState, owed: Owed) -> Notice:
    """Return what is told of the event that a duty is about.

    Raises:
        IllegalEventError: There is nothing to tell any more: the run was begun again, or the call is settled.
    """
    if isinstance(state, AlertState):
        return state.raised.notice
    match owed.cause:
        case Cause.OUTCOME:
            return report_of(state)
        case Cause.APPROVAL:
            return _approval(state, owed)
        case Cause.UNREACHED:
            return _unreached(state, owed)
        case Cause.ALERT:
            msg = f"an alert is told, and not by run {state.run_id}"
            raise IllegalEventError(msg)


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
        mode=state.mode,
        level=level_of(state),
        workspace=state.request.workspace,
        nominal_at=state.request.nominal_at,
        started_at=state.started_at,
        finished_at=state.finished_at,
        duration_s=state.ran_s,
        attempts=state.attempt,
        iterations=len(replies),
        tool_calls=len(calls),
        denied=tuple(_denial(call) for call in calls if _is_denied(call)),
        tokens_in=state.used_in_all.input_tokens,
        tokens_out=state.used_in_all.output_tokens,
        cost_usd=state.used_in_all.cost_usd,
        answer=state.finished.answer,
        reason=state.finished.reason,
        partial=state.finished.partial,
        pauses=state.finished.pauses,
        changes=_changes(state, calls),
        inputs=state.request.inputs,
    )


def _is_denied(call: CallState) -> bool:
    return call.result is not None and call.result.status is ResultStatus.DENIED


def _denial(call: CallState) -> Denial:
    return Denial(tool=call.call.tool, reason=call.result.text if call.result else "")


def _changes(state: RunState, calls: list[CallState]) -> tuple[Change, ...]:
    """Return each file once, as the run and its children left it against what was found."""
    workspace = PurePath(state.request.workspace)
    return tuple(Change(path=_shown(one.path, workspace), what=_what(one)) for one in changed_files(state, calls))


def _what(change: FileChange) -> Literal["created", "modified", "deleted"]:
    if change.before is None:
        return "created"
    return "deleted" if change.after is None else "modified"


def _shown(path: str, workspace: PurePath) -> str:
    return str(PurePath(path).relative_to(workspace)) if PurePath(path).is_relative_to(workspace) else path


def _approval(state: RunState, owed: Owed) -> ApprovalNotice:
    call = _asked(state, owed.cause_seq)
    if call is None or not call.awaits_person:
        msg = f"nobody is asked any more: the call of {owed.owed_at:%Y-%m-%d %H:%M:%S} UTC is settled"
        raise IllegalEventError(msg)
    return request_of(state, call)


def _unreached(state: RunState, owed: Owed) -> ApprovalNotice:
    call = _asked(state, owed.about_seq)
    if call is None:
        msg = f"run {state.run_id} was begun again: nobody is asked any more"
        raise IllegalEventError(msg)
    asked = [duty for duty in state.deliveries.values() if duty.cause_seq == owed.about_seq]
    answers = ", ".join(f"{duty.endpoint}: {duty.detail or duty.result or duty.status}" for duty in asked)
    settled = "" if call.awaits_person else call.result.status if call.result else "decided"
    return request_of(state, call).model_copy(update={"unreached": clean(answers) or "no endpoint", "settled": settled})


def _asked(state: RunState, seq: int) -> CallState | None:
    """Return the call that a request at a position is about."""
    return next((call for call in state.calls.values() if call.approval and call.asked_seq == seq), None)


def request_of(state: RunState, call: CallState) -> ApprovalNotice:
    """Return what a person is told who is asked about a call.

    Raises:
        IllegalEventError: Nobody was asked about it.
    """
    if call.approval is None:
        msg = f"nobody was asked about call {call.call.id}"
        raise IllegalEventError(msg)
    verdict, approval, by = call.verdict, call.approval, state.request.child_of
    return ApprovalNotice(
        run_id=state.run_id,
        job=state.job.name,
        call_id=call.call.id,
        tool=call.call.tool,
        arguments=_plan(state.plan) if call.call.tool == PLAN_EXIT else _arguments(call.call.args),
        reason=verdict.reason if verdict else "",
        rule=verdict.rule if verdict else "",
        asks=bool(verdict and verdict.question),
        remembers=tuple(spell_standing(approval.offer)),
        no_offer=approval.no_offer,
        proposes=tuple(spell_standing(approval.proposed)),
        overwrites=tuple(visible(target.path) for target in approval.targets if target.content),
        subagent=by.agent if by else "",
        parent=by.run_id if by else "",
        root=by.root if by else "",
        scripted=state.request.scripted,
        requested_at=approval.at,
        expires_at=approval.expires_at,
    )


def _plan(text: str) -> str:
    """Return a plan as a person can judge it: nothing in it hides, and what is left out is said."""
    shown = visible(text)
    left = len(shown) - LONGEST_PLAN
    return shown if left <= 0 else f"{shown[:LONGEST_PLAN]}\n… {left} more characters: see the plan's file"


def _arguments(args: Mapping[str, JsonValue]) -> str:
    """Return arguments as a person can judge them: nothing in them hides, and what is left out is said."""
    text = visible(json.dumps(args, ensure_ascii=False, indent=2))
    missing = len(text) - LONGEST_ARGUMENTS
    if missing <= 0:
        return text
    return f"{text[:LONGEST_ARGUMENTS]}\n[… {missing} more characters: kova-auto approvals show says all of it]"


def spell_standing(standing: Standing) -> Iterator[str]:
    """Yield each standing decision as a person reads it."""
    yield from (f"commands: {rule}" for rule in standing.commands)
    yield from (f"writing in {root}" for root in standing.write_roots)
    yield from (f"the tool {tool}" for tool in standing.tools)
