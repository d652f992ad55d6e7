"""Read a Responses stream: events in, pieces to show and one whole reply out; pure.

A reply is whole once the response itself has ended; whatever a stream brought before it broke off is none. One JSON
body instead of a stream is a response that has ended.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from kova_auto.core.errors import ModelError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import (
    CallRequest,
    ModelChunk,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from kova_auto.core.provider import Provider
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.arguments import is_storable, requested
from kova_auto.llm.estimate import estimated
from kova_auto.llm.faults import Problem, failure_of, problem_in
from kova_auto.llm.openai_responses.items import CALLS, PARTS, Item, Items, items_in, parts_of, text_at, written_by
from kova_auto.llm.openai_responses.usage import usage_of
from kova_auto.llm.piece import object_in
from kova_auto.llm.redaction import shown
from kova_auto.llm.shown import Shown
from kova_auto.llm.sse import SseEvent

# Events that bring text: the part of an item that it belongs to, and where its number stands.
_TEXTS: Final = {
    f"response.{name}.{step}": (kind, number)
    for name, kind, number in (
        ("output_text", "output_text", "content_index"),
        ("refusal", "refusal", "content_index"),
        ("reasoning_text", "reasoning_text", "content_index"),
        ("reasoning_summary_text", "summary_text", "summary_index"),
        ("function_call_arguments", "arguments", ""),
        ("custom_tool_call_input", "input", ""),
    )
    for step in ("delta", "done")
}
_PARTS: Final = {"response.content_part.done": "content_index", "response.reasoning_summary_part.done": "summary_index"}
_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
_CUT: Final = {
    "max_output_tokens": StopReason.LENGTH,
    "max_tokens": StopReason.LENGTH,
    "max_messages": StopReason.LENGTH,
    "content_filter": StopReason.REFUSED,
}
_ERRORS: Final = frozenset({"error", "response.error"})


class ResponsesDecoder:
    """Read one stream."""

    def __init__(self, provider: Provider, request: ModelRequest) -> None:
        """Begin a stream that answers `request`."""
        self.progress = 0
        self.ended = False
        self.closed = False
        self._provider, self._request = provider, request
        self._items, self._shown = Items(), Shown()
        self._output: list[Item] = []
        self._final: list[Item] = []
        self._cut: StopReason | None = None
        self._reason = ""
        self._usage: Usage | None = None
        self._model, self._id = "", ""

    def feed(self, event: SseEvent) -> None:
        """Take one event.

        Raises:
            ModelError: The event says that something went wrong, or is none of this protocol.
        """
        if self.ended or event.data.strip() == "[DONE]":
            self.closed = True
            return
        body = object_in(self._provider, event.data)
        kind = text_at(body, "type") or event.name
        if text := _TEXTS.get(kind):  # What nearly all events are.
            self._text(body, body, *text, whole=kind.endswith(".done"))
            return
        self._refuse_error(kind, body)
        response = body if _is_response(body) else body.get("response")
        if not isinstance(response, dict):
            self._piece(kind, body)
            return
        self._note(response)
        is_end = kind in _ENDS or (response is body and body.get("status") not in ("queued", "in_progress"))
        if is_end:
            self._end(kind, response)

    def shown(self) -> list[ModelChunk]:
        """Return what can be shown of the events since this was asked last."""
        return self._shown.take()

    @property
    def written(self) -> int:
        """Return how many characters the model has written so far."""
        return self._items.size

    @property
    def spent(self) -> Usage | None:
        """Return what has been used so far, as the provider said it."""
        return self._usage

    def reply(self, request_id: str = "") -> ModelReply:
        """Return the whole reply.

        Raises:
            ModelUnavailableError: The stream broke off.
        """
        if not self.ended:
            msg = f"{self._provider.name} broke the answer off before its end"
            raise ModelUnavailableError(msg, fault=Fault.TRUNCATED)
        text, reasoning, refusals = _said(self._output), _thought(self._output), _every(self._output, "refusal")
        cut = self._cut or (StopReason.REFUSED if refusals else self._silent_cut())
        calls = self._calls(whole=cut is None)
        stop = cut or (StopReason.TOOL_CALLS if calls else StopReason.END)
        refusal = "".join(refusals)
        written = len(text) + len(reasoning) + len(refusal) + sum(len(written_by(item)) for item in self._output)
        return ModelReply(
            text=text or refusal,
            reasoning=reasoning,
            calls=calls,
            stop=stop,
            stop_detail=(refusal or self._reason or "refusal") if stop is StopReason.REFUSED else "",
            usage=self._usage or estimated(self._request, written),
            model=f"{self._provider.name}/{self._model or self._request.model}",
            request_id=request_id or self._id,
            raw=self._kept(),
        )

    def _silent_cut(self) -> StopReason | None:
        """Return that the reply was cut where it is as long as it may be; some servers call that completed."""
        limit = self._request.max_output_tokens
        is_full = limit is not None and self._usage is not None and self._usage.output_tokens >= limit
        return StopReason.LENGTH if is_full else None

    def _calls(self, *, whole: bool) -> tuple[CallRequest, ...]:
        return tuple(
            _requested(item, whole=whole and item.get("status") != "incomplete")
            for item in self._output
            if item.get("type") in CALLS
        )

    def _kept(self) -> JsonValue:
        output = self._items.whole() or self._final
        form: JsonValue = {
            "provider": self._provider.name,
            "model": self._request.model,
            "output": list[JsonValue](output),
        }
        return form if output and is_storable(form) else None

    def _refuse_error(self, kind: str, body: Item) -> None:
        problem = None
        if kind in _ERRORS:
            flat: Item = {"error": {key: value for key, value in body.items() if key != "type"}}
            problem = problem_in(body if body.get("error") else flat) or Problem("")
        elif not kind and not _is_response(body):
            problem = problem_in(body)
        if problem is not None:
            raise self._failure(problem)

    def _failure(self, problem: Problem) -> ModelError:
        # A picture, or where the data may lie: no rule of words tells these from what may pass.
        is_final = any("image" in code or "residency" in code for code in problem.codes)
        return failure_of(self._provider, replace(problem, status=400) if is_final else problem)

    def _note(self, response: Item) -> None:
        self._usage = usage_of(response) or self._usage
        self._model = text_at(response, "model") or self._model
        self._id = text_at(response, "id") or self._id

    def _end(self, kind: str, response: Item) -> None:
        status, error = response.get("status"), response.get("error")
        if kind == "response.failed" or status == "failed" or error:
            raise self._failure(problem_in({"error": error}) or Problem(""))
        details = response.get("incomplete_details")
        self._reason = text_at(details, "reason") if isinstance(details, dict) else ""
        if self._reason or kind == "response.incomplete" or status in ("incomplete", "cancelled"):
            self._cut = self._cut_by(self._reason or ("cancelled" if status == "cancelled" else "no reason given"))
        final = items_in(response.get("output"))
        for item in () if self._items.slots else final:
            self._finish(item, None)
        self._output, self._final = self._items.output(final), final
        self.ended = self.closed = True

    def _cut_by(self, reason: str) -> StopReason:
        stop = _CUT.get(reason)
        if stop is None:
            msg = f"{self._provider.name} ended its answer early: {shown(self._provider, reason)}"
            raise ModelUnavailableError(msg, fault=Fault.TRUNCATED)
        return stop

    def _piece(self, kind: str, body: Item) -> None:
        item, index, part = body.get("item"), body.get("output_index"), body.get("part")
        if kind in _PARTS and isinstance(part, dict) and part.get("type") in PARTS:
            self._text(body, part, text_at(part, "type"), _PARTS[kind], whole=True)
        elif not isinstance(item, dict):
            return
        elif kind == "response.output_item.done":
            self._finish(item, index)
        elif kind == "response.output_item.added" and self._items.begin(item, index) and item.get("type") in CALLS:
            self._shown.call(text_at(item, "name"))

    def _text(self, body: Item, said: Item, kind: str, number: str, *, whole: bool) -> None:
        """Take a piece of a text, or all of it; show what has not been shown."""
        part = self._items.part(text_at(body, "item_id"), body.get("output_index"), kind, body.get(number))
        if not whole:
            delta = said.get("delta")
            self._show(kind, part.pieces.add(delta if isinstance(delta, str) else ""))
            return
        known = part.text
        key = kind if kind in ("refusal", "arguments", "input") else "text"
        if isinstance(said.get(key), str):
            part.whole = text_at(said, key)
        if not known:
            self._show(kind, part.text)

    def _finish(self, item: Item, index: JsonValue) -> None:
        known = len(self._items.slots)
        slot = self._items.finish(item, index)
        if item.get("type") in CALLS and len(self._items.slots) > known:
            self._shown.call(text_at(item, "name"))
        if not slot.texts:
            for kind in ("summary_text", "reasoning_text", "output_text", "refusal"):
                self._show(kind, "".join(parts_of(item, kind)))
            self._show("arguments", written_by(item))

    def _show(self, kind: str, text: str) -> None:
        if not text:
            return
        self.progress += 1
        match kind:
            case "output_text" | "refusal":
                self._shown.add(TextDelta, text)
            case "reasoning_text" | "summary_text":
                self._shown.add(ReasoningDelta, text)
            case _:
                pass


def _is_response(body: Item) -> bool:
    return body.get("object") == "response" or ("type" not in body and isinstance(body.get("output"), list))


def _requested(item: Item, *, whole: bool) -> CallRequest:
    name, call_id, text = text_at(item, "name"), text_at(item, "call_id"), written_by(item)
    if item.get("type") == "function_call":
        return requested(name, text, call_id, whole=whole)
    return CallRequest(tool=name, unparsed=text, provider_id=call_id)  # Free text is nobody's arguments here.


def _every(items: list[Item], kind: str) -> list[str]:
    return [text for item in items for text in parts_of(item, kind)]


def _said(items: list[Item]) -> str:
    """Return the text; where some of it is marked as the final answer, what was said on the way is none of it."""
    messages = [item for item in items if item.get("type") == "message"]
    answers = [item for item in messages if item.get("phase") == "final_answer"] or messages
    return "\n\n".join(text for item in answers if (text := "".join(parts_of(item, "output_text"))))


def _thought(items: list[Item]) -> str:
    """Return the reasoning in full where it is given, else its summary."""
    return "\n\n".join(_every(items, "reasoning_text") or _every(items, "summary_text"))
