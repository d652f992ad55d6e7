"""A model that knows nothing but what its request says, and sums up like one who forgets."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from kova_auto.core.errors import ContextOverflowError
from kova_auto.core.message import (
    AssistantMessage,
    CallRequest,
    Message,
    ModelChunk,
    ModelReply,
    ModelRequest,
    ReplyDone,
    TextPart,
    ToolMessage,
    Usage,
    UserMessage,
)
from kova_auto.core.stop_reason import StopReason

OBJECTIVE = re.compile(r"count to (\d+)")
WORD = re.compile(r"say the word (\w+)( when you are done)?")
FILE = re.compile(r"notes/\w+\.txt")
NUMBER = re.compile(r"number (\d+)\b")
WORD_COST = 4  # characters per token


def text_of(message: Message) -> str:
    if isinstance(message, AssistantMessage):
        return "\n".join([message.text, *(json.dumps(call.args) for call in message.calls)])
    return "\n".join(part.text for part in message.parts if isinstance(part, TextPart))


def size_of(request: ModelRequest) -> int:
    """Return the tokens of a request, by a count that is the double's own."""
    tools = sum(len(spec.model_dump_json()) for spec in request.tools)
    return (len(request.system) + tools + sum(len(text_of(message)) for message in request.messages)) // WORD_COST


def orphans(messages: Sequence[Message]) -> list[str]:
    """Return the calls without a result, and the results without a call right before them."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            if not waiting or waiting.pop(0) != message.call.id:
                wrong.append(f"result {message.call.id}")
            continue
        wrong += [f"call {key}" for key in waiting]
        waiting = [call.id for call in message.calls] if isinstance(message, AssistantMessage) else []
    return wrong + [f"call {key}" for key in waiting]


def _next_call(number: int) -> CallRequest:
    """Return the call that belongs to a number: first a list is made, then a file, and then it is looked."""
    if number == 2:
        return CallRequest(tool="change", args={"path": "notes"})
    return CallRequest(tool="look", args={"path": "todo" if number == 1 else f"n{number}"})


@dataclass
class Counter:
    """Count on from the last number that the request holds, towards the objective that it holds, and say the word.

    Attributes:
        window: Tokens of request and reply; a request that leaves no room is refused.
        forgets: Every summary but each `forgets`th leaves out what matters.
        sizes: Of the requests for a reply, in their order.
        summed: Of those for a summary.
        wrong: Calls and results that were parted, in any request.
        longest: The largest request, with the reply that was asked for.
    """

    window: int
    forgets: int = 2
    sizes: list[int] = field(default_factory=list)
    summed: list[int] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    longest: int = 0
    key_refused = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        size = size_of(request)
        self.wrong += orphans(request.messages)
        self.longest = max(self.longest, size + (request.max_output_tokens or 0))
        last = request.messages[-1]
        asks = isinstance(last, UserMessage) and "sum up everything above" in text_of(last)
        (self.summed if asks else self.sizes).append(size)
        if size > self.window:
            msg = f"{size} tokens are more than the window of {self.window}"
            raise ContextOverflowError(msg)
        reply = self._summary(request, size) if asks else self._reply(request, size)
        yield ReplyDone(reply=reply)

    def _reply(self, request: ModelRequest, size: int) -> ModelReply:
        said = "\n".join(map(text_of, request.messages))
        goal, reached = OBJECTIVE.search(said), max((int(found) for found in NUMBER.findall(said)), default=0)
        if goal is None or (reached == 0 and len(request.messages) > 1):
            return self._says("I do not know where I am.", size)
        if reached < int(goal[1]):
            return self._says(f"This is number {reached + 1}.", size, _next_call(reached + 1))
        word, file = WORD.search(said), FILE.search(said)
        return self._says(f"{reached}: {word[1] if word else '?'}, {file[0] if file else '?'}", size)

    def _summary(self, request: ModelRequest, size: int) -> ModelReply:
        said = "\n".join(text_of(message) for message in request.messages[:-1])
        if len(self.summed) % self.forgets:
            return self._says("## Objective\nSomething with counting.\n## Next steps\nGo on.", size)
        found = [WORD.search(said), FILE.search(said)]
        facts = "\n".join(one[0] for one in found if one)
        return self._says(f"## Objective\nCount on.\n{facts}\n## Next steps\nGo on.", size)

    def _says(self, text: str, size: int, *calls: CallRequest) -> ModelReply:
        return ModelReply(
            text=text,
            calls=calls,
            stop=StopReason.TOOL_CALLS if calls else StopReason.END,
            usage=Usage(input_tokens=size, output_tokens=len(text) // WORD_COST + 10 * len(calls), cost_usd=0.0),
            model="double/counter",
        )

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""
