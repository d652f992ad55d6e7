"""Take out of a request what a provider refuses in it, or say it in the other way, so that it can be asked again.

What makes the request what it is stays: without its tools, say, it would be another one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from pydantic import JsonValue

from kova_auto.llm.anthropic_messages.blocks import Body, text_of
from kova_auto.llm.anthropic_messages.echo import THOUGHTS
from kova_auto.llm.faults import Problem

_NEEDED: Final = frozenset({"model", "max_tokens", "system", "messages", "tools", "stream"})
_NOT_TAKEN: Final = re.compile(
    r"extra inputs|not permitted|not (currently )?(supported|allowed)|unsupported|(not|n't) support"
    r"|unknown|unrecogni[sz]ed|unexpected|deprecated|cannot (both )?be",
    re.IGNORECASE,
)
_MOST_TOKENS: Final = re.compile(r"max_tokens\b\D{0,40}(?:\d+ > |\[\d+, ?)(\d{2,7})")
_SYSTEM_AS_TEXT: Final = re.compile(r"\bsystem\b.*\bstr(ing)?\b")
_THOUGHTS_REFUSED: Final = re.compile(r"\bsignature\b|thinking.* cannot be modified", re.IGNORECASE)
_THOUGHTS_WANTED: Final = re.compile(r"expected .?(redacted_)?thinking", re.IGNORECASE)


def without(body: Body, problem: Problem) -> Body | None:
    """Return the body without what the problem names; None where it names nothing that could be left out."""
    said = " ".join((problem.param, problem.message, *sorted(problem.codes)))
    if (most := _MOST_TOKENS.search(said)) and int(most[1]) < _int(body.get("max_tokens")):
        return {**body, "max_tokens": int(most[1])}
    for is_meant, change in (
        ("cache_control" in said or _SYSTEM_AS_TEXT.search(said), _unmarked),
        (_THOUGHTS_REFUSED.search(said), _without_thoughts),
        (_THOUGHTS_WANTED.search(said), _not_thinking),
        (_NOT_TAKEN.search(said), lambda whole: _without_named(whole, said)),
    ):
        if is_meant and (changed := change(body)) != body:
            return changed
    return None


def refuses_thoughts(problem: Problem) -> bool:
    """Say whether it refuses thoughts of this conversation: those of another are as good as ever."""
    return bool(_THOUGHTS_REFUSED.search(problem.message))


def _unmarked(body: Body) -> Body:
    """Return it without cache marks; then the system prompt needs no blocks either, and not every server reads them."""
    plain = _without_mark(body)
    if isinstance(system := body.get("system"), list):
        plain["system"] = "\n\n".join(text_of(block, "text") for block in system if isinstance(block, dict))
    return _with_blocks(plain, _without_mark)


def _without_mark(block: Body) -> Body:
    return {key: value for key, value in block.items() if key != "cache_control"}


def _without_thoughts(body: Body) -> Body:
    return _with_blocks(body, lambda block: None if block.get("type") in THOUGHTS else block)


def _not_thinking(body: Body) -> Body:
    return {key: value for key, value in body.items() if key != "thinking"}


def _without_named(body: Body, said: str) -> Body:
    named = {key for key in body if key not in _NEEDED and re.search(rf"\b{re.escape(key)}\b", said)}
    return {key: value for key, value in body.items() if key not in named}


def _with_blocks(body: Body, change: Callable[[Body], Body | None]) -> Body:
    """Return it with each block of its messages changed; one that becomes None is left out."""
    messages: list[JsonValue] = []
    for message in _bodies(body.get("messages")):
        content = [changed for block in _bodies(message.get("content")) if (changed := change(block)) is not None]
        messages.append({**message, "content": list[JsonValue](content)})
    return {**body, "messages": messages}


def _bodies(value: JsonValue) -> list[Body]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _int(value: JsonValue) -> int:
    return value if isinstance(value, int) else 0
