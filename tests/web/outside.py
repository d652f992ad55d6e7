"""A house that listens, and somebody outside who sends what he likes, byte by byte."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import JsonValue

from kova_auto.app.house import House
from kova_auto.app.inbound import InboundDesk
from kova_auto.core.inbound.hook import HookRow
from kova_auto.core.inbound.request import Headers
from kova_auto.core.inbound.schemes import scheme_of
from kova_auto.scheduling.book import JobBook
from kova_auto.web.hooks import hook_route
from kova_auto.web.listener import Listener, bound, site
from tests.app.houses import Home
from tests.core.inbound.senders import SECRETS, table

PUSH: dict[str, JsonValue] = {"ref": "refs/heads/main", "sender": {"login": "ada"}}
HOOK = """
[inputs]
branch = {{ default = "none", max_length = 40 }}
[schedule.webhook]
source = "{source}"
secret = {{ env = "{variable}" }}
map = {{ branch = "/ref" }}
"""


def a_home(path: Path) -> Home:
    """Return a home that has the secrets of every sender."""
    return Home(path, {f"{source.upper()}_SECRET": secret for source, secret in SECRETS.items()})


def a_hook(home: Home, source: str = "github", more: str = "", name: str = "deploy") -> None:
    """Write a job that a sender starts; `more` are further keys of its `webhook` table, or tables."""
    text = HOOK.format(source=source, variable=f"{source.upper()}_SECRET") + more
    home.job(name, f"allow_scripted = true\n{text}")


@dataclass
class Reply:
    """Hold an answer."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> dict[str, JsonValue]:
        found: dict[str, JsonValue] = json.loads(self.text)
        return found


@dataclass
class Outside:
    """Be outside."""

    house: House
    book: JobBook
    port: int
    rung: list[int] = field(default_factory=list)

    @property
    def now(self) -> int:
        return int(self.house.clock.now().timestamp())

    async def rows(self) -> list[HookRow]:
        """Return what was kept, oldest first."""
        return [*reversed(await self.house.store.hooks.rows())]

    def signed(
        self, data: bytes, source: str = "github", *, now: int | None = None, msg_id: str = "id-1", event: str = "push"
    ) -> Headers:
        """Return the headers that a sender puts before a body."""
        scheme = scheme_of(table(source))
        at = self.now if now is None else now
        return scheme.sign(scheme.parse_key(SECRETS[source]), data, at, msg_id, event)

    async def send(
        self,
        data: bytes,
        headers: Headers | None = None,
        *,
        path: str = "/hooks/deploy",
        method: str = "POST",
        kind: str = "application/json",
        more: str = "",
    ) -> Reply:
        """Send one request; without headers it is signed as GitHub does."""
        shown = self.signed(data) if headers is None else headers
        lines = b"".join(b"%s: %s\r\n" % pair for pair in shown)
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n{more}"
        return await self.raw(head.encode() + lines + b"\r\n" + data)

    async def raw(self, *parts: bytes) -> Reply:
        """Send bytes, and read until the other side hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            return parsed(await reader.read())
        finally:
            writer.close()


def parsed(data: bytes) -> Reply:
    """Return the last answer of what came; status 0 where none did."""
    while data.startswith(b"HTTP/1.1 100"):
        data = data.partition(b"\r\n\r\n")[2]
    head, _, text = data.partition(b"\r\n\r\n")
    if not head:
        return Reply(0, {}, "")
    first, *lines = head.decode().split("\r\n")
    pairs = (line.partition(": ") for line in lines)
    return Reply(int(first.split(" ")[1]), {name.lower(): value for name, _, value in pairs}, text.decode())


@asynccontextmanager
async def outside(
    house: House, *, head_s: float = 30.0, body_s: float = 30.0, most: int = 64
) -> AsyncIterator[Outside]:
    """Let a house listen for as long as the block lasts; a request's head and body may take so long."""
    book = JobBook(house.settings.jobs_dir, timezone="UTC", endpoints=())
    book.refresh()
    rung: list[int] = []
    desk = InboundDesk(book, house.store.hooks, house.clock, house.vault, lambda: rung.append(1))
    listener = Listener(site([hook_route(desk, body_s)]), bound("127.0.0.1", 0), patience_s=head_s, most=most)
    stop = asyncio.Event()
    serving = asyncio.create_task(listener.serve(stop))
    await asyncio.sleep(0)
    yield Outside(house, book, listener.port, rung)
    stop.set()
    await serving
