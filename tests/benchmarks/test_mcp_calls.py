"""What a call of a server's tool costs through the gateway, against the library alone; `pytest -n0 -s -m bench`."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.tools.mcp_scenes import PROGRAM, a_desk, server

pytestmark = pytest.mark.bench

WARM, CALLS = 20, 300
MOST_MORE_MS = 10.0
"""What judging, looking at the list of tools, sifting and showing may add to one call."""


async def median_ms(call: Callable[[], Awaitable[object]]) -> float:
    taken = []
    for _ in range(WARM + CALLS):
        began = time.perf_counter()
        await call()
        taken.append((time.perf_counter() - began) * 1e3)
    return statistics.median(taken[WARM:])


async def bare_ms() -> float:
    """Call by the library alone."""
    program = StdioServerParameters(command=sys.executable, args=["-I", PROGRAM, "good"])
    async with stdio_client(program) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        return await median_ms(lambda: session.call_tool("echo", {"text": "hi"}))


async def test_a_call_through_the_gateway_costs_little_more_than_by_the_library_alone(tmp_path: Path) -> None:
    bare = await bare_ms()
    async with a_desk(tmp_path, server("good")) as desk:
        began = time.perf_counter()
        assert (await desk.call(text="hi")).text == "echo: hi"
        first = (time.perf_counter() - began) * 1e3
        judged = await median_ms(lambda: desk.facts(server="db", tool="echo"))
        called = await median_ms(lambda: desk.call(text="hi"))
    print(f"library {bare:.2f} ms, gateway {called:.2f} ms and {judged:.2f} ms to judge it; first call {first:.0f} ms")
    assert called + judged < bare + MOST_MORE_MS
