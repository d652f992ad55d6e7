"""Show one tool call with its verdict, the person who was asked, and what came back."""

from __future__ import annotations

from kova_auto.core.call_state import CallState
from kova_auto.core.ids import CallId
from kova_auto.core.loop.values import LoopApproval, LoopCall
from kova_auto.core.tool_names import TASK_WAIT


def loop_call(call: CallState, took_s: float | None, beside: tuple[CallId, ...] = ()) -> LoopCall:
    """Return a call as the loop shows it.

    Args:
        call: What is known of it.
        took_s: Its running time, seconds; None where that is not known.
        beside: Calls that were being executed at the same time, in the model's order.
    """
    verdict, result, approval = call.verdict, call.result, _approval(call)
    waited = approval.decided_at - approval.asked_at if approval and approval.decided_at else None
    return LoopCall(
        call_id=call.call.id,
        tool=call.call.tool,
        arguments=call.call.args if call.call.unparsed is None else call.call.unparsed,
        ruling=verdict.ruling if verdict else None,
        reason=verdict.reason if verdict else "",
        rule=verdict.rule if verdict else "",
        decided_by=call.decision.by if call.decision else None,
        approval=approval,
        took_s=took_s,
        beside=beside,
        awaited_s=_awaited_s(call),
        waited_s=None if waited is None else waited.total_seconds(),
        status=result.status if result else None,
        exit_code=result.exit_code if result else None,
        result=result.text if result else "",
        changed=tuple(change.path for change in result.changes) if result else (),
    )


def _awaited_s(call: CallState) -> float | None:
    if call.call.tool != TASK_WAIT or call.started is None or call.judged_at is None:
        return None
    return max((call.started.at - call.judged_at).total_seconds(), 0.0)


def _approval(call: CallState) -> LoopApproval | None:
    if call.approval is None:
        return None
    asked = LoopApproval(asked_at=call.approval.at, expires_at=call.approval.expires_at)
    said = call.decision
    if said is None:
        return asked
    decided = {"decided_at": said.at, "decision": said.decision, "by": said.by, "note": said.note}
    return asked.model_copy(update={**decided, "changed": said.args is not None})
