"""Speak to a small model in this process, as to any other: it answers in pieces, and its limits are errors.

What it costs is time. So its window and its answers are small, and one answer is written at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing, closing
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from kova_auto.core.errors import ContextOverflowError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import CallDelta, ModelChunk, ModelRequest, ReplyDone
from kova_auto.core.provider import Provider
from kova_auto.llm.capability import capability
from kova_auto.llm.local.actions import choices
from kova_auto.llm.local.engine import Engine, is_installed, load
from kova_auto.llm.local.prompt import size_of_results, turns
from kova_auto.llm.local.reply import PromptTooLongError, Reading
from kova_auto.llm.local.thread import EngineThread
from kova_auto.llm.local.weights import EXTRA, KNOWN, Weights, sha256_of
from kova_auto.llm.waiting import Waiting

CHARS: Final = 4
"""Characters per token with which a prompt is first laid out; the engine's own count corrects it."""

LoadFile = Callable[[Path, int], Engine]


class LocalModel:
    """Answer with weights on this machine; use it in one event loop, and close it there."""

    key_refused = False

    def __init__(
        self,
        provider: Provider,
        directory: Path,
        load_file: LoadFile = load,
        known: Iterable[Weights] = KNOWN.values(),
    ) -> None:
        """Prepare; nothing is loaded before the first call.

        Args:
            provider: Says how long to wait, and what somebody says of its models.
            directory: Where weights are kept.
            load_file: Loads weights for a window of so many tokens.
            known: The weights that there may be.
        """
        self._provider, self._directory, self._load_file = provider, directory, load_file
        self._known = {weights.model: weights for weights in known}
        self._engines: dict[str, EngineThread] = {}
        self._slot = asyncio.Semaphore(1)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Yield the reply as it is written; the last chunk is `ReplyDone`.

        Raises:
            ModelError: There is no whole reply.
        """
        weights = self._weights(request.model)
        window, output = self._bounds(weights)
        output = min(output, request.max_output_tokens or output)
        room = min(size_of_results(request.messages), window * CHARS)
        async with self._slot:
            while True:
                reading = Reading(request.model, window - output)
                try:
                    async with aclosing(self._read(reading, weights, _question(request, room, output))) as chunks:
                        async for chunk in chunks:
                            yield chunk
                except PromptTooLongError as exc:
                    room = _less(room, exc.tokens, window - output, request.model)
                else:
                    return

    async def check(self) -> tuple[str, ...]:
        """Return the models whose weights are there.

        Raises:
            ModelRefusedError: There are none, or there is nothing to run them with.
        """
        found = tuple(weights.model for weights in self._known.values() if weights.is_in(self._directory))
        if not found:
            raise _missing(next(iter(self._known.values())))
        if not is_installed():
            msg = f"its engine is not installed: {EXTRA}"
            raise ModelRefusedError(msg, fault=Fault.SETTINGS)
        return found

    async def aclose(self) -> None:
        """Stop what is being written and let go of the weights; safe to call twice."""
        engines, self._engines = list(self._engines.values()), {}
        await asyncio.gather(*(engine.aclose() for engine in engines))

    async def _read(
        self, reading: Reading, weights: Weights, question: dict[str, JsonValue]
    ) -> AsyncGenerator[ModelChunk, None]:
        with closing(Waiting(self._provider.timeouts)) as clock:
            async with aclosing(self._engine(weights).ask(question)) as pieces:
                try:
                    while (said := await clock.wait(anext(pieces, None))) is not None:
                        clock.progressed()
                        for chunk in reading.take(said):
                            yield chunk
                except TimeoutError:
                    msg = f"{weights.model} {clock.complaint}"
                    raise ModelUnavailableError(msg, fault=Fault.TIMEOUT) from None
        reply = reading.reply()
        for call in reply.calls:
            yield CallDelta(name=call.tool)
        yield ReplyDone(reply=reply)

    def _weights(self, model: str) -> Weights:
        weights = self._known.get(model)
        if weights is None:
            msg = f"{self._provider.name} knows no model {model!r}, only {', '.join(self._known)}"
            raise ModelRefusedError(msg, fault=Fault.NOT_FOUND)
        if not weights.is_in(self._directory):
            raise _missing(weights)
        return weights

    def _bounds(self, weights: Weights) -> tuple[int, int]:
        """Return how many tokens there may be, in all and in a reply."""
        known = capability(self._provider, weights.model)
        window = min(known.window or weights.window, weights.window)
        return window, min(known.max_output or window, window // 2)

    def _engine(self, weights: Weights) -> EngineThread:
        if weights.model not in self._engines:
            file, (window, _) = weights.file(self._directory), self._bounds(weights)
            self._engines[weights.model] = EngineThread(partial(_loaded, self._load_file, weights, file, window))
        return self._engines[weights.model]


def _loaded(load_file: LoadFile, weights: Weights, file: Path, window: int) -> Engine:
    """Load weights that are what they were when they came, and nothing else."""
    try:
        found = sha256_of(file)
    except OSError as exc:
        msg = f"{file} cannot be read: {exc.strerror or exc}"
        raise ModelRefusedError(msg, fault=Fault.SETTINGS) from exc
    if found != weights.sha256:
        msg = f"{file} is damaged: remove it, then kova-auto models add {weights.name}"
        raise ModelRefusedError(msg, fault=Fault.SETTINGS)
    return load_file(file, window)


def _missing(weights: Weights) -> ModelRefusedError:
    msg = f"the weights of {weights.model} are not on this machine: kova-auto models add {weights.name}"
    return ModelRefusedError(msg, fault=Fault.SETTINGS)


def _question(request: ModelRequest, room: int, output: int) -> dict[str, JsonValue]:
    """Return what the engine is asked; the same conversation gives the same answer."""
    options = choices(request.messages, frozenset(spec.name for spec in request.tools))
    return {
        "messages": turns(request.messages, options, room),
        "response_format": {"type": "json_schema", "json_schema": {"name": "action", "schema": options.schema}},
        "max_tokens": output,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }


def _less(room: int, tokens: int, most: int, model: str) -> int:
    """Return how many characters of results may be told instead, where a prompt had too many tokens.

    Raises:
        ContextOverflowError: There is no result that could be told shorter.
    """
    if room == 0:
        msg = f"the task alone is {tokens} tokens, and {model} takes {most} besides its answer"
        raise ContextOverflowError(msg)
    return room * most // tokens * 9 // 10
