"""Hostile addresses, tried by each way out of the service: a page that a model wants, a message to an endpoint, and
what a redirect of an honest server points to."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kova_auto.core.delivery.format import Rendered
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.errors import ToolError
from kova_auto.delivery.sender import send
from kova_auto.net.exchange import GuardedExchange
from kova_auto.tools.web_fetch import WebFetchTool
from tests.net.test_guard import CASES, TLS, Case, Dial, Names
from tests.tools.tool_scenes import a_scene, play

NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
HONEST = "93.184.216.34"
Way = Callable[[GuardedExchange, str], Awaitable[None]]


async def fetched(exchange: GuardedExchange, url: str) -> None:
    """Have a model ask for a page."""
    tool = WebFetchTool(exchange)
    with suppress(ToolError, ValueError):
        await play(tool, a_scene(Path("/w")), url=url)


async def delivered(exchange: GuardedExchange, url: str) -> None:
    """Have a message sent to an endpoint whose settings allow plain http, and nothing else."""
    target = Target("ci", FormatName.SLACK, url, allow_http=True)
    result = await send(exchange, target, Rendered(b"{}"), delivery_id="msg_1", now=NOW)
    assert result.outcome is not AttemptOutcome.DELIVERED


@pytest.mark.parametrize("way", [fetched, delivered])
@pytest.mark.parametrize("case", CASES, ids=[case.url for case in CASES])
async def test_nothing_is_connected_to_that_must_not_be(case: Case, way: Way) -> None:
    dial = Dial()
    exchange = GuardedExchange(Names(case.dns), TLS, dial)

    for _ in range(2):
        await way(exchange, case.url)

    assert sorted(set(dial.dialled)) == case.may_connect


class Pointing(Dial):
    """Be an honest server that answers with a redirect, and note every other connection."""

    def __init__(self, location: str) -> None:
        super().__init__(alive=(HONEST,))
        moved = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        self.said = moved.encode("latin-1", "replace")


@pytest.mark.parametrize("way", [fetched, delivered])
@pytest.mark.parametrize("case", CASES, ids=[case.url for case in CASES])
async def test_a_redirect_leads_nowhere_that_must_not_be(case: Case, way: Way) -> None:
    dial = Pointing(case.url)
    exchange = GuardedExchange(Names({**case.dns, "honest.example": [[HONEST]]}), TLS, dial)

    await way(exchange, "http://honest.example/start")

    assert set(dial.dialled) == {HONEST}


def test_all_of_them_are_tried() -> None:
    assert len(CASES) == 49
    assert len({json.dumps([case.url, case.dns]) for case in CASES}) == 49
