"""Write a run's loop for a person: its iterations, what each was trying to do, and why it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator

from kova_auto.cli.ink import Ink
from kova_auto.cli.output import DIM, GREEN, RED, YELLOW
from kova_auto.cli.progress import spell_cost
from kova_auto.core.approval.levels import Ruling
from kova_auto.core.delivery.notice import SCRIPTED
from kova_auto.core.delivery.text import one_line
from kova_auto.core.loop_view import Iteration, LoopAttempt, LoopCall, LoopView

_NAME = 60
_SENTENCE = 400


def loop_lines(view: LoopView, ink: Ink) -> Iterator[str]:
    """Yield the loop's lines."""
    scripted = f"  {ink(SCRIPTED, YELLOW)}" if view.scripted else ""
    yield f"run {ink(view.run_id, bold=True)}{scripted}"
    begun = [*view.attempts]
    for iteration in view.iterations:
        while begun and begun[0].number <= iteration.attempt:
            yield _attempt(begun.pop(0), ink)
        yield from _iteration(iteration, ink)
    yield from (_attempt(attempt, ink) for attempt in begun)
    stopped = view.outcome.replace("_", " ") if view.outcome else view.execution
    yield f"└─ {ink(stopped, bold=True)}: {one_line(view.why, _SENTENCE)}"
    yield ink(f"   {view.ran_s:.1f} s · {view.tokens:,} tokens · {spell_cost(view.cost_usd)}", DIM)


def _attempt(attempt: LoopAttempt, ink: Ink) -> str:
    head = ink(f"── attempt {attempt.number}", bold=True)
    if not attempt.because:
        return f"{head}, asked for by {one_line(attempt.by, _NAME)}"
    when = f" at {attempt.not_before:%H:%M:%S} UTC" if attempt.not_before else ""
    return f"{head}{when}, because {one_line(attempt.because, _SENTENCE)}"


def _iteration(iteration: Iteration, ink: Ink) -> Iterator[str]:
    used = f" · {iteration.tokens_in:,} in, {iteration.tokens_out:,} out · {spell_cost(iteration.cost_usd)}"
    size = ink(f"  {iteration.took_s:.1f} s{used if iteration.tokens_in or iteration.tokens_out else ''}", DIM)
    yield f"├─ {ink(f'iteration {iteration.number}', bold=True)}{size}"
    for failure in iteration.failures:
        billed = f", {failure.tokens:,} tokens all the same" if failure.tokens else ""
        yield f"│    {ink('no reply', RED)} ({failure.error}{billed}): {one_line(failure.message, _SENTENCE)}"
    yield f"│    {ink.fit(iteration.intent, 5) or ('(said nothing)' if iteration.replied else '…')}"
    for call in iteration.calls:
        yield from _call(call, ink)


def _call(call: LoopCall, ink: Ink) -> Iterator[str]:
    shown = call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)
    ruling = ink(call.ruling, GREEN if call.ruling is Ruling.ALLOW else YELLOW) if call.ruling else "not judged yet"
    by = f", answered by {one_line(call.decided_by, _NAME)}" if call.decided_by else ""
    asked = ink.fit(f"{call.tool} {shown}", len(call.ruling or "not judged yet") + len(call.rule) + len(by) + 10)
    yield f"│    → {asked}  {ruling} {ink(call.rule, DIM)}{by}"
    if call.status:
        yield f"│    ← {call.status}: {ink.fit(call.result, len(call.status) + 9)}"
    for path in call.changed:
        yield f"│      wrote {one_line(path, _SENTENCE)}"
