"""A real engine by others, with a real model that is very small: three protocols, real tokens, counts and ends."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.event import Event, ModelCallFailed, ModelReplied
from kova_auto.core.fault import Fault
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ModelChunk, ModelRequest, ReplyDone, TextDelta, TextPart, UserMessage
from kova_auto.core.provider import WireProtocol
from kova_auto.core.run import RunState
from kova_auto.engine.dispatch import Advanced
from kova_auto.llm.local.weights import SMOLLM2, add
from tests.app.houses import Home
from tests.peers.servers import ask, served
from tests.support.ports import free_port

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("llamacpp")]

WINDOW = 2048
PROMPT = "Tell a story."
STOPS = {
    "openai-chat": 'stop = ["."]',
    "openai-responses": 'stop = ["."]',
    "anthropic-messages": 'stop_sequences = ["."]',
}
"""How each protocol is told to end a reply after one sentence; who says nothing to this model may wait for long."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the weights that a person adds with `kova-auto models add smollm2`."""
    place = tmp_path_factory.mktemp("llamacpp")
    add(SMOLLM2, place)
    port = free_port()
    server = Path(__file__).with_name("llama_server.py")
    program: list[str | Path] = [sys.executable, server, SMOLLM2.file(place), str(port), str(WINDOW)]
    with served(program, f"http://127.0.0.1:{port}/health", place / "log"):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path, {"KOVA_AUTO_DISCOVER": "true"})
    home.workspace.mkdir()
    return home


def asks(home: Home, prompt: str = PROMPT, model: str = 'model = "llama/smollm2"') -> None:
    home.jobs.mkdir(parents=True, exist_ok=True)
    job = f'prompt = "{prompt}"\nmode = "ask"\nworkspace = "{home.workspace}"\n{model}\n'
    (home.jobs / "asks.toml").write_text(job)


def provided(home: Home, base: str, protocol: str, body: str = "", more: str = "") -> None:
    extra = f"extra_body = {{ temperature = 0, {body or STOPS[protocol]} }}"
    home.settings(f'[providers.llama]\nprotocol = "{protocol}"\nbase_url = "{base}/v1"\n{extra}\n{more}')


async def told(house: House, run_id: RunId) -> tuple[RunState, Sequence[Event]]:
    events = [event for _, event in await house.store.journal.events(run_id)]
    return await house.store.journal.load(run_id), events


async def ran(home: Home, key: str = "k") -> tuple[RunState, Sequence[Event]]:
    """Run the job to its end."""
    async with home.house() as house:
        row = await house.control.request(home.ask("asks", key=key))
        await drive_one(house, row.run_id, asyncio.Event())
        return await told(house, row.run_id)


def replies(events: Sequence[Event]) -> list[ModelReplied]:
    return [event for event in events if isinstance(event, ModelReplied)]


def failures(events: Sequence[Event]) -> list[ModelCallFailed]:
    return [event for event in events if isinstance(event, ModelCallFailed)]


@pytest.mark.parametrize("protocol", STOPS)
async def test_a_run_gets_its_answer_and_what_it_used_is_counted(base: str, home: Home, protocol: str) -> None:
    provided(home, base, protocol)
    asks(home)
    await ran(home, "first")
    state, events = await ran(home, "second")

    assert state.finished is not None
    assert (state.finished.outcome, failures(events)) == (Outcome.DONE, [])
    assert len(state.finished.answer) > 10
    (reply,) = replies(events)
    usage = reply.reply.usage
    assert usage.cost_usd == 0.0
    assert 1 < usage.output_tokens < len(state.finished.answer)
    assert 200 < usage.input_tokens < WINDOW
    assert usage.input_tokens - 5 <= usage.cache_read_tokens < usage.input_tokens  # It has read all this before.


async def test_the_protocols_agree_on_words_and_counts(base: str, home: Home) -> None:
    said = []
    for protocol in STOPS:
        provided(home, base, protocol)
        reply = (await chunks(home))[-1]
        assert isinstance(reply, ReplyDone)
        said.append((reply.reply.text, reply.reply.usage.input_tokens, reply.reply.usage.output_tokens))

    assert len(set(said)) == 1


@pytest.mark.parametrize("protocol", STOPS)
async def test_every_token_is_a_piece_of_its_own(base: str, home: Home, protocol: str) -> None:
    provided(home, base, protocol)
    *pieces, last = await chunks(home)

    assert isinstance(last, ReplyDone)
    texts = [piece.text for piece in pieces if isinstance(piece, TextDelta)]
    assert "".join(texts) == last.reply.text
    assert last.reply.usage.output_tokens - 3 <= len(texts) <= last.reply.usage.output_tokens


async def chunks(home: Home) -> list[ModelChunk]:
    """Ask the model that a job would ask, without a run around it."""
    asks(home)
    async with home.house() as house:
        opened = await house.opening.of_request(home.ask("asks"))
        request = ModelRequest(model="smollm2", system="", messages=(UserMessage(parts=(TextPart(text=PROMPT),)),))
        model = house.models.of(RunState(opened), "llama/smollm2")
        return [chunk async for chunk in model.stream(request)]


@pytest.mark.parametrize("protocol", STOPS)
async def test_a_prompt_that_is_larger_than_the_window_is_an_overflow_and_asked_once(
    base: str, home: Home, protocol: str
) -> None:
    provided(home, base, protocol)
    asks(home, "word " * WINDOW)
    state, events = await ran(home)

    assert state.finished is not None
    assert (state.finished.outcome, state.finished.fault) == (Outcome.FAILED, Fault.OVERFLOW)
    assert [(failure.fault, failure.status) for failure in failures(events)] == [(Fault.OVERFLOW, 400)]


@pytest.mark.parametrize("protocol", STOPS)
async def test_a_reply_that_is_left_in_the_middle_is_asked_for_again_from_the_journal(
    base: str, home: Home, protocol: str
) -> None:
    provided(home, base, protocol)
    asks(home)
    await ran(home, "so that the prompt is read")
    provided(home, base, protocol, "ignore_eos = true", '[providers.llama.timeouts]\ntotal = "6s"\n')
    async with home.house() as house:
        row = await house.control.request(home.ask("asks"))
        assert await house.engine.advance(row.run_id) is Advanced.SUSPENDED
    provided(home, base, protocol)
    async with home.house() as house:
        await drive_one(house, row.run_id, asyncio.Event())
        state, events = await told(house, row.run_id)

    (failure,) = failures(events)
    assert (failure.fault, len(failure.partial_text) > 10) == (Fault.TIMEOUT, True)
    assert state.finished is not None
    assert (state.finished.outcome, len(replies(events))) == (Outcome.DONE, 1)
    shorter, longer = sorted((failure.partial_text, state.finished.answer), key=len)
    assert longer.startswith(shorter)


async def test_auto_finds_the_server_by_itself(base: str, home: Home) -> None:
    provided(home, base, WireProtocol.OPENAI_CHAT.value)
    asks(home, model="")
    state, _ = await ran(home)

    assert state.finished is not None
    assert (state.request.model, state.finished.outcome) == ("llama/smollm2", Outcome.DONE)
    assert [model["id"] for model in ask(f"{base}/v1/models")["data"]] == ["smollm2"]
