"""What a model is sent only grows at its end, in every protocol, so that a provider's cache serves all the rest."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from pydantic import JsonValue

from kova_auto.core.context.briefing import Briefing
from kova_auto.core.ids import blob_hash
from kova_auto.core.message import AssistantMessage, ImagePart, ModelRequest, TextPart
from kova_auto.core.provider import BUILT_IN, Provider
from kova_auto.engine.dispatch import Advanced
from kova_auto.llm.anthropic_messages.encode import encode as encode_messages
from kova_auto.llm.openai_chat.encode import encode as encode_chat
from kova_auto.llm.openai_responses.encode import encode as encode_responses
from tests.doubles.model import ScriptedModel
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

ITERATIONS = 50
IMAGE = b"\x89PNG\r\n\x1a\n..."
BRIEF = Briefing(
    memory="(memory)",
    digest="(digest)",
    instructions="(agents)",
    behind=(TextPart(text="(file)"), ImagePart(blob=blob_hash(IMAGE), media_type="image/png")),
    blobs=(IMAGE,),
)
Encode = Callable[[Provider, ModelRequest], Mapping[str, JsonValue]]
PROTOCOLS: Mapping[str, tuple[Encode, Provider, str]] = {
    "chat": (encode_chat, BUILT_IN["openrouter"], "messages"),
    "messages": (encode_messages, BUILT_IN["anthropic"], "messages"),
    "responses": (encode_responses, BUILT_IN["openai"], "input"),
}


async def requests() -> Sequence[ModelRequest]:
    """Return what a model was sent in a run of so many iterations, over midnight, with hints and a call for its end."""
    stage = Stage(brief=BRIEF)
    stage.hands.meanwhile = lambda: stage.clock.later(1500)
    looks = [says(f"I look ({at}).", call("look", at=at // 3), call("look", path="b")) for at in range(ITERATIONS - 1)]
    model = ScriptedModel(*looks, says("Done."))
    await stage.opened(job=a_job(limits={"iterations": 60, "timeout": "48h"}))
    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    return model.requests


def unmarked(value: JsonValue) -> JsonValue:
    """Return a body without marks, which say how far a cache is to reach and are no part of what it keeps."""
    if isinstance(value, list):
        return [unmarked(item) for item in value]
    if isinstance(value, dict):
        return {key: unmarked(item) for key, item in value.items() if key != "cache_control"}
    return value


def encoded(protocol: str, request: ModelRequest) -> dict[str, Any]:
    encode, provider, _ = PROTOCOLS[protocol]
    return dict(json.loads(json.dumps(encode(provider, request))))


def told(request: ModelRequest) -> str:
    return "\n".join(
        part.text
        for message in request.messages
        if not isinstance(message, AssistantMessage)
        for part in message.parts
        if isinstance(part, TextPart)
    )


def marked(messages: Sequence[Mapping[str, Any]]) -> list[int]:
    return [at for at, message in enumerate(messages) if any("cache_control" in block for block in message["content"])]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_each_request_begins_with_all_of_the_one_before(protocol: str) -> None:
    sent, history = await requests(), PROTOCOLS[protocol][2]
    bodies = [encoded(protocol, request) for request in sent]
    said = [json.dumps(unmarked(body.pop(history))) for body in bodies]

    assert len(sent) == ITERATIONS
    assert "You have called" in told(sent[-1])
    assert "is used. Begin nothing new" in told(sent[-1])
    assert [unmarked(body) for body in bodies] == [unmarked(bodies[0])] * ITERATIONS
    assert [at for at in range(1, ITERATIONS) if not said[at].startswith(said[at - 1][:-1])] == []


async def test_marks_ask_for_a_cache_up_to_the_end_of_each_request_and_find_that_of_the_one_before() -> None:
    bodies = [encoded("messages", request) for request in await requests()]

    for before, body in pairwise(bodies[1:]):
        (system,) = body["system"]
        ends = marked(body["messages"])
        assert system["cache_control"] == {"type": "ephemeral"}
        assert (len(ends), ends[-1]) == (3, len(body["messages"]) - 1)
        assert ends[-2] == marked(before["messages"])[-1]
