"""Read a Chat Completions stream: chunks in, pieces to show and one whole reply out; pure.

A reply is whole once a finish reason or `[DONE]` came; whatever text a stream brought before it broke off is none.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from kova_auto.core.errors import ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import ModelChunk, ModelReply, ModelRequest, ReasoningDelta, TextDelta, Usage
from kova_auto.core.provider import Provider
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.faults import Problem, failure_of, problem_in
from kova_auto.llm.openai_chat.calls import Calls, fragment_of
from kova_auto.llm.openai_chat.echo import kept_form, take
from kova_auto.llm.openai_chat.usage import UsageCount
from kova_auto.llm.piece import object_in
from kova_auto.llm.redaction import shown
from kova_auto.llm.shown import Kind, Shown
from kova_auto.llm.sse import SseEvent
from kova_auto.llm.unicode import Pieces, mended

Chunk = dict[str, JsonValue]


# What servers write as finish_reason, in lower case. An end that nobody here knows is no end to build on.
_ENDS: Final[dict[str, StopReason]] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "normal"), StopReason.END),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), StopReason.TOOL_CALLS),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), StopReason.LENGTH),
    **dict.fromkeys(
        ("content_filter", "refusal", "safety", "sensitive", "recitation", "blocklist", "prohibited_content", "spii"),
        StopReason.REFUSED,
    ),
}
_CUT: Final = frozenset({StopReason.LENGTH, StopReason.REFUSED})
_BROKEN: Final = {"network_error": Fault.NETWORK, "insufficient_system_resource": Fault.OVERLOADED}


class ChatDecoder:
    """Read one stream."""

    def __init__(self, provider: Provider, request: ModelRequest) -> None:
        """Begin a stream that answers `request`."""
        self.progress = 0
        self.ended = False
        self.closed = False
        self._provider, self._request = provider, request
        self._text, self._reasoning, self._refusal = Pieces(), Pieces(), Pieces()
        self._calls, self._shown = Calls(), Shown()
        self._echo = frozenset(provider.dialect.echo)
        self._usage = UsageCount()
        self._kept: Chunk = {}
        self._finish = ""
        self._filtered: set[str] = set()
        self._model, self._id = "", ""

    def feed(self, event: SseEvent) -> None:
        """Take one event.

        Raises:
            ModelError: The event says that something went wrong, or is no chunk of this protocol.
        """
        if event.data.strip() == "[DONE]":
            self.closed = self.ended = True
            return
        chunk = self._chunk(event)
        if "usage" in event.data:
            self._usage.add(chunk)
        self._model = self._model or mended(_str(chunk.get("model")))
        self._id = self._id or mended(_str(chunk.get("id")))
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self._choice(choice)

    def shown(self) -> list[ModelChunk]:
        """Return what can be shown of the events since this was asked last."""
        return self._shown.take()

    @property
    def written(self) -> int:
        """Return how many characters the model has written so far."""
        return self._text.size + self._reasoning.size + sum(slot.arguments.size for slot in self._calls.slots)

    @property
    def spent(self) -> Usage | None:
        """Return what has been used so far, as the provider said it."""
        return self._usage.said

    def reply(self, request_id: str = "") -> ModelReply:
        """Return the whole reply.

        Raises:
            ModelUnavailableError: The stream broke off, or held nothing.
        """
        if not self.ended:
            msg = f"{self._provider.name} broke the answer off before its end"
            raise ModelUnavailableError(msg, fault=Fault.TRUNCATED)
        stop = self._stop()
        calls = self._calls.requests(whole=stop not in _CUT)
        extras = [slot.extras for slot in self._calls.slots]
        return ModelReply(
            text=self._text.text() or self._refusal.text(),
            reasoning=self._reasoning.text(),
            calls=calls,
            stop=stop,
            stop_detail=self._stop_detail() if stop is StopReason.REFUSED else "",
            usage=self._usage.usage(self._request, self.written),
            model=f"{self._provider.name}/{self._model or self._request.model}",
            request_id=request_id or self._id,
            raw=kept_form(self._provider, self._request.model, self._kept, extras),
        )

    def _chunk(self, event: SseEvent) -> Chunk:
        chunk = object_in(self._provider, event.data)
        if "error" in chunk or "detail" in chunk or "choices" not in chunk:
            self._refuse(chunk)
        if event.name == "error":
            raise failure_of(self._provider, problem_in({"error": chunk}) or Problem(""))
        return chunk

    def _refuse(self, said: Chunk) -> None:
        if problem := problem_in(said):
            raise failure_of(self._provider, problem)

    def _choice(self, choice: Chunk) -> None:
        if choice.get("index") not in (0, None):
            return
        if "error" in choice:  # What a router says when the one behind it breaks off.
            self._refuse(choice)
        if filtered := choice.get("content_filter_results"):
            self._filtered |= _filtered(filtered)
        delta = choice.get("delta") if "delta" in choice else choice.get("message")
        if isinstance(delta, dict) and delta:
            self._delta(delta)
        if finish := choice.get("finish_reason"):
            self._end(_str(finish).lower())

    def _end(self, finish: str) -> None:
        self.ended = self.ended or bool(finish)
        if finish and _ENDS.get(self._finish, StopReason.END) not in _CUT:
            self._finish = finish

    def _delta(self, delta: Chunk) -> None:
        text, thought = delta.get("content"), ""
        if not isinstance(text, str):
            text, thought = _in_parts(text)
        if "reasoning_content" in delta or "reasoning" in delta:
            thought = thought or _text_in(delta, "reasoning_content") or _text_in(delta, "reasoning")
        if thought:
            self._say(self._reasoning, ReasoningDelta, thought)
        if text:
            self._say(self._text, TextDelta, text)
        if "refusal" in delta:
            self._say(self._refusal, TextDelta, _text_in(delta, "refusal"))
        if not self._echo.isdisjoint(delta):
            take(self._kept, delta, self._provider.dialect.echo)
        if "tool_calls" in delta or "function_call" in delta:
            self._tool_calls(delta)

    def _say(self, pieces: Pieces, kind: Kind, piece: str) -> None:
        if piece := pieces.add(piece):
            self._shown.add(kind, piece)
            self.progress += 1

    def _tool_calls(self, delta: Chunk) -> None:
        entries = delta.get("tool_calls")
        if not isinstance(entries, list):
            older = delta.get("function_call")
            entries = [{"index": 0, "function": older}] if isinstance(older, dict) else []
        for entry in entries:
            if not isinstance(entry, dict):
                continue
            fragment = fragment_of(entry)
            slot, is_new = self._calls.add(fragment)
            take(slot.extras, entry, self._provider.dialect.echo)
            self.progress += is_new or bool(fragment.arguments)
            if is_new:
                self._shown.call(slot.name)

    def _stop(self) -> StopReason:
        has_calls = bool(self._calls.slots)
        if not self._finish and not self.progress:
            msg = f"{self._provider.name} ended its answer without having said anything"
            raise ModelUnavailableError(msg, fault=Fault.MALFORMED)
        stop = _ENDS.get(self._finish or "stop")
        if stop is None:
            msg = f"{self._provider.name} ended its answer because of {shown(self._provider, self._finish)!r}"
            raise ModelUnavailableError(msg, fault=_BROKEN.get(self._finish, Fault.SERVER))
        if stop in _CUT or self._refusal.size:
            return stop if stop in _CUT else StopReason.REFUSED
        if stop is StopReason.TOOL_CALLS and not has_calls:
            msg = f"{self._provider.name} said that the model calls tools, and named none"
            raise ModelUnavailableError(msg, fault=Fault.MALFORMED)
        return StopReason.TOOL_CALLS if has_calls else StopReason.END

    def _stop_detail(self) -> str:
        """Return why there is no answer, as the provider says it: its category, and what it explained."""
        why = self._finish if _ENDS.get(self._finish) is StopReason.REFUSED else "refusal"
        said = self._refusal.text() or ", ".join(sorted(self._filtered))
        return shown(self._provider, f"{why}: {said}" if said else why)


def _str(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""


def _text_in(delta: Chunk, key: str) -> str:
    return _str(delta.get(key))


def _in_parts(content: JsonValue) -> tuple[str, str]:
    """Return text and reasoning; some servers send a list of parts."""
    text, thought = "", ""
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        if part.get("type") == "thinking":
            thought += _str(part.get("thinking")) or _in_parts(part.get("thinking"))[0]
        else:
            text += _str(part.get("text"))
    return text, thought


def _filtered(results: JsonValue) -> set[str]:
    """Return the categories that a filter found."""
    found = results.items() if isinstance(results, dict) else ()
    return {mended(category) for category, result in found if isinstance(result, dict) and result.get("filtered")}
