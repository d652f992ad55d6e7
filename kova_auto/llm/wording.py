"""Put a request into a provider's words: what its body is made of, and what must be known to say it again; pure."""

from __future__ import annotations

import json

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


class Writer:
    """Write what one provider is sent; the tools, which hardly ever change and are most of it, are written once."""

    def __init__(self) -> None:
        self._newest: tuple[object, JsonValue, bytes] = None, None, b""

    def written(self, body: Body, request: ModelRequest) -> bytes:
        """Return the body of a request as JSON: the same as `written` alone would."""
        if not body.get("tools"):
            return written(body)
        try:
            return self._around_tools(body, request)
        except PydanticSerializationError:
            return written(body)

    def _around_tools(self, body: Body, request: ModelRequest) -> bytes:
        meant, tools = (request.model, [spec.digest for spec in request.tools]), body["tools"]
        known, same, text = self._newest
        if meant != known or tools != same:  # Equal alone would not do: for Python, true is 1.
            text = to_json(tools)
            self._newest = meant, tools, text
        at, said = list(body).index("tools"), list(body.items())
        before, behind = to_json(dict(said[:at])), to_json(dict(said[at + 1 :]))
        return b"{%b}" % b",".join(filter(None, (before[1:-1], b'"tools":' + text, behind[1:-1])))


class Notes:
    """Note what one provider is sent; its words, which hardly ever change, are found out once."""

    def __init__(self, provider: Provider) -> None:
        """Take who is asked."""
        self._provider = provider
        self._newest: dict[str, tuple[tuple[Problem, ...], Wording]] = {}  # by model

    def noted(self, data: bytes, model: str, conceded: tuple[Problem, ...]) -> Sent:
        """Return what is kept of a body that is sent.

        Args:
            data: The body.
            model: Which of the models is asked.
            conceded: What the body was made without, in the order in which that was left out.
        """
        without, wording = self._newest.get(model, ((), None))
        if wording is None or without != conceded:
            wording = self._worded(model, conceded)
            self._newest[model] = conceded, wording
        return Sent(hash=blob_hash(data), size=len(data), wording=wording)

    def _worded(self, model: str, conceded: tuple[Problem, ...]) -> Wording:
        provider = self._provider
        return Wording(
            program=__version__,
            protocol=provider.protocol,
            dialect=provider.dialect.model_dump(mode="json"),
            extra_body=_extra(provider, model),
            conceded=tuple(_conceded(problem) for problem in conceded),
        )


def problem_of(conceded: Conceded) -> Problem:
    """Return what a provider said was wrong, as far as it decides about bodies."""
    return Problem(conceded.message, frozenset(conceded.codes), param=conceded.param)


def _conceded(problem: Problem) -> Conceded:
    return Conceded(message=problem.message, codes=tuple(sorted(problem.codes)), param=problem.param)


def _extra(provider: Provider, model: str) -> Body:
    said = provider.models.get(model)
    return {**provider.extra_body, **(said.extra_body if said else {})}
