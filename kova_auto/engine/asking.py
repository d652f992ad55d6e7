"""Call a model: with what has been said, within what is left to spend, and with a word on what went wrong."""

from __future__ import annotations

import json

from pydantic import JsonValue

from kova_auto.core.context.asides import asides
from kova_auto.core.errors import ConfigError, ModelError
from kova_auto.core.event import ModelCallFailed, ModelCallStarted, ModelReplied
from kova_auto.core.fault import Fault
from kova_auto.core.ids import call_id
from kova_auto.core.limits import running_s
from kova_auto.core.message import CallRequest, ModelReply, ReplyDone, ToolCall
from kova_auto.core.patience import LONGEST_S, again_at
from kova_auto.core.run import RunState
from kova_auto.core.steps import CallModel
from kova_auto.engine.conversation import conversation, images_of, request_hash, request_of
from kova_auto.engine.entry import Entries, Entry
from kova_auto.engine.hearing import Heard, hear, noted, priced
from kova_auto.engine.world import Senses


async def call_model(step: CallModel, state: RunState, senses: Senses) -> Entries:
    """Ask a model for a reply, announced before and told after, whatever came of it."""
    now = senses.clock.now()
    aside = asides(state, running_s(state, now))
    texts = tuple(map(senses.redact, aside.texts))  # What several replies said may make a whole that none of them was.
    said = conversation(state)
    images = {key: await senses.journal.blob(key) for key in images_of(said)}
    request = request_of(state, step, said, images, texts)
    yield Entry(
        ModelCallStarted(
            at=now,
            iteration=step.iteration,
            model=step.model,
            request_hash=request_hash(request),
            max_output_tokens=step.max_output_tokens,
            asides=texts,
            hurries=aside.hurries,
            repairs=aside.repairs,
            reports=aside.reports,
        )
    )
    heard = Heard()
    try:
        done = await hear(request, step.model, state, senses, heard)
    except (ModelError, ConfigError) as exc:
        yield Entry(_failed(exc, "".join(heard.partial), step, state, senses))
        return
    yield Entry(_replied(done, heard, step, state, senses), waits=True)  # What follows is there at once, as a rule.


def _replied(done: ReplyDone, heard: Heard, step: CallModel, state: RunState, senses: Senses) -> ModelReplied:
    reply = done.reply
    clean = _but(
        reply,
        text=senses.redact(reply.text),
        reasoning=senses.redact(reply.reasoning),
        stop_detail=senses.redact(reply.stop_detail),
        raw=_without_secrets(reply.raw, senses),
        usage=priced(reply.usage, step.model, state),
    )
    calls = tuple(_numbered(ask, step.iteration, index) for index, ask in enumerate(reply.calls, start=1))
    return ModelReplied(
        at=senses.clock.now(),
        iteration=step.iteration,
        reply=clean,
        calls=calls,
        first_at=heard.first_at,
        sent=noted(done.sent, step.model, state, senses),
    )


def _but(reply: ModelReply, **said: object) -> ModelReply:
    """Return a reply with these values; the same one where it has them already, as most have."""
    changed = {name: value for name, value in said.items() if value != getattr(reply, name)}
    return reply.but(**changed) if changed else reply


def _without_secrets(raw: JsonValue, senses: Senses) -> JsonValue:
    """Return a reply's own form, or nothing where it holds a secret: it goes back as it came, or not at all."""
    if raw is None:
        return None
    text = json.dumps(raw, ensure_ascii=False)
    return raw if senses.redact(text) == text else None


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
        usage=priced(known.spent, step.model, state) if known.spent else None,
        sent=noted(known.sent, step.model, state, senses),
    )


def _numbered(ask: CallRequest, iteration: int, index: int) -> ToolCall:
    return ToolCall(id=call_id(iteration, index), **dict(ask))
