"""Ask a person about a call, answer for one who is not there, and look again before what was allowed is done."""

from __future__ import annotations

import json

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.consent import ApprovalDecided, ApprovalRequested
from kova_auto.core.message import ResultStatus, ToolResult, told, told_first
from kova_auto.core.run import CallState, RunState
from kova_auto.core.steps import AnswerForNobody, AskPerson
from kova_auto.engine.entry import Entries, Entry
from kova_auto.engine.scene import facts_of, scene_of
from kova_auto.engine.world import Senses

STALE = (
    "Stale: {} has changed since a person was asked about this call. Nothing was executed. Look at what is there now, "
    "and ask again if it is still right."
)


async def ask_person(step: AskPerson, state: RunState, senses: Senses) -> Entries:
    """Write down what a person has to know to decide about a call."""
    facts = await facts_of(step.call_id, state, senses)
    offer = await senses.offers(state, facts)
    targets = await senses.toolbox.targets(facts.call, scene_of(state, senses, step.call_id))
    now, approval = senses.clock.now(), state.job.approval
    keeps = approval.on_timeout == "keep" or state.request.level is not None
    yield Entry(
        ApprovalRequested(
            at=now,
            call_id=step.call_id,
            expires_at=None if keeps else now + approval.timeout,
            offer=offer.kept,
            no_offer=offer.why_not,
            proposed=offer.proposed,
            targets=targets,
        )
    )


async def answer_for_nobody(step: AnswerForNobody, senses: Senses) -> Entries:
    """Write down the answer that stands for the missing one."""
    now, decision = senses.clock.now(), Decision.ONCE if step.goes_on else Decision.DENY
    yield Entry(
        ApprovalDecided(at=now, call_id=step.call_id, decision=decision, by=step.by, note=senses.redact(step.note))
    )


async def overtaken(known: CallState, state: RunState, senses: Senses) -> ToolResult | None:
    """Return what the model is told where the world has changed since a person let a call pass, or None."""
    key = known.call.id
    facts = await facts_of(key, state, senses)
    verdict = adjudicate(facts, senses.policies(state))
    if verdict.ruling is Ruling.DENY:
        return told(ResultStatus.DENIED, verdict.reason)
    before = known.approval.targets if known.approval else ()
    now = {target.path: target for target in await senses.toolbox.targets(known.call, scene_of(state, senses, key))}
    changed = [target.path for target in before if target.path in now and now[target.path] != target]
    if facts.problem or not changed:
        return None
    return told(ResultStatus.STALE, STALE.format(", ".join(changed)))


def with_decision(result: ToolResult, known: CallState) -> ToolResult:
    """Return a result that begins with what a person said or changed, where somebody did."""
    said = known.decision
    if said is None or said.answers or not (said.note or said.args is not None):
        return result
    changed = f" with other arguments: {json.dumps(said.args, ensure_ascii=False)}" if said.args is not None else ""
    note = f" ({said.note})" if said.note else ""
    return told_first(f"[{said.by} allowed this call{changed}{note}]", result)
