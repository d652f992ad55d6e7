"""Tell again what the models of a run were asked, from its facts alone; pure, and the same whenever it is told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kova_auto.core.event import (
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    Event,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    RunRequested,
)
from kova_auto.core.ids import BlobHash
from kova_auto.core.message import ModelRequest
from kova_auto.core.run import apply, fold, opened
from kova_auto.core.state import RunState
from kova_auto.core.steps import CallModel, Compact
from kova_auto.core.wording import Sent, Wording, newest
from kova_auto.engine.conversation import conversation, images_of, request_hash, request_of
from kova_auto.engine.folding import summary_request

Announced = ModelCallStarted | CompactionStarted
Answered = ModelReplied | ModelCallFailed | CompactionFailed | ContextCompacted


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold one call of a model.

    Attributes:
        seq: Position of the fact that announces it.
        attempt: Of the run.
        fact: It asks for a reply, or for a summary of older ones.
        before: The state in which it was announced.
        bodies: What was sent, each with its wording; empty where nothing was, or nobody knows.
        wording: Of the model's requests at that time, where any of the run's is known.
        is_lost: Nothing is on record of what came of it: its process died.
    """

    seq: int
    attempt: int
    fact: Announced
    before: RunState
    bodies: tuple[Sent, ...] = ()
    wording: Wording | None = None
    is_lost: bool = True

    def request(self) -> ModelRequest:
        """Return what was asked in our own form, without the content of images; made anew each time."""
        return _request(self.before, self.fact)

    @property
    def is_same(self) -> bool:
        """Say whether the request is the one that was announced."""
        return request_hash(self.request()) == self.fact.request_hash


def retold(events: Sequence[Event]) -> Iterator[Asked]:
    """Yield every call of a model, oldest first.

    Raises:
        IllegalEventError: The facts are no run's.
    """
    later = _first_wordings(events)
    asked: Asked | None = None
    for seq, event, before in _states(events):
        match event:
            case ModelCallStarted() | CompactionStarted():
                if asked:
                    yield asked
                wording = before.wordings.get(event.model) or later.get(event.model)
                asked = Asked(seq, before.attempt, event, before, wording=wording)
            case ModelReplied() | ModelCallFailed() | CompactionFailed() | ContextCompacted() if asked:
                bodies = _with_wordings(event.sent, before.wordings.get(asked.fact.model))
                yield replace(asked, bodies=bodies, is_lost=False)
                asked = None
            case _:
                pass
    if asked:
        yield asked


def with_images(request: ModelRequest, content: Mapping[BlobHash, bytes]) -> ModelRequest:
    """Return a request with the content of its images."""
    shown = {key: content[key] for key in images_of(request.messages)}
    return request.model_copy(update={"images": shown}) if shown else request


def _states(events: Sequence[Event]) -> Iterator[tuple[int, Event, RunState]]:
    """Yield each fact but the first with its position and the state in which it was written."""
    first = events[0] if events else None
    state = opened(first) if isinstance(first, RunRequested) else fold(events)
    for seq, event in enumerate(events[1:], 2):
        yield seq, event, state
        state = apply(state, event)


def _request(before: RunState, event: Announced) -> ModelRequest:
    if isinstance(event, CompactionStarted):
        return summary_request(before, _summing(event), {})
    step = CallModel(event.iteration, event.model, event.max_output_tokens)
    return request_of(before, step, conversation(before), {}, event.asides)


def _summing(event: CompactionStarted) -> Compact:
    return Compact(
        through=event.through,
        reason=event.reason,
        tokens=event.tokens,
        model=event.model,
        words=event.words,
        shown_from=event.shown_from,
        trimmed=event.trimmed,
        max_output_tokens=event.max_output_tokens,
    )


def _with_wordings(sent: Sequence[Sent], known: Wording | None) -> tuple[Sent, ...]:
    found = list[Sent]()
    for body in sent:
        known = body.wording or known
        found.append(body.model_copy(update={"wording": known}))
    return tuple(found)


def _first_wordings(events: Sequence[Event]) -> Mapping[str, Wording]:
    """Return the first wording of each model that is on record."""
    found: dict[str, Wording] = {}
    model = ""
    for event in events:
        if isinstance(event, ModelCallStarted | CompactionStarted):
            model = event.model
        elif isinstance(event, Answered) and model not in found:
            found |= newest({}, model, event.sent[:1])
    return found
