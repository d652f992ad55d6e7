"""Write a replay for a person: where it differs from its recording, and what stayed the same in between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import unified_diff
from typing import Final

from pydantic import JsonValue

from kova_auto.cli.ink import Ink
from kova_auto.cli.output import DIM, GREEN, RED, YELLOW
from kova_auto.core.approval.levels import Ruling, Verdict
from kova_auto.core.delivery.document import count
from kova_auto.core.delivery.text import clean, cut, one_line
from kova_auto.core.replay import Ending, Match, Replay, ReplayedCall, ReplayedIteration

_SENTENCE: Final = 400
_DIFF_LINES: Final = 24
_MARKS: Final = {Match.SAME: "=", Match.MOVED: "~", Match.CHANGED: "!", Match.NEW: "+", Match.MISSING: "-"}
_COLORS: Final = {"-": RED, "+": GREEN, "@": DIM}


def replay_lines(replay: Replay, ink: Ink) -> Iterator[str]:
    """Yield the replay's lines."""
    how = f"asked of {one_line(replay.model_now, _SENTENCE)}" if replay.model_now else "its recorded replies played"
    yield f"replay of run {ink(replay.run_id, bold=True)}, attempt {replay.attempt}, {how}; nothing was executed"
    if replay.unjudged:
        yield f"├─ {ink(one_line(replay.unjudged, _SENTENCE), YELLOW)}"
    for iteration in replay.iterations:
        yield from _iteration(iteration, replay, ink)
    yield f"└─ {_end(replay, ink)}"
    if replay.unreached:
        yield f"   {count(replay.unreached, 'recorded iteration')} it did not come to"
    then = _usage(replay.tokens_then, replay.cost_usd_then)
    yield ink(f"   {_both(then, _usage(replay.tokens_now, replay.cost_usd_now))}", DIM)


def _end(replay: Replay, ink: Ink) -> str:
    why = one_line(replay.why, _SENTENCE)
    if replay.ended is Ending.DIVERGED:
        return f"{ink('diverged here', RED, bold=True)}: call {replay.diverged_at}: {why}"
    differs = ink("differs", YELLOW, bold=True) if replay.differs else ink("no difference", GREEN, bold=True)
    if replay.ended is not Ending.FINISHED:
        return f"{differs}: {why}"
    then = _outcome(replay.outcome_then, partial=replay.partial_then)
    now = _outcome(replay.outcome_now, partial=replay.partial_now)
    return f"{differs}: {_both(then, now)}" + (f": {why}" if replay.reason_now else "")


def _outcome(outcome: str | None, *, partial: bool) -> str:
    return (outcome or "not finished").replace("_", " ") + (", partial" if partial else "")


def _iteration(iteration: ReplayedIteration, replay: Replay, ink: Ink) -> Iterator[str]:
    then = _usage(iteration.tokens_then, iteration.cost_usd_then)
    used = _both(then, _usage(iteration.tokens_now, iteration.cost_usd_now))
    mark = ink("differs", YELLOW) if iteration.differs else ink("same", GREEN)
    yield f"├─ {ink(f'iteration {iteration.number}', bold=True)}  {mark}{ink(f'  {used}', DIM)}"
    if iteration.text_then == iteration.text_now:
        yield f"│    {ink.fit(iteration.text_now or '', 5) or '(said nothing)'}"
    else:
        yield from _texts(iteration, ink)
    for call in iteration.calls:
        yield from _call(call, ink, is_here=replay.diverged_at is not None and call.call_id == replay.diverged_at)


def _texts(iteration: ReplayedIteration, ink: Ink) -> Iterator[str]:
    """Yield the beginning of a unified diff of what was said."""
    then, now = (clean(text or "").splitlines() for text in (iteration.text_then, iteration.text_now))
    lines = list(unified_diff(then, now, "then", "now", n=1, lineterm=""))
    for line in lines[:_DIFF_LINES]:
        yield f"│    {ink(cut(line, ink.width - 5), _COLORS.get(line[:1], ''))}"
    if (left := len(lines) - _DIFF_LINES) > 0:
        yield f"│    … ({count(left, 'more line')})"


def _call(call: ReplayedCall, ink: Ink, *, is_here: bool) -> Iterator[str]:
    arguments = call.arguments_then if call.arguments_now is None else call.arguments_now
    place = f"{call.recorded_id} → {call.call_id}" if call.match is Match.MOVED else call.call_id or call.recorded_id
    ruled = _verdicts(call)
    said = ink.fit(f"{call.tool} {_spelled(arguments)}", len(ruled) + len(f"{place}") + 12)
    color = YELLOW if call.differs else ""
    yield f"│    {_MARKS[call.match]} {place} {ink(said, color)}  {ink(ruled, color or DIM)}"
    if call.match is Match.CHANGED:
        yield f"│      recorded: {ink.fit(f'{call.tool} {_spelled(call.arguments_then)}', 17)}"
    if is_here:
        yield f"│      {ink('diverged here', RED, bold=True)}"
    if call.verdict_then and call.verdict_now and call.verdict_then.reason != call.verdict_now.reason:
        yield f"│      {one_line(call.verdict_now.reason, _SENTENCE)}"


def _spelled(arguments: dict[str, JsonValue] | str | None) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _verdicts(call: ReplayedCall) -> str:
    then, now = call.verdict_then, call.verdict_now
    if call.match is Match.MISSING or now is None:
        return "not asked for now" if call.match is Match.MISSING else "not judged"
    return _both(_ruling(then), _ruling(now)) if call.recorded_id and then else _ruling(now)


def _ruling(verdict: Verdict | None) -> str:
    if verdict is None:
        return "not judged"
    ruling = "needs a person" if verdict.ruling is Ruling.ASK else verdict.ruling
    return f"{ruling} {verdict.rule}"


def _both(then: str, now: str) -> str:
    return now if then == now else f"{then} → {now}"


def _usage(tokens: int, cost_usd: float | None) -> str:
    return f"{tokens:,} tokens, " + ("cost unknown" if cost_usd is None else f"{cost_usd:.4f} USD")
