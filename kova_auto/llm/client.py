"""Carry one protocol's requests over HTTP, and nothing else: no retry, no redirect, no cookie, no log line.

A request is asked again at once only where the provider refused a part of it that can be left out or said otherwise.
"""

from __future__ import annotations

import re
from asyncio import Semaphore
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, closing
from types import TracebackType
from typing import Final
from urllib.parse import urlsplit

import httpx
from pydantic import JsonValue

from kova_auto import __version__
from kova_auto.core.errors import ContextOverflowError, ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import ModelChunk, ModelReply, ModelRequest, ReplyDone, Usage
from kova_auto.core.provider import Provider, Timeouts
from kova_auto.core.wording import Sent
from kova_auto.llm.answer import Events, complaint_of, parsed, text_of
from kova_auto.llm.body import EncodingError
from kova_auto.llm.breaker import Breaker, Timer
from kova_auto.llm.capability import capability
from kova_auto.llm.concessions import Concessions
from kova_auto.llm.estimate import at_least, estimate
from kova_auto.llm.faults import Problem, failure_of, problem_in
from kova_auto.llm.http1 import Answer, Ask, Head, Http1Transport, worded
from kova_auto.llm.overflow import overflowed_silently
from kova_auto.llm.retry_after import retry_after_s
from kova_auto.llm.sse import EventTooLargeError, SseEvent
from kova_auto.llm.transport import open_transport, said_of
from kova_auto.llm.unicode import mended
from kova_auto.llm.waiting import Waiting
from kova_auto.llm.wire import Decoder, Wire
from kova_auto.llm.wording import Notes, Writer, body_of

CHECK_S: Final = 10.0
_OURS: Final = frozenset({"content-length", "transfer-encoding"})  # They say where a body ends.
_NO_PLACE: Final = (404, 405)
_DEPLOYMENT: Final = re.compile(r"/deployments/[^/]+/\Z")  # Azure's: models are listed beside it


