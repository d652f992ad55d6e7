"""A model that plays the lines it is given, and fails where it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from pydantic import JsonValue

from kova_auto.core.errors import ModelError
from kova_auto.core.message import (
    AssistantMessage,
    CallDelta,
    CallRequest,
    ModelChunk,
    ModelReply,
    ModelRequest,
    ReplyDone,
    TextDelta,
    Usage,
)
from kova_auto.core.stop_reason import StopReason

TEN_TOKENS = Usage(input_tokens=8, output_tokens=2, cost_usd=0.0)


@dataclass(frozen=True)
class Failure:
    """Hold an error, and what was said before it."""

    error: ModelError
    partial: str = ""


Line = ModelReply | Failure


def call(tool: str, /, **args: JsonValue) -> CallRequest:
    """Return a tool call as a model asks for it."""
    return CallRequest(tool=tool, args=args)


def says(text: str, *calls: CallRequest, stop: StopReason | None = None, usage: Usage = TEN_TOKENS) -> ModelReply:
    """Return one reply."""
    usual = StopReason.TOOL_CALLS if calls else StopReason.END
    return ModelReply(text=text, calls=calls, stop=stop or usual, usage=usage, model="double/lines")


def fails(error: ModelError, partial: str = "") -> Failure:
    """Return an attempt that gives no reply; the next attempt goes on behind it."""
    return Failure(error, partial)


class ScriptedModel:
    """Play lines: which reply is next is the number of replies in the conversation; each failure happens once.

    Attributes:
        requests: What it was asked, oldest first.
    """

    key_refused = False

    def __init__(self, *lines: Line) -> None:
        self.requests: list[ModelRequest] = []
        self._replies = [line for line in lines if isinstance(line, ModelReply)]
        self._failures: dict[int, list[Failure]] = {}
        place = 0
        for line in lines:
            if isinstance(line, Failure):
                self._failures.setdefault(place, []).append(line)
            else:
                place += 1

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Yield the next line."""
        self.requests.append(request)
        place = sum(isinstance(message, AssistantMessage) for message in request.messages)
        if self._failures.get(place):
            failure = self._failures[place].pop(0)
            if failure.partial:
                yield TextDelta(text=failure.partial)
            raise failure.error
        if place >= len(self._replies):
            msg = f"the model was asked for reply {place + 1} and has {len(self._replies)} lines"
            raise AssertionError(msg)
        reply = self._replies[place]
        if reply.text:
            yield TextDelta(text=reply.text)
        for asked in reply.calls:
            yield CallDelta(name=asked.tool)
        yield ReplyDone(reply=reply)

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""


class Turns:
    """Say lines in their order, whatever is asked; where there is None instead of one, be stuck until cut off.

    Attributes:
        requests: What it was asked, oldest first.
        stuck: Set while it is.
    """

    key_refused = False

    def __init__(self, *lines: Line | None) -> None:
        self.requests: list[ModelRequest] = []
        self.stuck = asyncio.Event()
        self._lines = [*lines]

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Yield the next line."""
        self.requests.append(request)
        line = self._lines.pop(0)
        if line is None:
            self.stuck.set()
            await asyncio.Event().wait()
        if isinstance(line, Failure):
            raise line.error
        if line:
            yield ReplyDone(reply=line)

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""


class Endless:
    """Say a word and never come to an end."""

    def __init__(self) -> None:
        self.spoke, self.closed = asyncio.Event(), False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        try:
            yield TextDelta(text="Well")
            self.spoke.set()
            await asyncio.Event().wait()
        finally:
            self.closed = True
