"""Decide when older iterations are folded into one text, which of them, and who sums them up.

Whole iterations are folded: a call is never parted from its result, and the newest stay as they are. What the model
says is checked elsewhere (`kept.py`); how it is asked, and what it is shown later, is `summing.py`.

Source: reference on Kova, 7; reference on models, 4.1, lessons (c) and (e).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from kova_auto.core.context.kept import MOST_RESTORED
from kova_auto.core.context.restated import chars_loaded
from kova_auto.core.context.window import DEFAULT_OUTPUT, DEFAULT_WINDOW, limit_of
from kova_auto.core.estimate import (
    CHARS,
    counted_for_one,
    fixed,
    fixed_parts,
    next_input,
    tokens_of_message,
    tokens_of_reply,
    tokens_of_text,
)
from kova_auto.core.event import CompactionFailed, ContextCompacted, ModelReplied
from kova_auto.core.fault import Fault
from kova_auto.core.message import Message
from kova_auto.core.patience import following
from kova_auto.core.pin import ModelPin
from kova_auto.core.state import RunState
from kova_auto.core.steps import Compact
from kova_auto.core.stop_reason import StopReason

LESS: Final = 0.8
"""A compaction is worth something where the request is no larger than this share of what it was."""
TAIL: Final = 20_000
"""Tokens of the newest iterations that stay as they are, at most."""
INSTRUCTION: Final = 600
"""Tokens with which a summary is asked for, and with which it is shown."""
MOST_RESTATED: Final = 48_000
"""Characters of loaded skills that are said again, at most; and no more than a quarter of what a request may have."""
LONG_RESULT: Final = 2_000
"""Characters of a result that are shown where there is no room for all."""
SMALLEST: Final = 256
LARGEST: Final = 4_096
"""Tokens of a summary."""
TRIES: Final = 2
_WORDS_PER_TOKEN: Final = 0.6
_LIGHTER: Final = frozenset({None, Fault.OVERFLOW, Fault.INVALID, Fault.TRUNCATED, Fault.MALFORMED, Fault.TIMEOUT})
"""Faults that a smaller request may not meet; none at all is that of a summary which is not worth having."""
_UNFINISHED: Final = (StopReason.LENGTH, StopReason.PAUSED)


@dataclass(frozen=True, slots=True)
class _Room:
    """Hold what there is room for, in tokens as the provider counts them.

    Attributes:
        limit: Of a request.
        whole: Of the request for a summary.
        before: Of the request that would be made.
        factor: Counted for each that we guess by the characters.
        fixed: In every request.
        summary: Of the text that takes the place of older iterations.
        appended: Of what is said besides in that place.
    """

    limit: int
    whole: int
    before: int
    factor: float
    fixed: int
    summary: int
    appended: int

    def counted(self, tokens: int) -> int:
        return round(self.factor * tokens)


def next_compaction(state: RunState, pin: ModelPin) -> Compact | None:
    """Return how older iterations are folded before a model is asked; None where they need not, or cannot, be.

    Args:
        state: Of a run that calls its model next, every call settled.
        pin: The model.
    """
    if state.request.scripted or pin.capability.trims or state.context is None:
        return None
    reason = _reason(state, pin)
    if reason is None:
        return None
    who = _who(state, pin)
    room = _room(state, who or pin, reason)
    start = _first_kept(state, room, reason)
    if start == 0 and not _history(state):
        return None
    through = state.iteration - len(state.shown) + start
    fresh = Compact(through, reason, room.before)
    return (_asking(state, who, fresh, room) if who else None) or fresh


def _reason(state: RunState, pin: ModelPin) -> Literal["threshold", "overflow"] | None:
    last = state.compactions[-1] if state.compactions else None
    here = last if last and last.iteration == state.iteration else None
    if state.failure and state.failure.fault is Fault.OVERFLOW and pin.name == state.pin.name:
        return None if here and here.reason == "overflow" else "overflow"
    if here and here.model in ("", pin.name):
        return None
    if pin.capability.window is None and fixed(state) >= limit_of(pin.capability):
        return None  # Nobody knows whether that is too much.
    return "threshold" if next_input(state) >= limit_of(pin.capability) else None


def _room(state: RunState, pin: ModelPin, reason: Literal["threshold", "overflow"]) -> _Room:
    known, before, factor = pin.capability, next_input(state), counted_for_one(state)
    window, limit = known.window or DEFAULT_WINDOW, limit_of(known)
    whole = window - most_output(pin) - INSTRUCTION
    if reason == "overflow":
        before = max(before, known.window or 0)
        limit, whole = min(limit, before // 2), min(whole, before // 2)
    every = round(factor * fixed(state))
    appended = _appended(state, limit, factor)
    summary = min(LARGEST, max(SMALLEST, min(limit // 8, int(LESS * limit) - every - appended)))
    return _Room(limit, whole, before, factor, every, summary, appended)


def _appended(state: RunState, limit: int, factor: float) -> int:
    """Return how many tokens are appended to a summary, and stand around it, at most."""
    skills = min(chars_loaded(state), _most_restated(limit)) // CHARS
    return _most_restored(limit) // CHARS + INSTRUCTION // 4 + round(factor * skills)


def _most_restated(limit: int) -> int:
    """Return how many characters of loaded skills are said again at most where a request may have so many tokens."""
    return min(MOST_RESTATED, limit * CHARS // 4)


def _most_restored(limit: int) -> int:
    """Return how many characters are put back at most where a request may have so many tokens: an eighth of it."""
    return min(MOST_RESTORED, limit * CHARS // 8)


def most_output(pin: ModelPin) -> int:
    """Return how many tokens a model may write when it sums up: thoughts are among them, the text is to be shorter."""
    window = pin.capability.window or DEFAULT_WINDOW
    return min(DEFAULT_OUTPUT, pin.capability.max_output or DEFAULT_OUTPUT, max(window // 4, 1))


def _first_kept(state: RunState, room: _Room, reason: str) -> int:
    """Return the place, among the iterations that are shown, of the first that stays; their number where none does."""
    shown = state.shown
    left = int(LESS * room.limit) - room.fixed - room.summary - room.appended
    budget, start, kept = min(TAIL, room.limit // 4, left), len(shown), 0
    for place in range(len(shown) - 1, -1, -1):
        kept += room.counted(tokens_of_reply(state, shown[place]))
        if kept > (left if place == len(shown) - 1 else budget):
            break
        start = place
    while 0 < start < len(shown) and _is_unfinished(shown[start - 1]):
        start -= 1
    if start == 0 and shown:  # It does not fit, as a provider says who counts what we do not see.
        return len(shown) - 1 or (1 if reason == "overflow" else 0)
    return start


def _is_unfinished(reply: ModelReplied) -> bool:
    return reply.reply.stop in _UNFINISHED and not reply.calls


def given_up(state: RunState) -> tuple[CompactionFailed, ...]:
    """Return the attempts at this summary that are not repeated as they were, oldest first."""
    return tuple(failed for failed in _failed(state) if failed.retry_at is None)


def waiting(state: RunState) -> tuple[CompactionFailed, ...]:
    """Return the newest attempts at this summary that are repeated as they were, oldest first."""
    failed = _failed(state)
    last = max((place for place, one in enumerate(failed) if one.retry_at is None), default=-1)
    return failed[last + 1 :]


def _failed(state: RunState) -> tuple[CompactionFailed, ...]:
    return tuple(failed for failed in state.unsummed if failed.iteration == state.iteration)


def _who(state: RunState, pin: ModelPin) -> ModelPin | None:
    """Return who is asked for a summary: the model, or the next where its provider was given up; None for nobody."""
    failed = given_up(state)
    if not failed or failed[-1].fault in _LIGHTER:
        return pin
    other = following(state)
    return other if other and other.name != pin.name else None


def _asking(state: RunState, pin: ModelPin, fresh: Compact, room: _Room) -> Compact | None:
    """Return how a model is asked for a summary, and what is shown to it; None where that is of no use any more."""
    failed = given_up(state)
    takes_over = bool(failed) and failed[-1].fault not in _LIGHTER
    tries = 0 if takes_over else sum(one.fault in _LIGHTER for one in failed)
    if tries >= TRIES or room.fixed + SMALLEST > LESS * room.before:
        return None
    folded = state.shown[: fresh.through - (state.iteration - len(state.shown))]
    said = room.counted(_said_before(state))
    left = room.whole - room.fixed - said
    sizes = [room.counted(tokens_of_reply(state, reply)) for reply in folded]
    asked = Compact(
        fresh.through,
        fresh.reason,
        fresh.tokens,
        pin.name,
        words=max(round(room.summary * _WORDS_PER_TOKEN / room.factor), 100),
        max_output_tokens=most_output(pin),
    )
    if tries == 0 and sum(sizes) <= left:
        return asked
    return _trimmed(state, folded, asked, room, tries)


def _said_before(state: RunState) -> int:
    """Return roughly how many tokens stand between the prompt and the iterations that are shown."""
    if state.compactions:
        return tokens_of_text(state.compactions[-1].summary)
    return sum(map(tokens_of_message, _history(state)))


def _history(state: RunState) -> tuple[Message, ...]:
    """Return what the model is shown of an earlier run."""
    return () if state.compactions or state.context is None else state.context.history


def _trimmed(
    state: RunState, folded: Sequence[ModelReplied], asked: Compact, room: _Room, tries: int
) -> Compact | None:
    """Return the same with less: what is long is cut, and then the oldest is left out until the rest fits."""
    less = replace(asked, trimmed=True)
    sizes = [room.counted(tokens_of_reply(state, reply, LONG_RESULT)) for reply in folded]
    if history := _history(state):  # It is the oldest.
        size = room.counted(sum(tokens_of_message(message, LONG_RESULT) for message in history))
        if not tries and size + sum(sizes) <= room.whole - room.fixed:
            return less
        left = room.whole - room.fixed
    else:
        left = room.whole - room.fixed - room.counted(_said_before(state))
    budget = min(left, sum(sizes)) // 2 if tries else left
    start, used = len(folded), 0
    for place in range(len(folded) - 1, -1, -1):
        used += sizes[place]
        if used > (left if place == len(folded) - 1 else budget):
            break
        start = place
    if start == len(folded):
        return None
    return replace(less, shown_from=folded[start].iteration if start or history else 0)


def size_after(state: RunState, through: int, text: str) -> int:
    """Return roughly how many tokens the next request has once a text stands for the iterations up to one of them."""
    kept = sum(tokens_of_reply(state, reply) for reply in state.replies[max(through, state.first_reply) :])
    return round(counted_for_one(state) * (fixed(state) + tokens_of_text(text) + kept))


def appendable(state: RunState, step: Compact) -> int:
    """Return how many characters of what a summary lost may be appended to it."""
    return _most_restored(_limit(state, step))


def restatable(state: RunState, step: Compact) -> int:
    """Return how many characters of loaded skills may be said again behind a summary."""
    return _most_restated(_limit(state, step))


def _limit(state: RunState, step: Compact) -> int:
    """Return how many tokens the requests may have that follow."""
    pin = next((pin for pin in state.request.pins if pin.name == step.model), state.pin)
    limit = limit_of(pin.capability)
    return min(limit, step.tokens // 2) if step.reason == "overflow" else limit


def is_in_vain(state: RunState) -> bool:
    """Say whether the two newest compactions have left requests as large as they were."""
    if len(state.compactions) < 2:
        return False
    before, last = state.compactions[-2:]
    again = last.iteration == before.iteration
    return not _helped(before, 0 if again else _counted_after(state, before)) and not _helped(
        last, _counted_after(state, last)
    )


def _counted_after(state: RunState, one: ContextCompacted) -> int:
    """Return the tokens of the first request after a compaction, as the provider counted them; 0 where it has not."""
    return state.replies[one.iteration].reply.usage.input_tokens if one.iteration < state.iteration else 0


def _helped(one: ContextCompacted, counted: int) -> bool:
    return (counted or one.tokens_after) <= LESS * one.tokens_before


def what_fills(state: RunState, pin: ModelPin) -> str:
    """Return what the requests to a model are full of, in tokens as we guess them, for people."""
    factor = counted_for_one(state)
    system, prompt = (round(factor * tokens) for tokens in fixed_parts(state))
    said, shown = _said_before(state), sum(tokens_of_reply(state, reply) for reply in state.shown)
    return (
        f"of the {limit_of(pin.capability):,} tokens that a request to {pin.name} may have, the system prompt and the "
        f"tools fill about {system:,}, the prompt {prompt:,}, what stands for older iterations "
        f"{round(factor * said):,}, and the newest iterations {round(factor * shown):,}"
    )


def overfull(state: RunState, pin: ModelPin) -> str:
    """Return why a model cannot do this run at all, as what is in every request is too much; empty where it can."""
    limit, window = limit_of(pin.capability), pin.capability.window
    if state.request.scripted or pin.capability.trims or window is None or fixed(state) < limit:
        return ""
    system, prompt = fixed_parts(state)
    return (
        f"the system prompt and the tools are about {system:,} tokens and the prompt is {prompt:,}: a request to "
        f"{pin.name} may have {limit:,} (its window of {window:,}, less {window - limit:,} for its reply); take a "
        "model with a larger window, or give it less to read"
    )
