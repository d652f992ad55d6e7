"""Put a request into a provider's words: what its body is made of, and what must be known to say it again; pure."""

from __future__ import annotations

import json
from collections.abc import Iterable

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json

from kova_auto import __version__
from kova_auto.core.ids import blob_hash
from kova_auto.core.message import ModelRequest
from kova_auto.core.provider import Provider
from kova_auto.core.wording import Conceded, Sent, Wording
from kova_auto.llm.faults import Problem
from kova_auto.llm.wire import Wire

Body = dict[str, JsonValue]


def body_of(wire: Wire, provider: Provider, request: ModelRequest) -> Body:
    """Return the body of a request, before anything is conceded."""
    return {**wire.encode(provider, request), **_extra(provider, request.model)}


def written(body: Body) -> bytes:
    """Return a body as JSON; half a character, which cannot be written, becomes a question mark."""
    try:
        return to_json(body)
    except PydanticSerializationError:
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def noted(data: bytes, provider: Provider, model: str, conceded: Iterable[Problem]) -> Sent:
    """Return what is kept of a body that is sent.

    Args:
        data: The body.
        provider: Who is asked.
        model: Which of its models.
        conceded: What the body was made without, in the order in which that was left out.
    """
    wording = Wording(
        program=__version__,
        protocol=provider.protocol,
        dialect=provider.dialect.model_dump(mode="json"),
        extra_body=_extra(provider, model),
        conceded=tuple(_conceded(problem) for problem in conceded),
    )
    return Sent(hash=blob_hash(data), size=len(data), wording=wording)


def problem_of(conceded: Conceded) -> Problem:
    """Return what a provider said was wrong, as far as it decides about bodies."""
    return Problem(conceded.message, frozenset(conceded.codes), param=conceded.param)


def _conceded(problem: Problem) -> Conceded:
    return Conceded(message=problem.message, codes=tuple(sorted(problem.codes)), param=problem.param)


def _extra(provider: Provider, model: str) -> Body:
    said = provider.models.get(model)
    return {**provider.extra_body, **(said.extra_body if said else {})}
