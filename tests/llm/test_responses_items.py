"""Items put together from what odd servers send of them."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.message import CallDelta, CallRequest, ModelChunk, ReasoningDelta, TextDelta
from kova_auto.core.stop_reason import StopReason
from tests.llm.chat_stream import asked
from tests.llm.responses_stream import (
    Json,
    begun,
    completed,
    event,
    function_call,
    message,
    read,
    read_stream,
    reasoning,
    refused_part,
    response,
    said,
    sse,
    told,
)

READ, GLOB = function_call('{"path":"a"}'), function_call('{"path":"b","limit":3}', "glob", 2)
TWO = (asked("read", "call_1", path="a"), asked("glob", "call_2", path="b", limit=3))
FOR_READ, FOR_GLOB = told(READ), told(GLOB, 1)
END = completed(output=[])


def without(events: list[Json], *keys: str) -> list[Json]:
    return [{key: value for key, value in one.items() if key not in keys} for one in events]


def each(events: list[Json], **fields: JsonValue) -> list[Json]:
    return [{**one, **fields} for one in events]


def item_without(events: list[Json], *keys: str) -> list[Json]:
    found = []
    for one in events:
        item = one.get("item")
        found.append({**one, "item": without([item], *keys)[0]} if isinstance(item, dict) else one)
    return found


def new_ids(events: list[Json]) -> list[Json]:
    """Each event under another id, as a proxy that hides them does."""
    return [
        {**one, "item": {**item, "id": f"x{n}"}}
        if isinstance(item := one.get("item"), dict)
        else {**one, "item_id": f"x{n}"}
        for n, one in enumerate(events)
    ]


def interleaved(one: list[Json], other: list[Json]) -> list[Json]:
    return [event for pair in zip(one, other, strict=False) for event in pair] + other[len(one) :]


BARE = item_without([*FOR_READ[:-1], *FOR_GLOB[:-1]], "status")
SHAPES: dict[str, list[Json]] = {
    "as the service sends it": [*FOR_READ, *FOR_GLOB, completed(READ, GLOB)],
    "no list at the end": [*FOR_READ, *FOR_GLOB, END],
    "interleaved": [*interleaved(FOR_READ, FOR_GLOB), END],
    "finished in another order": [*FOR_READ[:-1], *FOR_GLOB, FOR_READ[-1], END],
    "no index": [*without([*FOR_READ, *FOR_GLOB], "output_index"), END],
    "no index, interleaved": [*without(interleaved(FOR_READ, FOR_GLOB), "output_index"), END],
    "every index 0": [*each([*FOR_READ, *FOR_GLOB], output_index=0), END],
    "every index 0, interleaved": [*each(interleaved(FOR_READ, FOR_GLOB), output_index=0), END],
    "another id in each event": [*new_ids(interleaved(FOR_READ, FOR_GLOB)), END],
    "no id": [*without(item_without([*FOR_READ, *FOR_GLOB], "id"), "item_id"), END],
    "no id in the items alone": [*item_without([*FOR_READ, *FOR_GLOB], "id"), END],
    "no id and no index": [*without(item_without([*FOR_READ, *FOR_GLOB], "id"), "item_id", "output_index"), END],
    "finished items alone": [FOR_READ[-1], FOR_GLOB[-1], END],
    "finished items alone, twice": [FOR_READ[-1], FOR_GLOB[-1], FOR_READ[-1], END],
    "pieces alone": [*BARE, END],
    "pieces alone, the whole never said": [one for one in BARE if not str(one["type"]).endswith("arguments.done")]
    + [END],
    "the whole alone": [one for one in BARE if not str(one["type"]).endswith(".delta")] + [END],
    "opened twice": [FOR_READ[0], *FOR_READ, *FOR_GLOB, END],
    "the list at the end alone": [completed(READ, GLOB)],
    "the list at the end without its calls": [*FOR_READ, *FOR_GLOB, completed(message(said("Hm.")))],
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_two_calls(shape: str) -> None:
    seen, reply = read_stream(sse(*begun(), *SHAPES[shape]))
    assert (reply.calls, reply.stop) == (TWO, StopReason.TOOL_CALLS)
    assert [chunk for chunk in seen if isinstance(chunk, CallDelta)] == [CallDelta(name="read"), CallDelta(name="glob")]


@pytest.mark.parametrize(
    ("events", "call"),
    [
        (
            [
                *FOR_READ[:-1],
                event("output_item.done", output_index=0, item={**READ, "arguments": '{"path":"z"}'}),
                END,
            ],
            "z",
        ),
        ([*FOR_READ, completed({**READ, "arguments": '{"path":"z"}'})], "z"),
        ([*FOR_READ[:-2], event("function_call_arguments.done", output_index=0, arguments='{"path":"z"}'), END], "z"),
        ([*FOR_READ[:-2], event("function_call_arguments.done", output_index=0), END], "a"),
    ],
)
def test_what_is_said_last_counts(events: list[Json], call: str) -> None:
    assert read(*begun(), *events).calls == (asked("read", "call_1", path=call),)


@pytest.mark.parametrize(
    ("arguments", "call"),
    [
        ({"path": "a"}, asked("read", "call_1", path="a")),
        (None, asked("read", "call_1")),
        (7, asked("read", "call_1")),
    ],
)
def test_arguments_that_are_no_text(arguments: JsonValue, call: CallRequest) -> None:
    assert read(*begun(), completed(function_call(arguments))).calls == (call,)


def test_two_items_under_one_id_are_two() -> None:
    again = {**GLOB, "id": READ["id"]}
    events = [*FOR_READ, *each(told(again), output_index=1)]
    assert read(*begun(), *events, END).calls == TWO


HELLO = message(said("Hi "), said("there."))
THOUGHT = reasoning("Hm.")


@pytest.mark.parametrize(
    "events",
    [
        [*told(THOUGHT), *told(HELLO, 1), completed(THOUGHT, HELLO)],
        [*told(THOUGHT)[:-1], *told(HELLO, 1)[:-1], END],
        [told(THOUGHT)[-1], told(HELLO, 1)[-1], END],
        [completed(THOUGHT, HELLO)],
        [one for one in (*told(THOUGHT), *told(HELLO, 1)) if "delta" not in one] + [END],
        [one for one in (*told(THOUGHT), *told(HELLO, 1)) if "part" in one] + [END],
    ],
)
def test_text_is_shown_once_however_it_comes(events: list[Json]) -> None:
    seen, reply = read_stream(sse(*begun(), *events))
    assert (reply.reasoning, reply.text) == ("Hm.", "Hi there.")
    assert shown(seen, ReasoningDelta) == "Hm."
    assert shown(seen, TextDelta) == "Hi there."


def shown(seen: list[ModelChunk], kind: type[TextDelta | ReasoningDelta]) -> str:
    return "".join(chunk.text for chunk in seen if isinstance(chunk, kind))


def test_a_refusal_from_pieces_alone_is_one() -> None:
    reply = read(*begun(), *told(message(refused_part("No.")))[1:-1], END)
    assert (reply.stop, reply.stop_detail) == (StopReason.REFUSED, "No.")


def test_reasoning_in_the_open_from_pieces_alone() -> None:
    events = [event("reasoning_text.delta", item_id="rs_1", content_index=0, delta=text) for text in ("Th", "ink")]
    assert read(*begun(), *events, END).reasoning == "Think"


def test_only_finished_items_are_kept_and_the_list_where_none_is() -> None:
    kept: Json = {"provider": "acme", "model": "m-1"}
    assert read(*begun(), *told(THOUGHT), *told(READ, 1)[:-1], END).raw == {**kept, "output": [THOUGHT]}
    assert read(*begun(), *FOR_READ[:-1], completed(READ)).raw == {**kept, "output": [READ]}
    assert read(*begun(), *FOR_READ[:-1], END).raw is None


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (response("completed", HELLO), "Hi there."),
        ({"output": [HELLO], "status": "completed"}, "Hi there."),
        ({"output": [HELLO]}, "Hi there."),
    ],
)
def test_one_whole_body_instead_of_a_stream_is_a_reply(body: Json, text: str) -> None:
    seen, reply = read_stream(f"data: {json.dumps(body)}\n\n".encode())
    assert (shown(seen, TextDelta), reply.text) == (text, text)


def test_a_list_with_something_else_in_it_is_read_all_the_same() -> None:
    odd: JsonValue = [None, 7, {"type": "message", "content": [None, {"type": "output_text"}, said("Hi.")]}, {}]
    assert read(*begun(), completed(output=odd)).text == "Hi."
