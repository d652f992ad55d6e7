"""Read the turns out of a run's replies: each ends with an answer that asks for no tool.

A reply that was cut off or paused goes on in the next; one without a word ends nothing.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kova_auto.core.answer import UNFINISHED, answer_of, goes_on
from kova_auto.core.call_state import CallState
from kova_auto.core.event import ModelReplied
from kova_auto.core.message import ResultStatus
from kova_auto.core.state import RunState
from kova_auto.core.stop_reason import StopReason
from kova_auto.core.tool_names import GOAL_TOOLS, REPORT_FAILURE

STALLED_TURNS: Final = 3
_TALK: Final = frozenset((*GOAL_TOOLS, "question", "todo", "nothing_to_report", REPORT_FAILURE, "memory_write"))
_LOOKS: Final = frozenset(("read", "glob", "grep", "task_output", "memory_read", "memory_search"))
_RAN: Final = frozenset((ResultStatus.OK, ResultStatus.ERROR, ResultStatus.UNKNOWN))


@dataclass(frozen=True, slots=True)
class Turn:
    """Hold one turn.

    Attributes:
        number: In its attempt, from 1.
        answer: With which it ended; empty where it goes on.
        calls: Of all its replies, in their order.
    """

    number: int
    answer: str
    calls: tuple[CallState, ...]
    has_ended: bool

    @property
    def has_worked(self) -> bool:
        """Say whether it ran a tool that does more than talk about the goal."""
        return any(map(is_work, self.calls))

    def called(self, tool: str) -> bool:
        """Say whether it called a tool, whatever came of that."""
        return any(call.call.tool == tool for call in self.calls)


def turns_of(state: RunState) -> tuple[Turn, ...]:
    """Return the turns of a run's present attempt, the unfinished one included."""
    return tuple(_turns(state, state.replies[state.first_reply :]))


def _turns(state: RunState, replies: tuple[ModelReplied, ...]) -> Iterator[Turn]:
    first, number = 0, 1
    for end, newest in enumerate(replies, start=1):
        if newest.calls and end < len(replies):
            continue
        mine = replies[first:end]
        has_ended = ends_turn(mine)
        if has_ended or end == len(replies):
            calls = tuple(state.calls[call.id] for reply in mine for call in reply.calls)
            yield Turn(number, answer_of(mine) if has_ended else "", calls, has_ended)
            first, number = end, number + 1


def ends_turn(replies: tuple[ModelReplied, ...]) -> bool:
    """Say whether the newest of these replies ends a turn."""
    newest = replies[-1]
    if newest.calls or newest.reply.stop in (*UNFINISHED, StopReason.REFUSED):
        return False
    return bool(newest.reply.text.strip()) or goes_on(replies[:-1])


def is_work(call: CallState) -> bool:
    """Say whether a call ran that does more than talk about the goal: neither a goal tool, a question, nor a note."""
    ran = call.started is not None and call.result is not None and call.result.status in _RAN
    return ran and call.call.tool not in _TALK


def changes(call: CallState) -> bool:
    """Say whether a call may have changed what the goal was judged by."""
    return is_work(call) and call.call.tool not in _LOOKS


def fingerprint(text: str) -> str:
    """Return what two answers that say the same have in common, as SHA-256: neither blanks nor width count.

    Source: reference on Kova, 3.3.
    """
    plain = unicodedata.normalize("NFKC", text)
    kept = (char for char in plain if not char.isspace() and unicodedata.category(char) != "Cc")
    return hashlib.sha256("".join(kept).encode(errors="replace")).hexdigest()


def has_stalled(turns: Sequence[Turn]) -> bool:
    """Say whether the newest turns did no work and ended with the same words."""
    newest = turns[-STALLED_TURNS:]
    if len(newest) < STALLED_TURNS or any(turn.has_worked or not turn.has_ended for turn in newest):
        return False
    return len({fingerprint(turn.answer) for turn in newest}) == 1
