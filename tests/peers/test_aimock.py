"""A second server by others, which plays what it is given: three protocols, parallel calls, faults, thinking."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.core.event import Event, ModelCallFailed, ModelReplied
from kova_auto.core.fault import Fault
from kova_auto.core.job import Outcome
from kova_auto.core.message import Usage
from kova_auto.core.run import RunState
from tests.app.houses import Home
from tests.peers.servers import BIN, NODE_MODULES, ask, served
from tests.support.ports import free_port

pytestmark = pytest.mark.slow

PROTOCOLS = ("openai-chat", "openai-responses", "anthropic-messages")
AIMOCK = NODE_MODULES / "@copilotkit" / "aimock" / "dist" / "cli.js"
BOTH = {
    "toolCalls": [
        {"name": "read", "arguments": {"file_path": "a.txt"}},
        {"name": "read", "arguments": {"file_path": "b.txt"}},
    ]
}
ANSWER = {"content": "One and two, written out so that the answer takes more than one piece of the stream."}

Fixture = Mapping[str, object]


@dataclass(frozen=True)
class Played:
    """Hold a run against the server, and what the server was asked."""

    state: RunState
    events: Sequence[Event]
    requests: Sequence[Any]

    @property
    def faults(self) -> list[Fault | None]:
        return [event.fault for event in self.events if isinstance(event, ModelCallFailed)]

    @property
    def usages(self) -> list[Usage]:
        return [event.reply.usage for event in self.events if isinstance(event, ModelReplied)]


@asynccontextmanager
async def aimock(path: Path, fixtures: Sequence[Fixture]) -> AsyncIterator[str]:
    """Serve fixtures: each is a response, and with `on` what else it is matched by."""
    entries = [
        {"match": {"userMessage": "Compare", **dict(one.get("on", {}))}, **{k: v for k, v in one.items() if k != "on"}}  # type: ignore[call-overload]  # a mapping
        for one in fixtures
    ]
    (path / "fixtures.json").write_text(json.dumps({"fixtures": entries}))
    base = f"http://127.0.0.1:{(port := free_port())}"
    command: list[str | Path] = [
        BIN / "node",
        AIMOCK,
        "-p",
        str(port),
        "-f",
        str(path / "fixtures.json"),
        "--strict",
        "-c",
        "8",
    ]
    with served(command, f"{base}/health", path / "log"):
        yield base


async def played(home: Home, protocol: str, *fixtures: Fixture) -> Played:
    """Run a job against these fixtures."""
    home.workspace.mkdir()
    (home.workspace / "a.txt").write_text("one\n")
    (home.workspace / "b.txt").write_text("two\n")
    home.jobs.mkdir(parents=True)
    job = f'prompt = "Compare the notes."\nmodel = "mock/some-model"\nworkspace = "{home.workspace}"\n'
    (home.jobs / "asks.toml").write_text(job)
    async with aimock(home.path, fixtures) as base:
        home.settings(f'[providers.mock]\nprotocol = "{protocol}"\nbase_url = "{base}/v1"\n')
        async with home.house() as house:
            row = await house.control.request(home.ask("asks"))
            await drive_one(house, row.run_id, asyncio.Event())
            state = await house.store.journal.load(row.run_id)
            events = [event for _, event in await house.store.journal.events(row.run_id)]
        requests = ask(f"{base}/__aimock/journal")
    return Played(state, events, requests)


def first(response: object, **more: object) -> Fixture:
    return {"on": {"hasToolResult": False}, "response": response, **more}


def then(response: object, **more: object) -> Fixture:
    return {"on": {"hasToolResult": True}, "response": response, **more}


def only(number: int, fixture: Fixture) -> Fixture:
    """Play a fixture for one request of its kind alone, counted from 0."""
    return {**fixture, "on": {**dict(fixture["on"]), "sequenceIndex": number}}  # type: ignore[call-overload]  # a mapping


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_calls_of_one_reply_are_made_in_their_order_and_answered_together(home: Home, protocol: str) -> None:
    run = await played(home, protocol, first(BOTH), then(ANSWER))

    assert run.state.finished is not None
    assert (run.state.finished.outcome, run.state.finished.answer) == (Outcome.DONE, ANSWER["content"])
    assert [call.result.text for call in run.state.calls.values() if call.result] == ["1\tone", "1\ttwo"]
    assert len(run.requests) == 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("kind", "status", "fault"),
    [("rate_limit_error", 429, Fault.RATE_LIMITED), ("overloaded_error", 529, Fault.OVERLOADED)],
)
async def test_a_server_that_is_too_busy_is_asked_again(
    home: Home, protocol: str, kind: str, status: int, fault: Fault
) -> None:
    busy = {"error": {"message": "come back later", "type": kind}, "status": status}
    run = await played(home, protocol, only(0, first(busy)), only(1, first(BOTH)), then(ANSWER))

    assert run.state.finished is not None
    assert (run.state.finished.outcome, run.faults) == (Outcome.DONE, [fault])
    assert len(run.requests) == 3


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("pieces", [1, 2, 3, 4])
async def test_a_reply_that_is_cut_is_asked_for_again_and_nothing_of_it_is_done(
    home: Home, protocol: str, pieces: int
) -> None:
    run = await played(
        home,
        protocol,
        only(0, first(BOTH, truncateAfterChunks=pieces)),
        only(1, first(BOTH)),
        only(0, then(ANSWER, truncateAfterChunks=pieces)),
        only(1, then(ANSWER)),
    )

    assert run.state.finished is not None
    assert (run.state.finished.outcome, run.state.finished.answer) == (Outcome.DONE, ANSWER["content"])
    assert set(run.faults) <= {Fault.TRUNCATED, Fault.NETWORK}
    assert (len(run.faults), len(run.state.calls), len(run.requests)) == (2, 2, 4)


@pytest.mark.parametrize(
    ("protocol", "usage"),
    [
        ("openai-chat", {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}),
        ("openai-responses", {"input_tokens": 120, "output_tokens": 30, "total_tokens": 150}),
        ("anthropic-messages", {"input_tokens": 120, "output_tokens": 30}),
    ],
)
async def test_what_a_reply_used_is_counted_once(home: Home, protocol: str, usage: Mapping[str, int]) -> None:
    run = await played(home, protocol, first({**ANSWER, "usage": usage}))

    assert run.state.finished is not None
    assert run.state.finished.outcome is Outcome.DONE
    assert [(used.input_tokens, used.output_tokens) for used in run.usages] == [(120, 30)]


async def test_thinking_is_kept_as_it_came_with_its_signature(home: Home) -> None:
    run = await played(home, "anthropic-messages", first({**BOTH, "reasoning": "Both, I think."}), then(ANSWER))

    assert run.state.finished is not None
    assert run.state.finished.outcome is Outcome.DONE
    reply = next(event.reply for event in run.events if isinstance(event, ModelReplied))
    assert isinstance(reply.raw, dict)
    assert reply.reasoning == "Both, I think."
    assert reply.raw["content"][0] == {  # type: ignore[index]  # JSON
        "type": "thinking",
        "thinking": "Both, I think.",
        "signature": "aimock-placeholder-signature",
    }
