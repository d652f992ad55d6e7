"""Receive on loopback what would be posted: for `kova-auto run --listen`, and to try an endpoint out.

It believes what carries a good signature and nothing else, and keeps both to be shown.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from kova_auto.core.delivery.signature import SigningSecret, verify

MAX_HEAD: Final = 32_768
MAX_BODY: Final = 1_000_000
PATIENCE_S: Final = 10.0
_LENGTH: Final = re.compile(r"[0-9]{1,12}")
_REASONS: Final[Mapping[int, str]] = {
    204: "No Content", 400: "Bad Request", 405: "Method Not Allowed", 411: "Length Required", 413: "Content Too Large",
}  # fmt: skip


@dataclass(frozen=True)
class Received:
    """Hold one request.

    Attributes:
        headers: Names in lower case.
        problem: Why it was refused; empty for one whose signature was verified.
    """

    path: str
    headers: Mapping[str, str]
    body: bytes
    problem: str = ""

    @property
    def verified(self) -> bool:
        """Say whether the signature was good."""
        return not self.problem


class Receiver:
    """Listen on a free port of 127.0.0.1 while the `async with` lasts; `received` grows by one for each request."""

    def __init__(self, secrets: Sequence[SigningSecret], now: Callable[[], datetime]) -> None:
        """Keep what verifies a signature.

        Args:
            secrets: Any of them may have signed.
            now: Tells the time, for the age of a signature.
        """
        self._secrets, self._now = secrets, now
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()
        self._arrived = asyncio.Condition()
        self.received: list[Received] = []

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=MAX_HEAD)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server:
            self._server.close()
            for talk in self._talks:
                talk.cancel()
            await asyncio.gather(*self._talks, return_exceptions=True)
            await self._server.wait_closed()

    @property
    def url(self) -> str:
        """Return where to post; only while it listens."""
        if self._server is None:
            msg = "wanted a receiver that listens: use it with `async with`"
            raise RuntimeError(msg)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"

    async def wait_for(self, number: int) -> Sequence[Received]:
        """Return what was received, once it is at least `number` requests."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: len(self.received) >= number)
        return tuple(self.received)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talk = asyncio.ensure_future(self._serve(reader, writer))
        self._talks.add(talk)
        talk.add_done_callback(self._talks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                writer.write(_spell(await self._take(reader)))
                await writer.drain()
        except (OSError, EOFError, asyncio.LimitOverrunError):
            return  # whoever sends half a request, or no HTTP, gets no answer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _take(self, reader: asyncio.StreamReader) -> int:
        """Read one request, keep it, and return the status to answer."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, headers = _parse(head)
        length = headers.get("content-length", "")
        if method != "POST":
            return await self._keep(405, Received(path, headers, b"", f"the method is {method}, wanted POST"))
        if not _LENGTH.fullmatch(length):
            return await self._keep(411, Received(path, headers, b"", "the body's length is missing or malformed"))
        if int(length) > MAX_BODY:
            return await self._keep(413, Received(path, headers, b"", f"the body is longer than {MAX_BODY} bytes"))
        body = await reader.readexactly(int(length))
        problem = verify(self._secrets, headers, body, now_s=self._now().timestamp())
        return await self._keep(400 if problem else 204, Received(path, headers, body, problem or ""))

    async def _keep(self, status: int, received: Received) -> int:
        async with self._arrived:
            self.received.append(received)
            self._arrived.notify_all()
        return status


def _parse(head: str) -> tuple[str, str, Mapping[str, str]]:
    first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
    method, _, rest = first.partition(" ")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        key = name.strip().lower()
        # A repeated header becomes a list, which no signature check takes for one value.
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return method, rest.partition(" ")[0], headers


def _spell(status: int) -> bytes:
    length = "" if status == 204 else "Content-Length: 0\r\n"
    return f"HTTP/1.1 {status} {_REASONS[status]}\r\nConnection: close\r\n{length}\r\n".encode()
