"""Write a run's loop for a person: its iterations, what each was trying to do, and why it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kova_auto.cli.ink import Ink
from kova_auto.cli.output import DIM, GREEN, RED, YELLOW
from kova_auto.cli.progress import result_head, spell_child, spell_cost
from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.children.reports import without_preamble
from kova_auto.core.delivery.document import count
from kova_auto.core.delivery.notice import SCRIPTED
from kova_auto.core.delivery.text import one_line
from kova_auto.core.goal.view import GoalView
from kova_auto.core.loop.values import Interlude, Iteration, LoopApproval, LoopAttempt, LoopCall, LoopView
from kova_auto.core.stop_reason import StopReason

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

_BENEATH: Final = "│      "
_NAME: Final = 60
_SENTENCE: Final = 400
_USUAL: Final = frozenset({StopReason.END, StopReason.TOOL_CALLS, None})
_SAID: Final = {
    Decision.ONCE: "allowed it once",
    Decision.REMEMBER: "allowed it for good",
    Decision.DENY: "refused it",
}

Part = tuple[tuple[float, float, float], Iterator[str]]
"""Lines with their place: attempt, iteration, and what comes first of those that share both."""


def loop_lines(view: LoopView, zone: ZoneInfo, ink: Ink) -> Iterator[str]:
    """Yield the loop's lines; those of a subagent stand beneath the call that dispatched it."""
    scripted = f"  {ink(SCRIPTED, YELLOW)}" if view.scripted else ""
    goes_on = f"  goes on with run {view.continues}" if view.continues else ""
    agent = f"  subagent {spell_child(view.agent, view.title)}" if view.agent else ""
    yield f"run {ink(view.run_id, bold=True)}{scripted}{goes_on}{agent}"
    for _, lines in sorted(_parts(view, zone, ink), key=lambda part: part[0]):
        yield from lines
    head, *rest = goal_lines(view.goal, ink) if view.goal else ("",)
    yield from (f"├─ {ink('goal', bold=True)} {head}",) if view.goal else ()
    yield from (f"│    {line}" for line in rest)
    stopped = view.outcome.replace("_", " ") if view.outcome else view.execution
    yield f"└─ {ink(stopped, bold=True)}: {one_line(view.why, _SENTENCE)}"
    yield ink(f"   {view.ran_s:.1f} s · {view.tokens:,} tokens · {spell_cost(view.cost_usd)}", DIM)


def _parts(view: LoopView, zone: ZoneInfo, ink: Ink) -> Iterable[Part]:
    for attempt in view.attempts:
        yield (attempt.number, 0, 0), iter((_attempt(attempt, ink),))
    for interlude in view.interludes:
        yield (interlude.attempt, interlude.before, 0), iter((_interlude(interlude, zone, ink),))
    for iteration in view.iterations:
        yield (iteration.attempt, iteration.number, 1), _iteration(iteration, zone, ink)


def goal_lines(goal: GoalView, ink: Ink) -> Iterator[str]:
    """Yield how far a run has come with its goal."""
    turns = f"turn {goal.turn} of {goal.turns}"
    yield f"{goal.status.replace('_', ' ')}, {turns}: {one_line(goal.objective, _SENTENCE)}"
    for one in goal.criteria:
        found = {None: "not judged yet", True: ink("met", GREEN), False: ink("not met", YELLOW)}[one.met]
        what = f"`{one.command}` ends well" if one.command else one.text
        evidence = f": {one_line(one.evidence, _SENTENCE)}" if one.evidence else ""
        yield f"{one.id} {found}  {one_line(what, _SENTENCE)}{evidence}"
    if goal.blocker:
        yield f"{ink('blocked', YELLOW)}: {one_line(goal.blocker, _SENTENCE)}"


def _attempt(attempt: LoopAttempt, ink: Ink) -> str:
    head = ink(f"── attempt {attempt.number}", bold=True)
    if not attempt.because:
        return f"{head}, asked for by {one_line(attempt.by, _NAME)}"
    when = f" at {attempt.not_before:%H:%M:%S} UTC" if attempt.not_before else ""
    return f"{head}{when}, because {one_line(attempt.because, _SENTENCE)}"


def _interlude(interlude: Interlude, zone: ZoneInfo, ink: Ink) -> str:
    used = f"  {interlude.tokens:,} tokens · {spell_cost(interlude.cost_usd)}" if interlude.tokens else ""
    text = ink(one_line(interlude.text, _SENTENCE), YELLOW)
    return f"│  {ink(_clock(interlude.at, zone), DIM)} {text}{ink(used, DIM)}"


