"""A receiver of webhooks on loopback that misbehaves as it is told, on raw sockets: no framework repairs what is wrong.

Each path has a script of faults, one for each attempt; the last repeats. Every request is kept as it came, with the
connection it came on; an id that was accepted before is counted as a repeat, as a careful receiver would.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

CHUNK = b"x" * 65_536
NO_BODY = b"content-length: 0\r\n"


@dataclass(frozen=True)
class Request:
    """Hold one request as it came."""

    connection: int
    head: bytes
    body: bytes

    @property
    def path(self) -> str:
        return self.head.split(b" ", 2)[1].decode()

    def header(self, name: str) -> str:
        """Return a header's value; empty where it is not there."""
        for line in self.head.split(b"\r\n")[1:]:
            key, _, value = line.partition(b":")
            if key.decode().lower() == name:
                return value.strip().decode()
        return ""


@dataclass
class Talk:
    """Hold one connection; `request` is there once it was read."""

    number: int
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    request: Request | None = None

    async def say(self, *parts: bytes) -> None:
        for part in parts:
            self.writer.write(part)
            await self.writer.drain()

    async def reset(self) -> None:
        sock: socket.socket = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


Act = Callable[[Talk], Awaitable[None]]


@dataclass(frozen=True)
class Fault:
    """Say what is done with one connection, and whether the request is read before."""

    act: Act
    reads: bool = True


def says(*parts: bytes, reads: bool = True) -> Fault:
    """Answer with these bytes, and close."""

    async def act(talk: Talk) -> None:
        await talk.say(*parts)

    return Fault(act, reads)


def answers(status: int, body: bytes = b"", *headers: bytes, reason: bytes = b"Said") -> Fault:
    """Answer properly."""
    lines = [b"HTTP/1.1 %d %s" % (status, reason), b"content-length: %d" % len(body), *headers]
    return says(b"\r\n".join(lines) + b"\r\n\r\n" + body)


async def forever() -> None:
    await asyncio.Event().wait()


def closes(*, before: bool = False) -> Fault:
    """Close without an answer: at once, or with the request read."""

    async def act(_: Talk) -> None:
        return

    return Fault(act, reads=not before)


def resets(*, before: bool = False, after: bytes = b"") -> Fault:
    """Break the connection off: at once, with the request read, or after some bytes of an answer."""

    async def act(talk: Talk) -> None:
        if after:
            await talk.say(after)
        await talk.reset()

    return Fault(act, reads=not before)


def hangs(*, reads: bool = True) -> Fault:
    """Never answer; or not even read."""

    async def act(_: Talk) -> None:
        await forever()

    return Fault(act, reads=reads)


def drips(first: bytes, rest: bytes, every_s: float = 0.02) -> Fault:
    """Answer one byte at a time, again and again: no single wait is long."""

    async def act(talk: Talk) -> None:
        await talk.say(first)
        while True:
            for byte in rest:
                await talk.say(bytes([byte]))
                await asyncio.sleep(every_s)

    return Fault(act)


def floods(head: bytes, part: bytes, times: int) -> Fault:
    """Answer with far too much, for as long as somebody reads it."""

    async def act(talk: Talk) -> None:
        await talk.say(head)
        for _ in range(times):
            await talk.say(part)

    return Fault(act)


def refuses_early(answer: bytes) -> Fault:
    """Answer after the request's head, and close with its body unread."""

    async def act(talk: Talk) -> None:
        await talk.reader.readuntil(b"\r\n\r\n")
        await talk.say(answer)

    return Fault(act, reads=False)


OK = answers(200, b"ok")


@dataclass
class Chaos:
    """Be one receiver.

    Attributes:
        scripts: What is done with each attempt at a path; the last repeats. Other paths are answered 200 "ok".
        requests: What was read, in order.
        connections: How many there were.
    """

    port: int = 0
    scripts: dict[str, list[Fault]] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    scheme: str = "http"
    _begun: Counter[str] = field(default_factory=Counter)
    _talks: set[asyncio.Task[None]] = field(default_factory=set)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.port}{path}"

    def script(self, *faults: Fault, path: str = "/") -> str:
        """Do this at a path from now on, and return its address."""
        self.scripts[path] = list(faults)
        self._begun[path] = 0
        return self.url(path)

    @property
    def ids(self) -> list[str]:
        """Return the id of each request that has one, in order."""
        return [found for request in self.requests if (found := request.header("webhook-id"))]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        try:
            await self._talk(Talk(self.connections, reader, writer))
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, asyncio.CancelledError):
            return  # `close` alone cancels.
        finally:
            self._talks.discard(task)
            writer.close()

    async def _talk(self, talk: Talk) -> None:
        unread = self._next("/")  # One that does not read cannot know the path: it is scripted at the root.
        if not unread.reads:
            self._begun["/"] += 1
            await unread.act(talk)
            return
        head = await talk.reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        talk.request = Request(talk.number, head, await talk.reader.readexactly(length))
        self.requests.append(talk.request)
        fault = self._next(talk.request.path)
        self._begun[talk.request.path] += 1
        await fault.act(talk)

    def _next(self, path: str) -> Fault:
        script = self.scripts.get(path) or [OK]
        return script[min(self._begun[path], len(script) - 1)]

    async def close(self) -> None:
        for talk in self._talks:
            talk.cancel()
        await asyncio.gather(*self._talks, return_exceptions=True)


@asynccontextmanager
async def chaos(*faults: Fault, tls: ssl.SSLContext | None = None) -> AsyncIterator[Chaos]:
    """Have a receiver on a free port for as long as the block lasts; faults are the script of its root."""
    here = Chaos(scheme="https" if tls else "http")
    if faults:
        here.script(*faults)
    server = await asyncio.start_server(here.serve, "127.0.0.1", 0, ssl=tls, limit=2**20)
    here.port = server.sockets[0].getsockname()[1]
    try:
        yield here
    finally:
        server.close()
        await here.close()
        await server.wait_closed()


@contextlib.contextmanager
def blackhole() -> Iterator[int]:
    """Have a port whose queue of connections is full: a further one is neither taken nor refused."""
    with socket.socket() as listening, contextlib.ExitStack() as held:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            filler = held.enter_context(socket.socket())
            filler.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                filler.connect(listening.getsockname())
        yield listening.getsockname()[1]


@dataclass
class Names:
    """Resolve as told, one answer for each look-up of a name; the last repeats. Counts what was asked."""

    answers: dict[str, list[Sequence[str] | Exception]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    hangs: bool = False

    async def resolve(self, host: str) -> Sequence[str]:
        self.asked.append(host)
        if self.hangs:
            await forever()
        script = self.answers[host]
        answer = script.pop(0) if len(script) > 1 else script[0]
        if isinstance(answer, Exception):
            raise answer
        return answer