class HttpModel:
    """Speak to one provider over connections that it keeps; use it in one event loop, and close it there."""

    def __init__(self, provider: Provider, wire: Wire, timer: Timer | None = None) -> None:
        """Prepare; nothing is opened before the first call.

        Args:
            provider: Who is asked.
            wire: In which protocol.
            timer: How time passes while a provider rests; None for the event loop's.
        """
        self.key_refused = False
        self._provider, self._wire, self._timer = provider, wire, timer
        self._headers = {key.lower(): value for key, value in provider.headers.items() if key.lower() not in _OURS}
        self._slots = Semaphore(provider.max_concurrent)
        self._concessions = Concessions(wire)
        self._breakers: dict[str, Breaker] = {}  # by model: providers count and limit each of them apart
        self._windows: dict[str, int | None] = {}
        self._opened: Http1Transport | None = None
        self._head: Head | None = None
        self._notes, self._writer = Notes(provider), Writer()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Yield the reply as it arrives; the last chunk is `ReplyDone`.

        Raises:
            ModelError: There is no whole reply. It holds what was used until then, as far as that can be told.
        """
        decoder = self._wire.decoder(self._provider, request)
        clock = Waiting(self._provider.timeouts)
        request_id, sent = "", list[Sent]()
        try:
            async with self._slots, self._breaker(request.model).turn() as turn:
                with _Naming(self._provider, clock):
                    async with aclosing(await self._answer(request, clock, sent)) as answer:
                        request_id = _request_id(answer)
                        async for together in Events(answer, decoder, clock):
                            before = decoder.progress
                            failure = _read(together, decoder)
                            if decoder.progress > before:
                                clock.progressed()
                                turn.answered()
                            for chunk in decoder.shown():
                                yield chunk
                            if failure is not None:
                                raise failure
                        reply = decoder.reply(request_id)
                        self._refuse_overflow(request.model, reply, decoder.spent)
        except ModelError as exc:
            exc.request_id = exc.request_id or request_id
            self.key_refused |= exc.fault is Fault.AUTH
            exc.spent = at_least(decoder.spent, request, decoder.written)
            exc.sent = tuple(sent)
            raise
        finally:
            clock.close()
        yield ReplyDone(reply=reply, sent=tuple(sent))

    async def check(self) -> tuple[str, ...]:
        """Ask what costs nothing; return the models that the provider lists, none where it lists none.

        Raises:
            ModelError: The key or the address is not good, or nobody is there; its fault says which.
        """
        waits = Timeouts(connect_s=CHECK_S, first_token_s=CHECK_S, total_s=CHECK_S)
        with closing(Waiting(waits)) as clock, _Naming(self._provider, clock):
            ask = Ask(worded("GET", httpx.URL(self._check_url()), self._said(posts=False)), None, CHECK_S)
            async with aclosing(await self._sent(ask, clock)) as answer:
                if not answer.is_success:
                    problem = await _problem(answer, clock)
                    raise failure_of(self._provider, problem, answer.status_code, request_id=_request_id(answer))
                body = parsed(await text_of(answer, clock))
        if refused := problem_in(body):
            raise failure_of(self._provider, refused)
        if body is None:
            msg = f"{self._provider.name} did not answer in JSON: check its base_url"
            raise ModelUnavailableError(msg, fault=Fault.MALFORMED)
        return _listed(body)

    async def aclose(self) -> None:
        """Close the connections; safe to call twice."""
        if self._opened is not None:
            await self._opened.aclose()
            self._opened = None

    def _breaker(self, model: str) -> Breaker:
        if (found := self._breakers.get(model)) is None:
            found = self._breakers[model] = Breaker(f"{self._provider.name}/{model}", self._timer)
        return found

    def _window(self, model: str) -> int | None:
        if model not in self._windows:
            self._windows[model] = capability(self._provider, model).window
        return self._windows[model]

    async def _answer(self, request: ModelRequest, clock: Waiting, sent: list[Sent]) -> Answer:
        """Ask, as often as there is something to concede; return the answer that is a success, to be closed.

        What is sent is noted in `sent`.
        """
        model, made = request.model, list[Problem]()
        known = self._concessions.known(model)
        body = self._concessions.applied(model, body_of(self._wire, self._provider, request))
        while True:
            data = self._writer.written(body, request)
            sent.append(self._notes.noted(data, model, (*known, *made)))
            answer = await self._sent(self._post(data), clock)
            if answer.is_success:
                self._concessions.worked(model, made)
                return answer
            async with aclosing(answer):
                problem = await _problem(answer, clock)
            conceded = self._concessions.next_body(body, problem, answer.status_code, made)
            if conceded is None:
                raise self._failure(request, problem, answer)
            body = conceded
            made.append(problem)

    def _post(self, data: bytes) -> Ask:
        if self._head is None:
            self._head = worded("POST", httpx.URL(self._provider.url(self._wire.path)), self._said(posts=True))
        return Ask(self._head, data, self._provider.timeouts.connect_s)

    def _said(self, *, posts: bool) -> Iterable[tuple[str, str]]:
        """Return what every request of a kind says of itself."""
        headers = {
            "user-agent": f"kova-auto/{__version__}",
            "accept": "text/event-stream" if posts else "application/json",
            "accept-encoding": "identity",
            **({"content-type": "application/json"} if posts else {}),
            **self._wire.headers(self._provider),
            **self._headers,
        }
        return headers.items()

    def _check_url(self) -> str:
        parts = urlsplit(self._provider.url(self._wire.path))
        base = _DEPLOYMENT.sub("/", parts.path.removesuffix(self._wire.path))
        return parts._replace(path=base + self._provider.check_path).geturl()

    async def _sent(self, ask: Ask, clock: Waiting) -> Answer:
        if self._opened is None:
            self._opened = open_transport(self._provider)
        return await clock.wait(self._opened.ask(ask))

    def _failure(self, request: ModelRequest, problem: Problem, answer: Answer) -> ModelError:
        window = self._window(request.model)
        return failure_of(
            self._provider,
            problem,
            answer.status_code,
            retry_after_s(answer.headers),
            request_id=_request_id(answer),
            too_large=window is not None and estimate(request) > window,
        )

    def _refuse_overflow(self, model: str, reply: ModelReply, said: Usage | None) -> None:
        if overflowed_silently(reply, said, self._window(model)):
            msg = f"{self._provider.name} answered a request that is larger than the window of {model}"
            raise ContextOverflowError(msg)


class _Naming:
    """Turn what goes wrong on the way into our own errors."""

    __slots__ = ("_clock", "_provider")

    def __init__(self, provider: Provider, clock: Waiting) -> None:
        self._provider, self._clock = provider, clock

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        provider = self._provider
        match error:
            case TimeoutError():
                msg = f"{provider.name} {self._clock.complaint}"
                raise ModelUnavailableError(msg, fault=Fault.TIMEOUT) from None
            case httpx.LocalProtocolError() | httpx.UnsupportedProtocol() | httpx.InvalidURL() | UnicodeError():
                msg = f"{provider.name} at {provider.place} cannot be asked like this: check its base_url and headers"
                # The cause quotes headers, and one of them holds the key.
                raise ModelRefusedError(msg, fault=Fault.SETTINGS) from None
            case httpx.TransportError():
                msg = f"{provider.name} at {provider.place}: {said_of(error)}"
                raise ModelUnavailableError(msg, fault=Fault.NETWORK) from error
            case EventTooLargeError() | EncodingError():
                msg = f"{provider.name} at {provider.place}: {error}"
                raise ModelUnavailableError(msg, fault=Fault.MALFORMED) from error
            case _:
                pass


def _read(together: list[SseEvent], decoder: Decoder) -> ModelError | None:
    """Let events be read; return what went wrong, for what came before it is to be shown first."""
    try:
        for event in together:
            decoder.feed(event)
    except ModelError as exc:
        return exc
    return None


async def _problem(answer: Answer, clock: Waiting) -> Problem:
    """Return what a refusal says is wrong."""
    if answer.is_redirect:
        return Problem("it has moved: check its base_url")
    text = await complaint_of(answer, clock)
    if not text.lstrip().startswith("<"):
        return problem_in(parsed(text)) or Problem(text)
    return Problem("a page of HTML: check its base_url" if answer.status_code in _NO_PLACE else "a page of HTML")


def _request_id(answer: Answer) -> str:
    return answer.headers.get("x-request-id") or answer.headers.get("request-id", "")


def _listed(body: JsonValue) -> tuple[str, ...]:
    entries = body.get("data") if isinstance(body, dict) else None
    named = (entry.get("id") for entry in entries if isinstance(entry, dict)) if isinstance(entries, list) else ()
    return tuple(mended(name) for name in named if isinstance(name, str) and name)
