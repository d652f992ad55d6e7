"""Hear what a model says to a request, whatever the request was for: the reply, its price, and what was sent for it."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime

from kova_auto.core.errors import ModelError
from kova_auto.core.fault import Fault
from kova_auto.core.message import ModelRequest, ReplyDone, TextDelta, Usage
from kova_auto.core.price import cost_usd
from kova_auto.core.run import RunState
from kova_auto.core.wording import Sent, said_once
from kova_auto.engine.world import Senses


@dataclass
class Heard:
    """Hold what has come of a reply so far.

    Attributes:
        first_at: When the first piece came, unless it is the whole.
    """

    partial: list[str] = field(default_factory=list)
    first_at: datetime | None = None


async def hear(request: ModelRequest, model: str, state: RunState, senses: Senses, heard: Heard) -> ReplyDone:
    """Return the end of what a model of a run's chain says, and note meanwhile what has come.

    Raises:
        ModelError: It gave no whole reply.
        ConfigError: It cannot be asked.
    """
    async with aclosing(senses.models(state, model).stream(request)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, ReplyDone):
                return chunk
            heard.first_at = heard.first_at or senses.clock.now()
            if isinstance(chunk, TextDelta):
                heard.partial.append(chunk.text)
    msg = "the stream ended without its end"
    raise ModelError(msg, fault=Fault.TRUNCATED)


def noted(sent: tuple[Sent, ...], model: str, state: RunState, senses: Senses) -> tuple[Sent, ...]:
    """Return what was sent as it is kept: without secrets, and each wording once."""
    return tuple([_clean(body, senses) for body in said_once(sent, state.wordings.get(model))])


def _clean(body: Sent, senses: Senses) -> Sent:
    if body.wording is None:
        return body
    text = body.model_dump_json()
    clean = senses.redact(text)
    return body if clean == text else Sent.model_validate_json(clean)


def priced(usage: Usage, model: str, state: RunState) -> Usage:
    """Return a count with its cost, at the price that the run began with; one that has a cost keeps it."""
    price = next((pin.price for pin in state.request.pins if pin.name == model), None)
    if usage.cost_usd is not None or price is None:
        return usage
    return usage.but(cost_usd=cost_usd(price, usage))
