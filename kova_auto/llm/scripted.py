"""Play a script where no model is called: the same port, the same loop, real tools and real verdicts.

The player remembers nothing: which turn is next is the number of replies that the conversation holds, so a run goes
on from the same place whoever killed it. Importing this imports Jinja2.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import Final

from pydantic import JsonValue

from kova_auto.core.errors import ScriptMismatchError
from kova_auto.core.message import (
    AssistantMessage,
    CallDelta,
    CallRequest,
    Message,
    ModelChunk,
    ModelReply,
    ModelRequest,
    ReplyDone,
    TextDelta,
    Usage,
)
from kova_auto.core.stop_reason import StopReason
from kova_auto.llm.results import prompt_of, results_of, told_last
from kova_auto.llm.script import Script, ScriptCall, ScriptTurn
from kova_auto.llm.templates import TemplateFaultError, fill, fill_text, holds

FREE: Final = Usage(cost_usd=0.0)
MAX_EACH: Final = 100
_SHOWN: Final = 300


class ScriptPlayer:
    """Reply as a script says."""

    key_refused = False

    def __init__(self, script: Script) -> None:
        """Take a script whose structure is sound."""
        self._script = script

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Yield the reply of the turn that this conversation has come to.

        Raises:
            ScriptMismatchError: The script has no further turn, or this one does not fit what came back.
        """
        reply = play(self._script, request.messages)
        if reply.text:
            yield TextDelta(text=reply.text)
        for call in reply.calls:
            yield CallDelta(name=call.tool)
        yield ReplyDone(reply=reply)

    async def aclose(self) -> None:
        """Do nothing: nothing is open."""


def play(script: Script, messages: tuple[Message, ...]) -> ModelReply:
    """Return the reply of the turn that a conversation has come to.

    Raises:
        ScriptMismatchError: There is none that fits.
    """
    number = sum(isinstance(message, AssistantMessage) for message in messages)
    if number >= len(script.turns):
        raise _mismatch(script, number, f"the script ends after {len(script.turns)} turns, and the run goes on")
    turn = script.turns[number]
    told = told_last(messages)
    for wanted in turn.expect:
        if wanted not in told:
            message = f"wanted {wanted!r} in what the model was told, found {_short(told)!r}"
            raise _mismatch(script, number, message, "expect")
    results = results_of(script, number, messages)
    names: dict[str, object] = {"prompt": prompt_of(messages), "results": results, "turn": number + 1}
    with _place(script, number, "text"):
        text = fill_text(turn.text, names)
    calls = tuple(call for index, ask in enumerate(turn.calls) for call in _calls(script, number, index, ask, names))
    return ModelReply(text=text, calls=calls, stop=_stop(turn, calls), usage=FREE, model=script.model)


def _stop(turn: ScriptTurn, calls: tuple[CallRequest, ...]) -> StopReason:
    return turn.stop or (StopReason.TOOL_CALLS if calls else StopReason.END)


def _calls(script: Script, turn: int, index: int, ask: ScriptCall, names: dict[str, object]) -> Iterator[CallRequest]:
    key = f"calls[{index}]"
    if ask.each is None:
        yield from _call(script, turn, key, ask, names, ask.id)
        return
    with _place(script, turn, f"{key}.each"):
        items = _items(fill(ask.each, names))
    for number, item in enumerate(items, start=1):
        yield from _call(script, turn, key, ask, {**names, "item": item, "index": number}, f"{ask.id}.{number}")


def _items(value: JsonValue) -> list[JsonValue]:
    if not isinstance(value, list):
        msg = f"wanted a list, found {_short(str(value))!r}"
        raise TemplateFaultError(msg)
    if len(value) > MAX_EACH:
        msg = f"wanted at most {MAX_EACH} items, found {len(value)}: take some of them, as in [:10]"
        raise TemplateFaultError(msg)
    return value


def _call(
    script: Script, turn: int, key: str, ask: ScriptCall, names: dict[str, object], name: str
) -> Iterator[CallRequest]:
    with _place(script, turn, f"{key}.when"):
        if not holds(ask.when, names):
            return
    with _place(script, turn, f"{key}.args"):
        args = {key: fill(value, names) for key, value in ask.args.items()}
    with _place(script, turn, f"{key}.unparsed"):
        unparsed = None if ask.unparsed is None else fill_text(ask.unparsed, names)
    yield CallRequest(tool=ask.tool, args=args, unparsed=unparsed, provider_id=name)


@contextmanager
def _place(script: Script, turn: int, key: str) -> Iterator[None]:
    try:
        yield
    except TemplateFaultError as exc:
        raise _mismatch(script, turn, str(exc), key) from exc


def _mismatch(script: Script, turn: int, message: str, key: str = "") -> ScriptMismatchError:
    line = script.line_of(turn, key)
    place = script.path + (f":{line}" if line else "")
    return ScriptMismatchError(f"{place}: turn {turn + 1}{f', {key}' if key else ''}: {message}")


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