def _iteration(iteration: Iteration, zone: ZoneInfo, ink: Ink) -> Iterator[str]:
    yield f"├─ {ink(f'iteration {iteration.number}', bold=True)}{ink(f'  {_size(iteration)}', DIM)}"
    for text in map(without_preamble, iteration.asides):
        yield f"│    {ink('told besides', YELLOW)}: {one_line(text, _SENTENCE)}"
    for failure in iteration.failures:
        billed = f", {failure.tokens:,} tokens all the same" if failure.tokens else ""
        again = f"; again at {_clock(failure.retry_at, zone)}" if failure.retry_at else ""
        yield f"│    {ink('no reply', RED)} ({failure.error}{billed}): {one_line(failure.message, _SENTENCE)}{again}"
    yield f"│    {ink.fit(iteration.intent, 5) or ('(said nothing)' if iteration.replied else '…')}"
    if iteration.stop not in _USUAL:
        yield f"│    {ink(f'the reply ended early: {iteration.stop}', YELLOW)}"
    for call in iteration.calls:
        yield from _call(call, zone, ink)


def _size(iteration: Iteration) -> str:
    """Return how long an iteration took, how much the model had before it, and what was used."""
    about = "about " if iteration.context_estimated else ""
    first = f", first word after {iteration.first_token_s:.1f} s" if (iteration.first_token_s or 0.0) >= 0.05 else ""
    parts = [f"{iteration.took_s:.1f} s{first}", f"{about}{iteration.context_tokens:,} tokens of context"]
    if iteration.tokens_in or iteration.tokens_out:
        cached = f" ({iteration.tokens_cached:,} cached)" if iteration.tokens_cached else ""
        parts += [
            f"{iteration.tokens_in:,} in{cached}, {iteration.tokens_out:,} out",
            spell_cost(iteration.cost_usd),
        ]
    return " · ".join(parts)


def _call(call: LoopCall, zone: ZoneInfo, ink: Ink) -> Iterator[str]:
    shown = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    yield f"│    → {ink.fit(f'{call.tool} {shown}', 7)}"
    yield f"│      {_verdict(call, ink)}"
    if call.approval:
        yield f"│      {_approval(call.approval, call.waited_s, zone)}"
    if call.status:
        code = f", exit code {call.exit_code}" if call.exit_code else ""
        took = f", {call.took_s:.1f} s" if call.took_s is not None else ""
        beside = f" beside {count(len(call.beside), 'other')}" if call.beside else ""
        awaited = f" after {call.awaited_s:.1f} s of waiting for subagents" if call.awaited_s else ""
        head = f"{call.status}{code}{took}{beside}{awaited}"
        yield f"│    ← {head}: {result_head(call.result, call.status, len(head) + 9, ink)}"
    for path in call.changed:
        yield f"│      wrote {one_line(path, _SENTENCE)}"
    if call.subagent:
        beneath = replace(ink, width=ink.width - len(_BENEATH))
        yield from (f"{_BENEATH}{line}" for line in loop_lines(call.subagent, zone, beneath))
    elif call.child:
        yield f"│      it is run {call.child}"


def _verdict(call: LoopCall, ink: Ink) -> str:
    if call.ruling is None:
        return "not judged yet"
    reason = f": {ink.fit(call.reason, len(call.ruling) + len(call.rule) + 11)}" if call.reason else ""
    return f"{ink(call.ruling, GREEN if call.ruling is Ruling.ALLOW else YELLOW)}{reason}  {ink(call.rule, DIM)}"


def _approval(approval: LoopApproval, waited_s: float | None, zone: ZoneInfo) -> str:
    """Return who was asked when, and what was said."""
    if approval.decision is None or approval.decided_at is None:
        until = f", until {_clock(approval.expires_at, zone)}" if approval.expires_at else ""
        return f"waits for a person since {_clock(approval.asked_at, zone)}{until}"
    said = f"{one_line(approval.by, _NAME)} {_SAID[approval.decision]}"
    changed = " with other arguments" if approval.changed else ""
    note = f": {one_line(approval.note, _SENTENCE)}" if approval.note else ""
    return f"{said}{changed} at {_clock(approval.decided_at, zone)}, after {waited_s or 0.0:.1f} s{note}"


def _clock(instant: datetime, zone: ZoneInfo) -> str:
    return instant.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")
