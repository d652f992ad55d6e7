"""Read a Messages stream: events in, pieces to show and one whole reply out; pure.

A reply is whole once its stop reason or `message_stop` came; whatever text a stream brought before it broke off is
none. Events, deltas and blocks that nobody here knows are passed over, as the protocol demands.
"""

from __future__ import annotations

from typing import Final, NoReturn

from pydantic import JsonValue

from kova_auto.core.errors import ContextOverflowError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import CallRequest, ModelChunk, ModelReply, ModelRequest, Usage
from kova_auto.core.provider import Provider
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.anthropic_messages.blocks import Block, Body, text_of
from kova_auto.llm.anthropic_messages.echo import kept_form, plain_form
from kova_auto.llm.anthropic_messages.usage import UsageCount
from kova_auto.llm.faults import Problem, failure_of, problem_in
from kova_auto.llm.piece import object_in
from kova_auto.llm.redaction import shown
from kova_auto.llm.shown import Shown
from kova_auto.llm.sse import SseEvent
from kova_auto.llm.unicode import mended

_FULL: Final = "model_context_window_exceeded"
_ENDS: Final = {
    "end_turn": StopReason.END,
    "stop_sequence": StopReason.END,
    "tool_use": StopReason.TOOL_CALLS,
    "max_tokens": StopReason.LENGTH,
    "refusal": StopReason.REFUSED,
    "pause_turn": StopReason.PAUSED,
}
_CUT: Final = frozenset({StopReason.LENGTH, StopReason.REFUSED})


class MessagesDecoder:
    """Read one stream."""

    def __init__(self, provider: Provider, request: ModelRequest) -> None:
        """Begin a stream that answers `request`."""
        self.progress = 0
        self.ended = False
        self.closed = False
        self._provider, self._request = provider, request
        self._blocks: list[Block] = []
        self._at: dict[int, Block] = {}  # the latest of each index
        self._usage, self._shown = UsageCount(), Shown()
        self._stop, self._detail = "", ""
        self._model, self._id = "", ""

    def feed(self, event: SseEvent) -> None:
        """Take one event.

        Raises:
            ModelError: The event says that something went wrong, or is not of this protocol.
        """
        if event.data.strip() == "[DONE]":  # Of gateways, and no end by itself.
            self.closed = True
            return
        said = self._said(event)
        match text_of(said, "type") or event.name:
            case "message_start":
                self._begin(_body(said, "message"))
            case "content_block_start":
                self._open(said)
            case "content_block_delta":
                self.progress += self._find(said).add(_body(said, "delta"), self._shown)
            case "content_block_stop":
                self._find(said).closed = True
            case "message_delta":
                self._usage.add(said.get("usage"), final=True)
                self._end(_body(said, "delta"))
            case "message_stop":
                self.ended = self.closed = True
            case "message":
                self._whole(said)
            case _:
                pass  # A ping, or something newer than we are.

    def shown(self) -> list[ModelChunk]:
        """Return what can be shown of the events since this was asked last."""
        return self._shown.take()

    @property
    def written(self) -> int:
        """Return how many characters the model has written so far."""
        return sum(block.size for block in self._blocks)

    @property
    def spent(self) -> Usage | None:
        """Return what has been used so far, as the provider said it."""
        return self._usage.said

    def reply(self, request_id: str = "") -> ModelReply:
        """Return the whole reply.

        Raises:
            ContextOverflowError: The model's window was full before its end.
            ModelUnavailableError: The stream broke off, or held nothing.
        """
        if not self.ended:
            msg = f"{self._provider.name} broke the answer off before its end"
            raise ModelUnavailableError(msg, fault=Fault.TRUNCATED)
        stop = self._stopped()
        calls = tuple(block.call(whole=stop not in _CUT) for block in self._blocks if block.kind == "tool_use")
        text = "" if stop is StopReason.REFUSED else self._text("text")
        return ModelReply(
            text=text,
            reasoning=self._text("thinking"),
            calls=calls,
            stop=stop,
            stop_detail=self._detail,
            usage=self._usage.usage(self._request, self.written),
            model=f"{self._provider.name}/{self._model or self._request.model}",
            request_id=request_id or self._id,
            raw=self._raw(stop, text, calls),
        )

    def _said(self, event: SseEvent) -> Body:
        said = object_in(self._provider, event.data)
        problem = problem_in(said)
        if problem is None and event.name == "error":
            problem = problem_in({"error": said}) or Problem("")
        if problem is not None:
            raise failure_of(self._provider, problem, request_id=mended(text_of(said, "request_id")))
        return said

    def _begin(self, message: Body, *, whole: bool = False) -> None:
        self._model, self._id = mended(text_of(message, "model")), mended(text_of(message, "id"))
        self._usage.add(message.get("usage"), final=whole)

    def _open(self, said: Body) -> None:
        block = Block(_body(said, "content_block"))
        if not block.kind:
            self._give_up("began a block of no kind")
        goes_on = bool(self._blocks) and self._blocks[-1].kind == block.kind == "text"  # one text, as it was cited
        if self._text(block.kind) and not goes_on:
            block.lead = "\n\n"
        self._blocks.append(block)
        if isinstance(index := said.get("index"), int):
            self._at[index] = block
        self.progress += block.begin(self._shown)

    def _find(self, said: Body) -> Block:
        index = said.get("index")
        block = self._at.get(index) if isinstance(index, int) else None
        if block is None:
            self._give_up("went on with a block that it never began")
        return block

    def _end(self, delta: Body) -> None:
        if not (stop := text_of(delta, "stop_reason")):
            return
        self.ended = True
        if _ENDS.get(self._stop) not in _CUT:
            self._stop = stop
        details = _body(delta, "stop_details")
        detail = ": ".join(filter(None, (text_of(details, "category"), text_of(details, "explanation"))))
        self._detail = shown(self._provider, detail) or self._detail

    def _whole(self, message: Body) -> None:
        """Take one JSON body instead of a stream."""
        self._begin(message, whole=True)
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            self._open({"content_block": block})
            self._blocks[-1].closed = True
        self._end(message)
        self.closed = True

    def _text(self, kind: str) -> str:
        return "".join(block.text for block in self._blocks if block.kind == kind)

    def _raw(self, stop: StopReason, text: str, calls: tuple[CallRequest, ...]) -> JsonValue:
        """Return what our own form of the reply does not say; all of it where the model is to go on with it."""
        if stop is StopReason.REFUSED:
            return None
        known = [] if stop is StopReason.PAUSED else plain_form(text, calls)
        return kept_form(self._provider, self._request.model, [block.form() for block in self._blocks], known)

    def _stopped(self) -> StopReason:
        if self._stop == _FULL:
            msg = f"{self._provider.name} ended its answer because the model's window was full"
            raise ContextOverflowError(msg)
        if not self._stop and not self.progress:
            self._give_up("ended its answer without having said anything")
        stop = _ENDS.get(self._stop or "end_turn")
        if stop is None:
            self._give_up(f"ended its answer because of {shown(self._provider, self._stop)!r}")
        calls = any(block.kind == "tool_use" for block in self._blocks)
        if stop is StopReason.TOOL_CALLS and not calls:
            self._give_up("said that the model calls tools, and named none")
        return StopReason.TOOL_CALLS if calls and stop not in _CUT else stop

    def _give_up(self, what: str) -> NoReturn:
        msg = f"{self._provider.name} {what}"
        raise ModelUnavailableError(msg, fault=Fault.MALFORMED)


def _body(said: Body, key: str) -> Body:
    value = said.get(key)
    return value if isinstance(value, dict) else {}
