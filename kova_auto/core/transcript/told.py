"""The transcript of a run: every message that its models were sent or gave, in the order in which that was said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum

from kova_auto.core.event import (
    CallFinished,
    ContextAssembled,
    ContextCompacted,
    Event,
    ModelCallStarted,
    ModelReplied,
    RunRequested,
)
from kova_auto.core.ids import iteration_of
from kova_auto.core.message import AssistantMessage, Message, Part, TextPart, ToolMessage, UserMessage
from kova_auto.core.run import apply, fold, opened
from kova_auto.core.state import RunState
from kova_auto.core.value import Value


class What(StrEnum):
    """Say what kind of thing was said."""

    SYSTEM = "system"
    HISTORY = "history"
    PROMPT = "prompt"
    ASIDE = "aside"
    REPLY = "reply"
    RESULT = "result"
    SUMMARY = "summary"


class Told(Value):
    """Hold one thing that was said.

    Attributes:
        seq: Position of the fact that holds it.
        iteration: That it belongs to, or precedes.
        system: The system prompt; empty for everything else.
        message: As the request holds it; None for the system prompt.
    """

    seq: int
    at: datetime
    attempt: int
    iteration: int
    what: What
    system: str = ""
    message: Message | None = None


def told_in(events: Sequence[Event]) -> tuple[Told, ...]:
    """Return everything that was said in a run, oldest first.

    From a summary on, what stands before it in its attempt is not sent any more, the prompt excepted.

    Raises:
        IllegalEventError: They are no run's facts.
    """
    return tuple(_told(events))


def _told(events: Sequence[Event]) -> Iterator[Told]:
    for seq, event, before in states(events):
        for what, said in _said(event, before):
            iteration = iteration_of(event.call_id) if isinstance(event, CallFinished) else before.iteration + 1
            is_system = isinstance(said, str)
            yield Told(
                seq=seq,
                at=event.at,
                attempt=before.attempt,
                iteration=iteration,
                what=what,
                system=said if is_system else "",
                message=None if is_system else said,
            )


def states(events: Sequence[Event]) -> Iterator[tuple[int, Event, RunState]]:
    """Yield each fact but the first with its position and the state in which it was written.

    Raises:
        IllegalEventError: They are no run's facts.
    """
    first = events[0] if events else None
    state = opened(first) if isinstance(first, RunRequested) else fold(events)
    for seq, event in enumerate(events[1:], 2):
        yield seq, event, state
        state = apply(state, event)


def _said(event: Event, before: RunState) -> Iterator[tuple[What, Message | str]]:
    match event:
        case ContextAssembled():
            yield What.SYSTEM, event.system
            yield from ((What.HISTORY, message) for message in event.history)
            yield What.PROMPT, UserMessage(parts=event.prompt)
        case ModelCallStarted() if event.asides and event.iteration not in before.asides:
            yield What.ASIDE, UserMessage(parts=_texts(event.asides))
        case ModelReplied():
            yield What.REPLY, AssistantMessage(text=event.reply.text, calls=event.calls, raw=event.reply.raw)
        case CallFinished(result=result):
            call = before.call(event.call_id).call
            yield What.RESULT, ToolMessage(call=call, status=result.status, parts=result.parts)
        case ContextCompacted():
            yield What.SUMMARY, UserMessage(parts=_texts((event.summary,)))
        case _:
            pass


def _texts(texts: Iterable[str]) -> tuple[Part, ...]:
    return tuple(TextPart(text=text) for text in texts)
