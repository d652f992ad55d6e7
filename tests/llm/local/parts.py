"""Small wheels with small weights, an engine that says what it is told to, and conversations."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from kova_auto.core.ids import call_id
from kova_auto.core.message import (
    AssistantMessage,
    Message,
    ModelChunk,
    ModelRequest,
    ResultStatus,
    TextPart,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from kova_auto.core.provider import configured
from kova_auto.llm.local.engine import Tell
from kova_auto.llm.local.model import LocalModel
from kova_auto.llm.local.weights import Weights

CONTENT = b"small weights"
MODEL = "small-1m"
TOOLS = tuple(ToolSpec(name=name, description="", parameters={}) for name in ("read", "glob", "bash"))
OFFERED = frozenset(tool.name for tool in TOOLS)


def a_wheel(place: Path, *members: str, content: bytes = CONTENT) -> Path:
    """Write a wheel that holds these files."""
    path = place / "small-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("small/__init__.py", "raise SystemExit('nobody may import this')")
        for member in members:
            archive.writestr(member, content)
    return path


def weights_of(wheel: Path, *, sha256: str = hashlib.sha256(CONTENT).hexdigest()) -> Weights:
    """Return what is known of the weights in a wheel."""
    return Weights(
        name="small",
        model=MODEL,
        requirement="small==1",
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        sha256=sha256,
        size=len(CONTENT),
        window=8192,
        limits="It is small.",
    )


def user(text: str) -> UserMessage:
    return UserMessage(parts=(TextPart(text=text),))


def after(tool: str, result: str, status: ResultStatus = ResultStatus.OK, **args: JsonValue) -> tuple[Message, ...]:
    """Return a reply with one call, and what came of it."""
    asked = ToolCall(id=call_id(1, 1), tool=tool, args=args)
    told = ToolMessage(call=asked, status=status, parts=(TextPart(text=result),))
    return AssistantMessage(text="", calls=(asked,)), told


def asking(*messages: Message, model: str = MODEL, most: int | None = None) -> ModelRequest:
    return ModelRequest(model=model, system="s", messages=messages, tools=TOOLS, max_output_tokens=most)


def says(*pieces: str, finish: str = "stop", tokens: int = 9) -> list[Mapping[str, Any]]:
    """Return what an engine says that writes these pieces."""
    said: list[Mapping[str, Any]] = [{"choices": [], "prompt_progress": {"total": tokens, "processed": 0}}]
    said += [{"choices": [{"delta": {"content": piece}, "finish_reason": None}]} for piece in pieces]
    usage = {"prompt_tokens": tokens, "completion_tokens": len(pieces), "prompt_tokens_details": {"cached_tokens": 4}}
    return [*said, {"choices": [{"delta": {}, "finish_reason": finish}]}, {"choices": [], "usage": usage}]


@dataclass
class FakeEngine:
    """Say one list after the other, whatever is asked.

    Attributes:
        asked: The questions.
        began: Set when it is asked.
        is_stuck: It waits after its first piece until somebody lets it go on.
        stopped: How many pieces it had said when it was told to stop.
    """

    answers: Sequence[Sequence[Mapping[str, Any]]]
    asked: list[Mapping[str, JsonValue]] = field(default_factory=list)
    is_stuck: bool = False
    began: threading.Event = field(default_factory=threading.Event)
    goes_on: threading.Event = field(default_factory=threading.Event)
    stopped: int | None = None
    closed: int = 0

    def ask(self, question: Mapping[str, JsonValue], tell: Tell) -> None:
        self.asked.append(question)
        self.began.set()
        for number, said in enumerate(self.answers[len(self.asked) - 1]):
            if self.is_stuck and number:
                self.goes_on.wait(60)
            if tell(said):
                self.stopped = number
                return

    def close(self) -> None:
        self.closed += 1


@asynccontextmanager
async def local(place: Path, engine: FakeEngine, **said: object) -> AsyncIterator[LocalModel]:
    """Give a model whose weights are there."""
    (place / f"{MODEL}.gguf").write_bytes(CONTENT)
    known = weights_of(a_wheel(place, "small/a.gguf"))
    provider = configured("local", {"models": {MODEL: {"window": 2048, "max_output": 256}}, **said})
    model = LocalModel(provider, place, lambda _path, _window: engine, [known])
    yield model
    await model.aclose()


async def chunks_of(model: LocalModel, request: ModelRequest) -> list[ModelChunk]:
    return [chunk async for chunk in model.stream(request)]
