"""Notice a model that goes round in circles: the same calls again, alone or in turns of two or three."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final

from kova_auto.core.call_state import CallState
from kova_auto.core.ids import blob_hash
from kova_auto.core.message import ToolCall
from kova_auto.core.state import RunState

LONGEST_PERIOD: Final = 3
NOTICED: Final = 3
TOO_OFTEN: Final = 5


@dataclass(frozen=True, slots=True)
class Circle:
    """Hold how often in a row the newest calls were made.

    Attributes:
        tools: Of one round.
        times: Rounds with equal arguments.
        vain: Rounds that brought the same results, too.
    """

    tools: tuple[str, ...]
    times: int
    vain: int

    @property
    def names(self) -> str:
        """Return the tools of one round, each once, as words in a sentence."""
        return " and ".join(dict.fromkeys(self.tools))


def circle(state: RunState) -> Circle | None:
    """Return the circle in which an attempt's newest calls go; None where there is none worth a word.

    Calls of tools that are there for being called again and again are left out.
    """
    calls = _newest(state, LONGEST_PERIOD * TOO_OFTEN)
    if len(calls) < NOTICED:
        return None
    asked = [(call.call.tool, canonical(call.call)) for call in calls]
    came = [(key, call.result.status, call.result.parts) for key, call in zip(asked, calls, strict=True) if call.result]
    best: Circle | None = None
    for period in range(1, LONGEST_PERIOD + 1):
        times = _rounds(asked, period)
        if times >= NOTICED and (best is None or times > best.times):
            best = Circle(tuple(tool for tool, _ in asked[-period:]), times, _rounds(came, period))
    return best


def _newest(state: RunState, limit: int) -> list[CallState]:
    polling = {spec.name for spec in state.context.tools if spec.polling} if state.context else set()
    found: list[CallState] = []
    for reply in reversed(state.replies[state.first_reply :]):
        calls = [state.calls[call.id] for call in reply.calls if call.tool not in polling]
        found = [call for call in calls if call.result] + found
        if len(found) >= limit:
            break
    return found[-limit:]


def canonical(call: ToolCall) -> str:
    """Return a call's arguments so that equal ones are one text."""
    if call.unparsed is not None:
        return call.unparsed
    return json.dumps(call.args, sort_keys=True, ensure_ascii=False)


def call_key(call: ToolCall) -> str:
    """Return what tells a call from others: its tool and arguments, as a hash."""
    return blob_hash(f"{call.tool}\0{canonical(call)}".encode(errors="replace"))


def _rounds(keys: Sequence[Hashable], period: int) -> int:
    """Return how often the last `period` keys stand at the end, one behind the other."""
    last, times = keys[-period:], 0
    while len(last) == period and keys[len(keys) - (times + 1) * period : len(keys) - times * period] == last:
        times += 1
        if (times + 1) * period > len(keys):
            break
    return times
