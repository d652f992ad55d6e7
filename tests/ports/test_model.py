"""What every model does, the one over HTTP, the played script and the tests' double."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from kova_auto.core.errors import ModelError
from kova_auto.core.ids import call_id
from kova_auto.core.message import (
    AssistantMessage,
    CallDelta,
    Message,
    ModelChunk,
    ModelReply,
    ModelRequest,
    ReplyDone,
    ResultStatus,
    TextDelta,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.catalog import OpenModel
from kova_auto.llm.script import parse_script
from kova_auto.llm.scripted import ScriptPlayer
from tests.doubles.model import ScriptedModel, call, fails, says
from tests.llm.chat_stream import DONE, calls, delta, fragment, sse
from tests.llm.fault_server import Act, Answer, asking, streams

Opened = Callable[[], AbstractAsyncContextManager[OpenModel]]

SCRIPT = """
[[turns]]
text = "Hm."
[[turns.calls]]
tool = "read"
args = { path = "a" }
[[turns.calls]]
tool = "todo"

[[turns]]
text = "Done."
"""


def over_http(*answers: Answer) -> Opened:
    @asynccontextmanager
    async def opened() -> AsyncIterator[OpenModel]:
        async with asking(*answers) as (model, _):
            yield model

    return opened


def at_hand(make: Callable[[], OpenModel]) -> Opened:
    @asynccontextmanager
    async def opened() -> AsyncIterator[OpenModel]:
        model = make()
        yield model
        await model.aclose()

    return opened


TWO_CALLS = calls(fragment('{"path": "a"}', index=0, id="1", name="read"), fragment("{}", index=1, id="2", name="todo"))
TALKS = {
    "http": over_http(
        streams(sse(delta(content="H"), delta(content="m."), TWO_CALLS, delta("tool_calls"), DONE)),
        streams(sse(delta(content="Done."), delta("stop"), DONE)),
    ),
    "script": at_hand(lambda: ScriptPlayer(parse_script(SCRIPT, "a.script.toml"))),
    "double": at_hand(lambda: ScriptedModel(says("Hm.", call("read", path="a"), call("todo")), says("Done."))),
}
FAILS = {
    "http": over_http(streams(sse(delta(content="Half an ans")), Act.DROP)),
    "script": at_hand(lambda: ScriptPlayer(parse_script('[[turns]]\ntext = "{{ results.gone }}"', "a.script.toml"))),
    "double": at_hand(lambda: ScriptedModel(fails(ModelError("no"), partial="Half an ans"))),
}
talking = pytest.mark.parametrize("opened", TALKS.values(), ids=TALKS.keys())
failing = pytest.mark.parametrize("opened", FAILS.values(), ids=FAILS.keys())

PROMPT = UserMessage(parts=(TextPart(text="Look around."),))


async def chunks_of(model: OpenModel, *messages: Message) -> list[ModelChunk]:
    return [chunk async for chunk in model.stream(ModelRequest(model="m", system="s", messages=messages))]


def the_reply(chunks: list[ModelChunk]) -> ModelReply:
    last = chunks[-1]
    assert isinstance(last, ReplyDone)
    return last.reply


def answered(reply: ModelReply) -> tuple[Message, ...]:
    made = tuple(ToolCall(id=call_id(1, index), **dict(asked)) for index, asked in enumerate(reply.calls, 1))
    told = (ToolMessage(call=made_one, status=ResultStatus.OK, parts=(TextPart(text="r"),)) for made_one in made)
    return (AssistantMessage(text=reply.text, calls=made, raw=reply.raw), *told)


@talking
async def test_a_stream_ends_with_its_one_whole_reply(opened: Opened) -> None:
    async with opened() as model:
        chunks = await chunks_of(model, PROMPT)
    assert [chunk for chunk in chunks if isinstance(chunk, ReplyDone)] == chunks[-1:]
    reply = the_reply(chunks)
    assert (reply.text, reply.stop) == ("Hm.", StopReason.TOOL_CALLS)
    assert [(asked.tool, asked.args, asked.unparsed) for asked in reply.calls] == [
        ("read", {"path": "a"}, None),
        ("todo", {}, None),
    ]


@talking
async def test_the_pieces_add_up_to_the_reply(opened: Opened) -> None:
    async with opened() as model:
        chunks = await chunks_of(model, PROMPT)
    reply = the_reply(chunks)
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextDelta)) == reply.text
    assert [chunk.name for chunk in chunks if isinstance(chunk, CallDelta)] == [asked.tool for asked in reply.calls]


@talking
async def test_a_conversation_goes_on_behind_its_results(opened: Opened) -> None:
    async with opened() as model:
        first = the_reply(await chunks_of(model, PROMPT))
        second = the_reply(await chunks_of(model, PROMPT, *answered(first)))
    assert (second.text, second.calls, second.stop) == ("Done.", (), StopReason.END)


@talking
async def test_a_reply_can_be_written_down(opened: Opened) -> None:
    async with opened() as model:
        reply = the_reply(await chunks_of(model, PROMPT))
    assert ModelReply.model_validate_json(reply.model_dump_json()) == reply


@failing
async def test_what_gives_no_whole_reply_is_a_model_error_and_no_reply(opened: Opened) -> None:
    seen: list[ModelChunk] = []

    async def ask(model: OpenModel) -> None:
        async for chunk in model.stream(ModelRequest(model="m", system="s", messages=(PROMPT,))):
            seen.append(chunk)  # noqa: PERF401

    async with opened() as model:
        with pytest.raises(ModelError):
            await ask(model)
    assert not [chunk for chunk in seen if isinstance(chunk, ReplyDone)]


@talking
async def test_a_reader_may_stop_before_the_end(opened: Opened) -> None:
    async with opened() as model:
        stream = model.stream(ModelRequest(model="m", system="s", messages=(PROMPT,)))
        assert isinstance(await anext(aiter(stream)), TextDelta)
        close = getattr(stream, "aclose", None)
        assert close is not None
        await close()
        assert the_reply(await chunks_of(model, PROMPT)).model
