"""Put a reply together from what the engine says, piece by piece; pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kova_auto.core.errors import ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.core.message import ModelChunk, ModelReply, TextDelta, Usage
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.local.actions import call_in
from kova_auto.llm.local.answer import Answer
from kova_auto.llm.local.engine import Said

_TOO_LONG: Final = "exceed_context_size_error"


class PromptTooLongError(Exception):
    """Say how many tokens a prompt has, as the engine counted them."""

    def __init__(self, tokens: int) -> None:
        """Keep the count."""
        super().__init__()
        self.tokens = tokens


class Reading:
    """Read one answer of the engine."""

    def __init__(self, model: str, most: int) -> None:
        """Begin.

        Args:
            model: Which is asked.
            most: Tokens that the prompt may have.
        """
        self._model, self._most = model, most
        self._answer = Answer()
        self._finish = ""
        self._usage: Usage | None = None

    def take(self, said: Said) -> Iterator[ModelChunk]:
        """Yield what can be shown of a piece.

        Raises:
            PromptTooLongError: The prompt has to be shorter.
            ModelRefusedError: It repeats itself without an end, as it would each time.
            ModelUnavailableError: The engine says that something went wrong.
        """
        if error := said.get("error"):
            raise _failure(error)
        total = said.get("prompt_progress", {}).get("total", 0)
        if total > self._most:
            raise PromptTooLongError(total)
        if usage := said.get("usage"):
            self._usage = _usage(usage)
        for choice in said.get("choices", ()):
            if text := self._answer.add(choice["delta"].get("content") or ""):
                yield TextDelta(text=text)
                if self._answer.is_endless:
                    msg = f"{self._model} came into a loop: it is too small for this"
                    raise ModelRefusedError(msg)
            self._finish = choice.get("finish_reason") or self._finish

    def reply(self) -> ModelReply:
        """Return the whole reply.

        Raises:
            ModelUnavailableError: The engine stopped before its end.
        """
        if self._usage is None or not self._finish:
            msg = "the engine stopped before the end of its answer"
            raise ModelUnavailableError(msg, fault=Fault.TRUNCATED)
        said: dict[str, Any] = {"text": self._answer.text, "usage": self._usage, "model": self._model}
        if self._finish == "length":
            return ModelReply(**said, stop=StopReason.LENGTH)
        if call := call_in(self._answer.action):
            return ModelReply(**said, calls=(call,), stop=StopReason.TOOL_CALLS)
        return ModelReply(**said, stop=StopReason.END)


def _failure(error: Said) -> Exception:
    tokens = error.get("n_prompt_tokens")
    if error.get("type") == _TOO_LONG and isinstance(tokens, int):
        return PromptTooLongError(tokens)
    msg = f"the engine failed: {error.get('message', error)}"
    return ModelUnavailableError(msg)


def _usage(said: Said) -> Usage:
    return Usage(
        input_tokens=said.get("prompt_tokens", 0),
        output_tokens=said.get("completion_tokens", 0),
        cache_read_tokens=said.get("prompt_tokens_details", {}).get("cached_tokens", 0),
        cost_usd=0.0,
    )
