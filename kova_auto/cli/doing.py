"""Say in one short line what a run is doing at this moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kova_auto.cli.progress import spell_call, spell_children
from kova_auto.core.children.waiting import running
from kova_auto.core.delivery.document import count
from kova_auto.core.delivery.notice import SCRIPTED
from kova_auto.core.run import RunState


def doing(state: RunState, now: datetime, children: Sequence[RunState] = ()) -> str:
    """Return what a run is doing at this moment, as one short line; empty where it does nothing.

    Args:
        state: Of the run.
        now: UTC.
        children: Its subagents, and theirs.
    """
    if state.finished:
        return ""
    if state.awaited:
        return f"waits for run {state.awaited.holder} · {_since(state.awaited.at, now)}"
    return _asking(state, now) or _calling(state, now) or _children(state, children, now) or _waiting(state, now)


def _children(state: RunState, children: Sequence[RunState], now: datetime) -> str:
    """Return for whom a run waits, and what the first of them is doing."""
    if not (left := running(state)):
        return ""
    asks = any(child.pending for child in children if not child.finished)
    states = {child.run_id: child for child in children}
    busy = ("waits for a person" if asks else "") or next(
        (said for child in left if child.run_id in states and (said := doing(states[child.run_id], now))), ""
    )
    return f"waits for {spell_children(left)}{f' · {busy}' if busy else ''}"


def _asking(state: RunState, now: datetime) -> str:
    if state.compacting:
        return f"sums up older iterations · {_since(state.compacting.at, now)}"
    if state.checking:
        return f"checks the answer · {_since(state.checking.at, now)}"
    if state.calling:
        who = SCRIPTED if state.request.scripted else f"waiting for {state.calling.model}"
        return f"{who} · {_since(state.calling.at, now)}"
    return ""


def _calling(state: RunState, now: datetime) -> str:
    calls = [(call.call, call.started.at) for call in state.under_way if call.started]
    if calls:
        first, since = calls[0]
        others = f" and {count(len(calls) - 1, 'other')}" if len(calls) > 1 else ""
        return f"{spell_call(first)}{others} · {_since(since, now)}"
    asked = [call.approval.at for call in state.pending if call.approval]
    if asked:
        return f"waits for a person · {_since(min(asked), now)} · kova-auto approvals list shows how to answer"
    return ""


def _waiting(state: RunState, now: datetime) -> str:
    if state.not_before and state.not_before > now:
        return f"begins attempt {state.attempt} in {_since(now, state.not_before)}"
    if state.failure and state.failure.retry_at and state.failure.retry_at > now:
        return f"asks the model again in {_since(now, state.failure.retry_at)}"
    if state.unsummed and (retry_at := state.unsummed[-1].retry_at) and retry_at > now:
        return f"asks for a summary again in {_since(now, retry_at)}"
    return ""


def _since(begin: datetime, end: datetime) -> str:
    return f"{max((end - begin).total_seconds(), 0):.0f} s"
