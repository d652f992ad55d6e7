"""Call a model: with what has been said, within what is left to spend, and with a word on what went wrong."""

from __future__ import annotations

import json
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from kova_auto.core.context.asides import asides
from kova_auto.core.errors import ConfigError, ModelError
from kova_auto.core.event import ModelCallFailed, ModelCallStarted, ModelReplied
from kova_auto.core.fault import Fault
from kova_auto.core.ids import call_id
from kova_auto.core.limits import running_s
from kova_auto.core.message import (
    CallRequest,
    ModelReply,
    ModelRequest,
    ReplyDone,
    TextDelta,
    ToolCall,
    Usage,
)
from kova_auto.core.patience import LONGEST_S, again_at
from kova_auto.core.price import cost_usd
from kova_auto.core.run import RunState
from kova_auto.core.steps import CallModel
from kova_auto.core.wording import Sent, said_once
from kova_auto.engine.conversation import conversation, images_of, request_hash, request_of
from kova_auto.engine.entry import Entries, Entry
from kova_auto.engine.world import Senses


async def call_model(step: CallModel, state: RunState, senses: Senses) -> Entries:
    """Ask a model for a reply, announced before and told after, whatever came of it."""
    now = senses.clock.now()
    aside = asides(state, running_s(state, now))
    images = {key: await senses.journal.blob(key) for key in images_of(conversation(state))}
    request = request_of(state, step, images, aside.texts)
    yield Entry(
        ModelCallStarted(
            at=now,
            iteration=step.iteration,
            model=step.model,
            request_hash=request_hash(request),
            max_output_tokens=step.max_output_tokens,
            asides=aside.texts,
            hurries=aside.hurries,
        )
    )
    heard = _Heard()
    try:
        done = await _reply(request, step.model, state, senses, heard)
    except (ModelError, ConfigError) as exc:
        yield Entry(_failed(exc, "".join(heard.partial), step, state, senses))
        return
    yield Entry(_replied(done, heard, step, state, senses), waits=True)  # What follows is there at once, as a rule.


@dataclass
class _Heard:
    """Hold what has come of a reply so far.

    Attributes:
        first_at: When the first piece came, unless it is the whole.
    """

    partial: list[str] = field(default_factory=list)
    first_at: datetime | None = None


def _replied(done: ReplyDone, heard: _Heard, step: CallModel, state: RunState, senses: Senses) -> ModelReplied:
    reply = done.reply
    clean = _but(
        reply,
        text=senses.redact(reply.text),
        reasoning=senses.redact(reply.reasoning),
        stop_detail=senses.redact(reply.stop_detail),
        raw=_without_secrets(reply.raw, senses),
        usage=_priced(reply.usage, step.model, state),
    )
    calls = tuple(_numbered(ask, step.iteration, index) for index, ask in enumerate(reply.calls, start=1))
    return ModelReplied(
        at=senses.clock.now(),
        iteration=step.iteration,
        reply=clean,
        calls=calls,
        first_at=heard.first_at,
        sent=_noted(done.sent, step.model, state, senses),
    )


async def _reply(request: ModelRequest, model: str, state: RunState, senses: Senses, heard: _Heard) -> ReplyDone:
    async with aclosing(senses.models(state, model).stream(request)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, ReplyDone):
                return chunk
            heard.first_at = heard.first_at or senses.clock.now()
            if isinstance(chunk, TextDelta):
                heard.partial.append(chunk.text)
    msg = "the stream ended without its end"
    raise ModelError(msg, fault=Fault.TRUNCATED)


def _but(reply: ModelReply, **said: object) -> ModelReply:
    """Return a reply with these values; the same one where it has them already, as most have."""
    changed = {name: value for name, value in said.items() if value != getattr(reply, name)}
    return reply.model_copy(update=changed) if changed else reply


def _without_secrets(raw: JsonValue, senses: Senses) -> JsonValue:
    """Return a reply's own form, or nothing where it holds a secret: it goes back as it came, or not at all."""
    if raw is None:
        return None
    text = json.dumps(raw, ensure_ascii=False)
    return raw if senses.redact(text) == text else None


def _noted(sent: tuple[Sent, ...], model: str, state: RunState, senses: Senses) -> tuple[Sent, ...]:
    """Return what was sent as it is kept: without secrets, and each wording once."""
    return tuple(
        Sent.model_validate_json(senses.redact(body.model_dump_json())) if body.wording else body
        for body in said_once(sent, state.wordings.get(model))
    )


def _priced(usage: Usage, model: str, state: RunState) -> Usage:
    """Return a count with its cost, at the price that the run began with; one that has a cost keeps it."""
    price = next((pin.price for pin in state.request.pins if pin.name == model), None)
    if usage.cost_usd is not None or price is None:
        return usage
    return Usage(**{**dict(usage), "cost_usd": cost_usd(price, usage)})


def _failed(
    exc: ModelError | ConfigError, partial: str, step: CallModel, state: RunState, senses: Senses
) -> ModelCallFailed:
    now, message = senses.clock.now(), str(exc)
    known = exc if isinstance(exc, ModelError) else ModelError(message, fault=Fault.SETTINGS)
    retry_at = again_at(state, known.fault, known.retry_after_s, now)
    if retry_at is None and (known.retry_after_s or 0) > LONGEST_S:
        message += f" (it asks to wait {known.retry_after_s:.0f} s; a run waits {LONGEST_S:.0f} s at most)"
    return ModelCallFailed(
        at=now,
        iteration=step.iteration,
        error=type(exc).__name__.removesuffix("Error"),
        message=senses.redact(message),
        retryable=retry_at is not None,
        retry_at=retry_at,
        partial_text=senses.redact(partial),
        fault=known.fault,
        status=known.status,
        request_id=known.request_id,
        usage=_priced(known.spent, step.model, state) if known.spent else None,
        sent=_noted(known.sent, step.model, state, senses),
    )


def _numbered(ask: CallRequest, iteration: int, index: int) -> ToolCall:
    return ToolCall(id=call_id(iteration, index), **dict(ask))
