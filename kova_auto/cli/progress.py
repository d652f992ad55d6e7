"""Show a run as it goes on: a few lines for each thing that happened, and one for what is happening now.

What a model, a tool or a receiver said is cleaned before it is shown: it must not act on the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Final

from kova_auto.cli.ink import Ink
from kova_auto.cli.output import DIM, GREEN, RED, YELLOW
from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.child import ChildState
from kova_auto.core.children.reports import without_preamble
from kova_auto.core.children.waiting import named, running, waits
from kova_auto.core.delivery.document import count
from kova_auto.core.delivery.notice import SCRIPTED
from kova_auto.core.delivery.text import one_line
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    ChecksFinished,
    ChildFinished,
    ChildrenStopped,
    CompactionFailed,
    ContextAssembled,
    ContextCompacted,
    DeliveryFinished,
    DeliveryRequeued,
    Event,
    ModeEntered,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    RunAcquired,
    RunRequested,
    RunRetried,
    StopRequested,
    WorkspaceAwaited,
)
from kova_auto.core.job import Outcome
from kova_auto.core.loop.interludes import interlude
from kova_auto.core.message import ResultStatus, ToolCall, Usage
from kova_auto.core.retrying import said_ended
from kova_auto.core.run import RunState
from kova_auto.core.tool_names import TASK_WAIT

_LONGEST: Final = 400
_VALUE: Final = 60
_NAMED: Final = 30
_CHILDREN: Final = 4
_RESULTS: Final = {
    ResultStatus.OK: ("ok", GREEN),
    ResultStatus.ERROR: ("error", RED),
    ResultStatus.DENIED: ("refused", YELLOW),
    ResultStatus.UNKNOWN: ("unknown", YELLOW),
    ResultStatus.CANCELLED: ("cancelled", YELLOW),
    ResultStatus.STALE: ("stale", YELLOW),
}
_GOOD: Final = frozenset({Outcome.DONE, Outcome.NOTHING_TO_REPORT})


def progress(event: Event, state: RunState, ink: Ink) -> Iterator[str]:
    """Yield the lines that one fact is worth.

    Args:
        event: The fact.
        state: What the run's facts add up to, this one included.
        ink: Of the place where the lines go.
    """
    match event:
        case RunRequested():
            yield _opened(event, ink)
            yield from _unpriced(event, ink)
        case RunAcquired() if state.epoch > 1 and state.context and not _has_waited(event, state):
            yield ink("taken up again from exactly where it was", DIM)
        case RunRetried():
            yield _again(event, ink)
        case ModelCallStarted():
            yield _iteration(event, state, ink)
            shown = map(without_preamble, event.asides)
            yield from (ink(f"  told besides: {one_line(text, _LONGEST)}", YELLOW) for text in shown)
        case ModelReplied():
            yield from _reply(event, state, ink)
        case ModelCallFailed():
            again = f"; again at {event.retry_at:%H:%M:%S} UTC" if event.retry_at else ""
            yield f"  {ink('the model did not answer', RED)}: {one_line(event.message, _LONGEST)}{again}"
        case CallAdjudicated():
            yield from _judged(event, state, ink)
        case CallFinished():
            yield _result(event, state, ink)
        case StopRequested():
            yield ink(f"is being ended as {event.outcome}: {one_line(event.reason, _LONGEST)}", YELLOW)
        case _:
            yield from _of_others(event, state, ink)


def _of_others(event: Event, state: RunState, ink: Ink) -> Iterator[str]:
    """Yield the lines of what persons, the courier and other runs did."""
    match event:
        case ApprovalRequested():
            yield ink(f"    waits for a person: call {event.call_id}", YELLOW)
        case ApprovalDecided():
            said = _said(event)
            note = f": {one_line(event.note, _LONGEST)}" if event.note else ""
            yield f"    {said} by {one_line(event.by, _VALUE)}{note}"
        case WorkspaceAwaited():
            yield ink(f"waits for run {event.holder} of {event.job}, which has the workspace to itself", YELLOW)
        case DeliveryRequeued():
            yield f"delivery to {_endpoint(event.delivery_id, state)}: asked for again by {one_line(event.by, _VALUE)}"
        case DeliveryFinished():
            yield _delivery(event, state, ink)
        case ChildFinished():
            yield _child_ended(event, state, ink)
        case ChildrenStopped():
            left = count(len(event.call_ids), "subagent")
            yield ink(f"ends {left} first: {one_line(event.reason, _LONGEST)}", YELLOW)
        case CompactionFailed() | ContextAssembled() | ContextCompacted() | ModeEntered() | ChecksFinished():
            told = interlude(event, state)
            yield from (ink(one_line(told.text, _LONGEST), YELLOW),) if told else ()
        case _:
            pass


def _awaits(event: CallAdjudicated, state: RunState) -> str:
    """Return that a call which was let through waits for subagents; empty where it does not."""
    call = state.call(event.call_id)
    if call.call.tool != TASK_WAIT or event.verdict.ruling is not Ruling.ALLOW:
        return ""
    left = [child for child in named(state, call) if child.finished is None]
    return f"waits for {spell_children(left)}" if left and waits(state, call, event.at) else ""


def spell_children(children: Sequence[ChildState]) -> str:
    """Return which subagents are at work, as "2 subagents: explorer (reading), fixer"."""
    shown = ", ".join(spell_child(child.agent, child.title) for child in children[:_CHILDREN])
    more = f" and {len(children) - _CHILDREN} more" if len(children) > _CHILDREN else ""
    return f"{count(len(children), 'subagent')}: {shown}{more}"


def spell_child(agent: str, title: str) -> str:
    """Return which subagent it is, and what it is to do in a few words."""
    about = f" ({one_line(title, _VALUE)})" if title else ""
    return f"{one_line(agent, _NAMED)}{about}"


def _child_ended(event: ChildFinished, state: RunState, ink: Ink) -> str:
    child = state.children[event.call_id]
    words = event.outcome.replace("_", " ") + (", partial" if event.partial else "")
    head = f"{spell_child(f'{child.agent} {event.call_id}', child.title)} "
    used = "" if state.request.scripted else f" · {spell_usage(event.usage)}"
    tail = f" · {event.ran_s:.1f} s · {count(event.iterations, 'iteration')}{used}"
    said = one_line(event.reason or event.report, _LONGEST)
    why = f": {ink.fit(said, len(head) + len(words) + len(tail) + 2)}" if said else ""
    return f"{head}{ink(words, GREEN if event.outcome in _GOOD else RED)}{why}{ink(tail, DIM)}"


def _opened(event: RunRequested, ink: Ink) -> str:
    facts = [
        event.job.mode,
        event.level or event.job.automation,
        ink(SCRIPTED, YELLOW) if event.scripted else " → ".join(pin.label for pin in event.pins) or event.model,
        f"in {one_line(event.job.workspace, _LONGEST)}",
    ]
    if by := event.child_of:
        facts.insert(0, f"subagent {spell_child(by.agent, by.title)}")
    if event.staged:
        facts.append(ink("staged: writes go to a copy, nothing is delivered", YELLOW))
    return f"run {ink(event.run_id, bold=True)}  {' · '.join(facts)}"


def _again(event: RunRetried, ink: Ink) -> str:
    head = ink(f"attempt {event.attempt}", bold=True)
    if because := said_ended(event):
        when = f" at {event.not_before:%H:%M:%S} UTC" if event.not_before else ""
        return f"{head}{when}, because {one_line(because, _LONGEST)}"
    return f"{head}, asked for by {one_line(event.by, _VALUE)}"


def _said(event: ApprovalDecided) -> str:
    if event.decision is Decision.DENY:
        return "refused"
    if event.answers:
        return "answered"
    if event.args is not None:
        return "allowed, with other arguments,"
    return "allowed for good" if event.remembered else "allowed"


def _has_waited(event: RunAcquired, state: RunState) -> bool:
    """Say whether a run is only taken up after a wait that has been told already."""
    answered = any(call.decision and not call.result for call in map(state.call, state.open_calls))
    busy = state.failure is not None and state.failure.retry_at is not None
    return not event.lease_broken and (answered or busy or bool(state.children))


def _unpriced(event: RunRequested, ink: Ink) -> Iterator[str]:
    """Say that money does not bound a run, where it does not."""
    if names := [pin.name for pin in event.pins if pin.price is None]:
        held = f"limits.tokens = {event.job.limits.tokens} bounds it, limits.cost_usd does not"
        yield ink(f"the price of {', '.join(names)} is not known: {held}", YELLOW)


def _iteration(event: ModelCallStarted, state: RunState, ink: Ink) -> str:
    elapsed = ink(f"  +{(event.at - state.started_at).total_seconds():.1f} s", DIM) if state.started_at else ""
    again = f", try {state.failures + 1}" if state.failures else ""
    return f"{ink(f'iteration {event.iteration}', bold=True)}{again}{elapsed}"


def _reply(event: ModelReplied, state: RunState, ink: Ink) -> Iterator[str]:
    """Yield what the model said before its calls; the final answer is shown in full elsewhere."""
    text = ink.fit(event.reply.text or event.reply.reasoning, 2)
    if text and event.calls:
        yield f"  {text}"
    if event.reply.usage.tokens:
        yield ink(f"  {spell_usage(event.reply.usage)}", DIM)
    if not event.calls and (left := running(state)):
        yield ink(f"  waits for {spell_children(left)}", DIM)


def _judged(event: CallAdjudicated, state: RunState, ink: Ink) -> Iterator[str]:
    yield _verdict(event, state.call(event.call_id).call, ink)
    if told := _awaits(event, state):
        yield ink(f"    {told}", DIM)


def _verdict(event: CallAdjudicated, call: ToolCall, ink: Ink) -> str:
    ruling, rule = event.verdict.ruling, event.verdict.rule
    color = GREEN if ruling is Ruling.ALLOW else YELLOW
    return f"  {ink.fit(spell_call(call), len(ruling) + len(rule) + 5)}  {ink(ruling, color)} {ink(rule, DIM)}"


def _result(event: CallFinished, state: RunState, ink: Ink) -> str:
    word, color = _RESULTS[event.result.status]
    of = f", {one_line(spell_call(state.call(event.call_id).call), _NAMED)}" if _stands_apart(event, state) else ""
    head = result_head(event.result.text, event.result.status, len(word) + len(of) + 6, ink)
    return f"    {ink(word, color)}{of}: {head}"


def _stands_apart(event: CallFinished, state: RunState) -> bool:
    """Say whether a result does not stand right behind its call: another was judged just before that, or behind it."""
    own = state.call(event.call_id).judged_seq
    return any(abs(other.judged_seq - own) == 1 for other in map(state.call, state.open_calls) if other.judged_seq)


def result_head(text: str, status: ResultStatus, beside: int, ink: Ink) -> str:
    """Return the first line of what a call brought, and how many more there are; what went wrong is told as one line.

    Args:
        text: What the model was told.
        status: How the call ended.
        beside: How many characters stand on the same line.
        ink: Of the place where the line goes.
    """
    told = text.strip("\n")
    lines = told.count("\n") if status is ResultStatus.OK else 0
    more = f" (+{count(lines, 'line')})" if lines else ""
    shown = ink.fit(told.partition("\n")[0] if lines else told, beside + len(more))
    return f"{shown or '(nothing)'}{ink(more, DIM)}"


def _delivery(event: DeliveryFinished, state: RunState, ink: Ink) -> str:
    color = GREEN if event.status == "delivered" else YELLOW if event.next_at else RED
    again = f"; serve tries again at {event.next_at:%Y-%m-%d %H:%M:%S} UTC" if event.next_at else ""
    detail = f": {one_line(event.detail, _LONGEST)}" if event.detail else ""
    tried = f" (attempt {event.attempt})" if event.attempt > 1 else ""
    return f"delivery to {_endpoint(event.delivery_id, state)}: {ink(event.status, color)}{tried}{detail}{again}"


def _endpoint(delivery_id: str, state: RunState) -> str:
    return next((owed.endpoint for key, owed in state.deliveries.items() if key == delivery_id), delivery_id)


def summary(state: RunState, ink: Ink) -> Iterator[str]:
    """Yield what came of a finished run: each call that was refused, and one line that says the rest."""
    if state.finished is None:
        return
    attempt = [state.calls[call.id] for reply in state.replies[state.first_reply :] for call in reply.calls]
    denied = [call for call in attempt if call.result and call.result.status is ResultStatus.DENIED]
    dispatched = sum(call.call.id in state.children for call in attempt)
    for call in denied:
        reason = one_line(call.result.text, _LONGEST) if call.result else ""
        yield f"{ink('refused', YELLOW)}  {spell_call(call.call)}: {reason}"
    outcome, reason = state.finished.outcome, one_line(state.finished.reason, _LONGEST)
    words = outcome.replace("_", " ") + (", partial" if state.finished.partial else "")
    attempts = [f"{state.attempt} attempts"] if state.attempt > 1 else []
    parts = [
        ink(words, GREEN if outcome in _GOOD else RED, bold=True) + (f": {reason}" if reason else ""),
        *attempts,
        f"{state.ran_s:.1f} s",
        count(len(state.replies) - state.first_reply, "iteration"),
        count(len(attempt), "call") + (f" ({len(denied)} refused)" if denied else ""),
        *([count(dispatched, "subagent")] if dispatched else []),
        ink(SCRIPTED, YELLOW) if state.request.scripted else spell_usage(state.used_in_all),
    ]
    yield " · ".join(parts)


def spell_call(call: ToolCall) -> str:
    """Return a call on one line, its long arguments cut."""
    if call.unparsed is not None:
        return f"{one_line(call.tool, _VALUE)} (arguments that are no JSON object)"
    shown = (
        f"{one_line(name, _VALUE)}={one_line(value if isinstance(value, str) else json.dumps(value), _VALUE)}"
        for name, value in call.args.items()
    )
    return " ".join((one_line(call.tool, _VALUE), *shown))


def spell_usage(usage: Usage) -> str:
    """Return tokens and their price."""
    return f"{usage.tokens:,} tokens" + (f" · {spell_cost(usage.cost_usd)}" if usage.tokens else "")


def spell_cost(cost_usd: float | None) -> str:
    """Return a price."""
    return "cost unknown" if cost_usd is None else f"{cost_usd:.4f} USD"
