"""How many tokens a request will be, roughly: the provider's last count, and a quarter of the characters since.

No tokenizer of a provider is at hand; what it counted itself is the best that is known, and it corrects every guess.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

from kova_auto.core.event import ModelReplied
from kova_auto.core.ids import CallId
from kova_auto.core.message import AssistantMessage, ImagePart, Message, Part, TextPart, ToolCall, ToolMessage
from kova_auto.core.state import RunState

CHARS: Final = 4
"""Characters per token, over languages and code."""
IMAGE: Final = 1_200
PER_MESSAGE: Final = 4
FEWEST: Final = 0.5
MOST: Final = 8.0
"""So much more than we guess a provider counts at most; where it says more, nobody knows of what."""


def tokens_of(parts: Iterable[Part]) -> int:
    """Return roughly how many tokens a message's parts are."""
    chars = images = 0
    for part in parts:
        if isinstance(part, TextPart):
            chars += len(part.text)
        else:
            images += isinstance(part, ImagePart)
    return -(-chars // CHARS) + images * IMAGE + PER_MESSAGE


def next_input(state: RunState) -> int:
    """Return roughly how many tokens the next request of this attempt has."""
    if _is_folded_anew(state):
        return state.compactions[-1].tokens_after
    replies = state.replies[state.first_reply :]
    if not replies or not replies[-1].reply.usage.input_tokens:
        return from_the_start(state)
    usage = replies[-1].reply.usage
    told = sum(_told(state, call) for call in state.open_calls)
    return usage.input_tokens + usage.output_tokens + told


def next_uncached(state: RunState, model: str) -> int:
    """Return roughly how many tokens of the next request no cache serves, judged by the last one.

    Args:
        state: Of the run.
        model: Name of the one that is asked next; another's cache serves it nothing.
    """
    last = next((spent for spent in reversed(state.attempt_spent) if not spent.failed), None)
    is_cached = last and last.usage.cache_read_tokens and last.model == model and not _is_folded_anew(state)
    cached = last.usage.input_tokens if last and is_cached else 0
    return max(next_input(state) - cached, 0)


def tokens_of_text(text: str) -> int:
    """Return roughly how many tokens a message of this text is."""
    return tokens_of((TextPart(text=text),))


def _told(state: RunState, call_id: CallId) -> int:
    result = state.call(call_id).result
    return tokens_of(result.parts) if result else 0


def _is_folded_anew(state: RunState) -> bool:
    """Say whether no request was counted since older replies were folded."""
    return bool(state.compactions) and state.compactions[-1].iteration == state.iteration


def fixed(state: RunState) -> int:
    """Return roughly how many tokens are in every request of this attempt: system prompt, tools, and prompt."""
    return sum(fixed_parts(state))


def fixed_parts(state: RunState) -> tuple[int, int]:
    """Return the same in two parts: system prompt with tools, and prompt."""
    context = state.context
    if context is None:
        return 0, 0
    return -(-context.chars // CHARS), tokens_of(context.prompt)


def counted_for_one(state: RunState) -> float:
    """Return how many tokens the provider counts where we guess one by the characters; 1 where it has counted none."""
    guessed = from_the_start(state)
    return min(max(next_input(state) / guessed, FEWEST), MOST) if guessed else 1.0


def from_the_start(state: RunState) -> int:
    """Return roughly how many tokens the next request has, by its characters alone."""
    if state.context is None:
        return 0
    if state.compactions:
        said = tokens_of_text(state.compactions[-1].summary)
    else:
        said = sum(tokens_of_message(message) for message in state.context.history)
    return fixed(state) + said + sum(tokens_of_reply(state, reply) for reply in state.shown)


def tokens_of_message(message: Message, longest: int | None = None) -> int:
    """Return roughly how many tokens a message is; see `tokens_of_reply` for `longest`."""
    most = sys.maxsize if longest is None else longest // CHARS + PER_MESSAGE
    if isinstance(message, AssistantMessage):
        return -(-len(message.text) // CHARS) + sum(min(_asked(call), most) for call in message.calls)
    told = tokens_of(message.parts)
    return min(told, most) if isinstance(message, ToolMessage) else told


def _asked(call: ToolCall) -> int:
    return -(-len(repr(call.args)) // CHARS)


def tokens_of_reply(state: RunState, reply: ModelReplied, longest: int | None = None) -> int:
    """Return roughly how many tokens a reply is, with the results of its calls and what was told before it.

    Args:
        state: Of its run.
        reply: The reply.
        longest: No argument and no result is shown with more characters; None shows them whole.
    """
    told = state.asides.get(reply.iteration, ())
    said = -(-len(reply.reply.text) // CHARS) + tokens_of(TextPart(text=text) for text in told) * bool(told)
    most = sys.maxsize if longest is None else longest // CHARS + PER_MESSAGE
    return said + sum(min(_asked(call), most) + min(_told(state, call.id), most) for call in reply.calls)
