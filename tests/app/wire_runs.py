"""Whole runs against a server on loopback that plays streams of any protocol, under a clock that is moved by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from kova_auto.app.house import House
from kova_auto.core.event import Event, ModelCallFailed
from kova_auto.core.fault import Fault
from kova_auto.core.ids import RunId
from kova_auto.core.run import RunState
from kova_auto.engine.dispatch import Advanced
from tests.app.houses import Home
from tests.doubles.clock import HandClock
from tests.llm import chat_stream as chat
from tests.llm import messages_stream as messages
from tests.llm import responses_stream as responses
from tests.llm.fault_server import Act, Answer, serving, streams

Body = dict[str, Any]
Asked = tuple[str, str, str]
"""Tool, arguments as text, and the id that the provider gives the call."""


@dataclass(frozen=True)
class Tongue:
    """Write the streams of one protocol, and read the requests that it makes.

    Attributes:
        end: What the event that ends a reply begins with.
        turns: What a request says, as roles and kinds.
        pairs: Ids of the calls in a request, and of their results.
    """

    protocol: str
    end: bytes
    says: Callable[[str], bytes]
    calls: Callable[..., bytes]
    turns: Callable[[Body], list[str]]
    pairs: Callable[[Body], tuple[list[str], list[str]]]

    def broken(self, *asked: Asked) -> Answer:
        """Ask for calls, and lose the connection in the middle of the word `other`."""
        stream = self.calls(*asked)
        middle = stream.rindex(b"other", 0, stream.index(self.end)) + 2
        return streams(stream[:middle], Act.DROP)


def _chat_calls(*asked: Asked) -> bytes:
    fragments: list[chat.Chunk] = []
    for index, (name, arguments, own) in enumerate(asked):
        fragments.append(chat.calls(chat.fragment("", index=index, id=own, name=name)))
        fragments.append(chat.calls(chat.fragment(arguments, index=index)))
    return chat.sse(*fragments, chat.delta("tool_calls"), chat.usage(100, 10), chat.DONE)


def _messages_calls(*asked: Asked) -> bytes:
    blocks = [messages.call(n, arguments, name=name, own=own) for n, (name, arguments, own) in enumerate(asked)]
    return messages.sse(messages.told(messages.begins(), *blocks, messages.ends("tool_use")))


def _responses_calls(*asked: Asked) -> bytes:
    items = [responses.function_call(said, name, n, call_id=own) for n, (name, said, own) in enumerate(asked, 1)]
    return responses.sse(*responses.whole(*items))


def _chat_pairs(body: Body) -> tuple[list[str], list[str]]:
    said = body["messages"]
    calls = [call["id"] for message in said for call in message.get("tool_calls", ())]
    return calls, [message["tool_call_id"] for message in said if message["role"] == "tool"]


def _blocks(body: Body, kind: str) -> Iterator[Body]:
    for message in body["messages"]:
        yield from (block for block in message["content"] if block["type"] == kind)


def _of_kind(body: Body, kind: str) -> list[str]:
    return [item["call_id"] for item in body["input"] if item.get("type") == kind]


TONGUES = {
    tongue.protocol: tongue
    for tongue in (
        Tongue(
            "openai-chat",
            b'"finish_reason": "',
            lambda text: chat.sse(chat.delta(content=text), chat.delta("stop"), chat.usage(100, 10), chat.DONE),
            _chat_calls,
            lambda body: [message["role"] for message in body["messages"]],
            _chat_pairs,
        ),
        Tongue(
            "anthropic-messages",
            b"event: message_delta",
            lambda said: messages.sse(messages.told(messages.begins(), messages.text(0, said), messages.ends())),
            _messages_calls,
            lambda body: [message["role"] for message in body["messages"]],
            lambda body: (
                [block["id"] for block in _blocks(body, "tool_use")],
                [block["tool_use_id"] for block in _blocks(body, "tool_result")],
            ),
        ),
        Tongue(
            "openai-responses",
            b"event: response.completed",
            lambda text: responses.sse(*responses.whole(responses.message(responses.said(text)))),
            _responses_calls,
            lambda body: [item.get("role") or item["type"] for item in body["input"]],
            lambda body: (_of_kind(body, "function_call"), _of_kind(body, "function_call_output")),
        ),
    )
}


@dataclass(frozen=True)
class Played:
    """Hold a run against the server, and the bodies that the server was sent."""

    state: RunState
    events: Sequence[Event]
    bodies: Sequence[Body]

    @property
    def faults(self) -> list[Fault | None]:
        return [event.fault for event in self.events if isinstance(event, ModelCallFailed)]


def written(home: Home, port: int, protocol: str, more: str = "", price: str = "") -> None:
    """Write the settings of the server, and a job that reads."""
    priced = f"[providers.here.models.m-1]\nprice = {price}\n" if price else ""
    home.settings(f'[providers.here]\nprotocol = "{protocol}"\nbase_url = "http://127.0.0.1:{port}/v1"\n{priced}')
    home.job("asks", f'model = "here/m-1"\n{more}', script=None)
    (home.workspace / "notes.txt").write_text("The lamp is on.\n")


async def driven(house: House, clock: HandClock, run_id: RunId) -> None:
    """Advance a run to its end; each instant that it waits for has come."""
    while await house.engine.advance(run_id) is not Advanced.DONE:
        row = await house.store.views.run(run_id)
        assert row is not None
        assert row.wake_at is not None
        clock.later(max((row.wake_at - clock.now()).total_seconds(), 0.0))


async def played(home: Home, protocol: str, *answers: Answer, more: str = "", price: str = "") -> Played:
    """Run a job whose model gives these answers, the last one again and again."""
    clock = HandClock()
    async with serving(*answers) as server:
        written(home, server.port, protocol, more, price)
        async with home.house(clock) as house:
            row = await house.control.request(home.ask("asks"))
            await driven(house, clock, row.run_id)
            state = await house.store.journal.load(row.run_id)
            events = [event for _, event in await house.store.journal.events(row.run_id)]
    return Played(state, events, [request.body for request in server.requests])


def reads(path: str = "notes.txt", own: str = "call_1") -> Asked:
    """Ask for a file of the workspace."""
    arguments: dict[str, JsonValue] = {"file_path": path}
    return "read", json.dumps(arguments), own
