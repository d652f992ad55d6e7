"""How many deliveries a second: to one receiver and to a hundred, beside a bare httpx loop that posts the same.

The bare loop keeps nothing: no journal, no lease, no record of an attempt. It opens a connection for each message, as a
courier does, and goes from one to the next at each receiver.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from kova_auto.app.house import House, build
from kova_auto.core.delivery.signature import spell_secret
from kova_auto.core.event import RunFinished
from kova_auto.core.job import Outcome
from kova_auto.core.owed import DeliveryStatus
from kova_auto.settings.load import load_settings
from tests.support import ALONE, a_job, a_request, at

pytestmark = pytest.mark.bench

COUNT = 300
BODY = b"x" * 900
ENDPOINT = """
[endpoints.e{number}]
url = "http://127.0.0.1:{port}/e{number}"
secret = {{ env = "HOOK" }}
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
"""


@asynccontextmanager
async def receiver() -> AsyncIterator[int]:
    """Take whatever is posted."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        writer.write(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def owing(place: Path, port: int, endpoints: int) -> House:
    """Have a service whose runs owe their results, evenly, to so many endpoints."""
    tables = "".join(ENDPOINT.format(number=number, port=port) for number in range(endpoints))
    (place / "kova-auto.toml").write_text(f'data_dir = "{place}/data"\n{tables}')
    environ = {"HOME": str(place), "PATH": "/usr/bin:/bin", "HOOK": spell_secret(b"h" * 32), **ALONE}
    house = await build(load_settings(place / "kova-auto.toml", environ), environ)
    for number in range(COUNT):
        job = a_job(f"job{number}", notify=({"endpoint": f"e{number % endpoints}"},))
        state, _ = await house.store.journal.open(a_request(f"job{number}@1", job=job))
        ended = RunFinished(at=at("06:01:00"), outcome=Outcome.DONE, answer="An answer. " * 40)
        await house.store.journal.append(state, ended)
    return house


async def bare(port: int, endpoints: int) -> None:
    """Post as often, from one task for each receiver; what verifies certificates is made once, as ours is."""
    tls = ssl.create_default_context()

    async def one(number: int) -> None:
        for _ in range(number, COUNT, endpoints):
            async with httpx.AsyncClient(verify=tls) as client:
                await client.post(f"http://127.0.0.1:{port}/e{number}", content=BODY)

    await asyncio.gather(*map(one, range(endpoints)))


async def timed(work: Callable[[], Awaitable[None]]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    await work()
    return time.perf_counter() - wall, time.process_time() - cpu


@pytest.mark.parametrize("endpoints", [1, 100])
async def test_deliveries_a_second(tmp_path: Path, endpoints: int) -> None:
    async with receiver() as port:
        house = await owing(tmp_path, port, endpoints)

        async def ours() -> None:
            while await house.courier.deliver_due():
                continue

        told, told_cpu = await timed(ours)
        plain, plain_cpu = await timed(lambda: bare(port, endpoints))
        rows = await house.store.views.deliveries(limit=COUNT)
        await house.close()
    assert [row.status for row in rows] == [DeliveryStatus.DELIVERED] * COUNT
    print(
        f"\n{COUNT} to {endpoints}: {COUNT / told:.0f} a second, {told_cpu / COUNT * 1e3:.2f} ms CPU each; "
        f"bare httpx {COUNT / plain:.0f} a second, {plain_cpu / COUNT * 1e3:.2f} ms; "
        f"wall {told / plain:.2f}x, CPU {told_cpu / plain_cpu:.2f}x"
    )
