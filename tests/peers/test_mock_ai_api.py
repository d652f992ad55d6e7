"""A third server by others, for what two others do not say: pings, an error in a stream, arguments that are none."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.core.event import CallStarted, Event, ModelCallFailed, ModelReplied
from kova_auto.core.fault import Fault
from kova_auto.core.job import Outcome
from kova_auto.core.run import RunState
from kova_auto.engine.dispatch import Advanced
from tests.app.houses import Home
from tests.peers.servers import BIN, served
from tests.support.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("mock-ai-api")]

APPS = {"anthropic-messages": "app.anthropic_app:app", "openai-chat": "app.openai_app:app"}
"""Started one by one: the program that starts both leaves them behind when it is ended."""
BROKEN = '{"path":"tmp/mock-file.txt","contents":"unterminated"'
CLAUDE, GPT = "claude-sonnet-4-20250514", "gpt-4.1"


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Serve both of its protocols."""
    place = tmp_path_factory.mktemp("mock-ai-api")
    ports = {protocol: free_port() for protocol in APPS}
    first, second = (
        served(
            [BIN / "uvicorn", app, "--host", "127.0.0.1", "--port", str(ports[protocol])],
            f"http://127.0.0.1:{ports[protocol]}/health",
            place / protocol,
        )
        for protocol, app in APPS.items()
    )
    with first, second:
        yield {protocol: f"http://127.0.0.1:{port}/v1" for protocol, port in ports.items()}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.workspace.mkdir()
    home.jobs.mkdir(parents=True)
    return home


async def ran(
    home: Home, base: str, protocol: str, model: str, more: str = "", *, once: bool = False
) -> tuple[RunState, Sequence[Event]]:
    """Run a job to its end, or as far as one worker brings it."""
    home.settings(f'[providers.mock]\nprotocol = "{protocol}"\nbase_url = "{base}"\n{more}')
    job = f'prompt = "Say hello."\nmodel = "mock/{model}"\nworkspace = "{home.workspace}"\n'
    (home.jobs / "asks.toml").write_text(job)
    async with home.house() as house:
        row = await house.control.request(home.ask("asks"))
        if once:
            assert await house.engine.advance(row.run_id) is Advanced.SUSPENDED
        else:
            await drive_one(house, row.run_id, asyncio.Event())
        events = [event for _, event in await house.store.journal.events(row.run_id)]
        return await house.store.journal.load(row.run_id), events


async def test_pings_are_no_part_of_an_answer(bases: Mapping[str, str], home: Home) -> None:
    protocol = "anthropic-messages"
    state, events = await ran(home, bases[protocol], protocol, f"{CLAUDE}:mock-anthropic-stream")

    assert state.finished is not None
    assert (state.finished.outcome, state.finished.answer) == (Outcome.DONE, "Hello. It's nice to meet you.")
    (usage,) = [event.reply.usage for event in events if isinstance(event, ModelReplied)]
    assert (usage.input_tokens, usage.output_tokens) == (4, 12)


async def test_an_error_inside_a_stream_is_one_that_may_pass(bases: Mapping[str, str], home: Home) -> None:
    protocol = "anthropic-messages"
    state, events = await ran(home, bases[protocol], protocol, f"{CLAUDE}:mock-stream-error", once=True)

    (failure,) = [event for event in events if isinstance(event, ModelCallFailed)]
    assert (failure.fault, failure.status, failure.retryable) == (Fault.SERVER, None, True)
    assert failure.message == "mock ended its answer with an error: Mock streaming failure (api_error)"
    assert (state.finished, state.replies) == (None, ())


async def test_arguments_that_are_no_json_are_never_executed_and_every_request_is_taken(
    bases: Mapping[str, str], home: Home
) -> None:
    protocol = "openai-chat"  # It writes them only where it is asked for no stream.
    whole = "extra_body = { stream = false }\n"
    state, events = await ran(home, bases[protocol], protocol, f"{GPT}:mock-bad-tool-json", whole)

    assert state.finished is not None
    assert (state.finished.outcome, state.denials) == (Outcome.BLOCKED, 3)  # It has no tool of this name, either.
    assert [event for event in events if isinstance(event, ModelCallFailed | CallStarted)] == []
    assert {call.call.unparsed for call in state.calls.values()} == {BROKEN}
