"""Say a request without the part that a server refuses, or in the other way that servers know; pure.

What a request is about is never given up: its messages, its tools, its model. What a server finds wrong with a value
is not left out either: somebody chose that value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from pydantic import JsonValue

from kova_auto.llm.faults import Problem

Body = dict[str, JsonValue]

_LIMITS: Final = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
_KEPT: Final = frozenset({"model", "messages", "tools", "stream"})
_OWN_FIELDS: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
_OWN_CALL_FIELDS: Final = frozenset({"id", "type", "function"})
_UNWANTED: Final = re.compile(
    r"unsupported|unknown|unrecogni[sz]ed|unexpected|extra[ _](inputs|fields|forbidden)|cannot find field"
    r"|(not|n't) (be )?(supported|support|permitted|allowed|accepted|recogni[sz]ed|one of)",
    re.IGNORECASE,
)
_ROLE: Final = re.compile(r"\brole\b|\bsystem (message|prompt|instruction)", re.IGNORECASE)
_NULL: Final = re.compile(r"\b(null|none|nonetype|nil|missing|required|valid string|a string)\b", re.IGNORECASE)
_EMPTY: Final = re.compile(r"\b(empty|blank|at least (1|one))\b", re.IGNORECASE)
_CONTENT: Final = re.compile(r"\bcontent\b", re.IGNORECASE)


def without(body: Body, problem: Problem) -> Body | None:
    """Return the body without what the provider refuses, or in the other way of saying it.

    None where the problem names nothing of that kind. A refusal without a word is taken for one of the limits of the
    reply, which some gateways cannot read.
    """
    if problem.is_opaque:
        return _less(body, _LIMITS)
    said = " ".join((problem.message, *sorted(problem.codes)))
    if changed := _content(body, problem, said):
        return changed
    if not _UNWANTED.search(said):
        return None
    return _role(body, problem) or _named(body, problem) or _field_of_messages(body, problem)


def _less(body: Body, keys: dict[str, str] | frozenset[str]) -> Body | None:
    return {key: value for key, value in body.items() if key not in keys} if body.keys() & set(keys) else None


def _named(body: Body, problem: Problem) -> Body | None:
    """Leave out what is named, or call the limit of the reply by its other name."""
    name = _part(body, problem)
    if name in _LIMITS:
        return {(_LIMITS[name] if key == name else key): value for key, value in body.items()}
    return _less(body, frozenset({name})) if name else None


def _part(body: Body, problem: Problem) -> str:
    """Return which part of the body is meant: the one that is named, else the first one that is mentioned."""
    if problem.param:
        name = re.split(r"[.\[]", problem.param, maxsplit=1)[0]
        return name if name in body and name not in _KEPT else ""
    mentioned = [(match.start(), key) for key in body if (match := _mention(key).search(problem.message))]
    first = min(mentioned)[1] if mentioned else ""
    return "" if first in _KEPT else first


def _mention(key: str) -> re.Pattern[str]:
    """Match a key where it cannot be an ordinary word: quoted, or with the mark that only names have."""
    word = re.escape(key)
    return re.compile(rf"(?<![\w-]){word}(?![\w-])" if "_" in key or key == "tools" else rf"['\"`]{word}['\"`]")


def _role(body: Body, problem: Problem) -> Body | None:
    """Say what the system says as the developer; where that is refused too, as the user."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not _ROLE.search(f"{problem.param} {problem.message}"):
        return None
    first, others = _first(messages), messages[1:]
    role, system = first.get("role"), first.get("content")
    if role == "system":
        return {**body, "messages": [{**first, "role": "developer"}, *others]}
    return {**body, "messages": _as_user(system, others)} if role == "developer" and isinstance(system, str) else None


def _as_user(system: str, others: list[JsonValue]) -> list[JsonValue]:
    told = _first(others)
    content = told.get("content")
    if told.get("role") == "user" and isinstance(content, str):
        return [{**told, "content": f"{system}\n\n{content}"}, *others[1:]]
    if told.get("role") == "user" and isinstance(content, list):
        return [{**told, "content": [{"type": "text", "text": system}, *content]}, *others[1:]]
    return [{"role": "user", "content": system}, *others]


def _first(entries: list[JsonValue]) -> Body:
    return entries[0] if entries and isinstance(entries[0], dict) else {}


def _content(body: Body, problem: Problem, said: str) -> Body | None:
    """Say with an empty string instead of null that a reply had no text, or the other way round."""
    if not _CONTENT.search(f"{problem.param} {problem.message}"):
        return None
    if _NULL.search(said) and (changed := _messages(body, lambda message: _replaced(message, None, ""))):
        return changed
    return _messages(body, lambda message: _replaced(message, "", None)) if _EMPTY.search(said) else None


def _replaced(message: Body, old: JsonValue, new: JsonValue) -> Body:
    return {**message, "content": new} if "tool_calls" in message and message.get("content") == old else message


def _field_of_messages(body: Body, problem: Problem) -> Body | None:
    """Leave out what servers want back, where this one does not know it."""
    said = f"{problem.param} {problem.message}"

    def known(message: Body) -> Body:
        kept: Body = {key: value for key, value in message.items() if key in _OWN_FIELDS or key not in said}
        if isinstance(calls := kept.get("tool_calls"), list):
            kept["tool_calls"] = [_known_call(call, said) for call in calls]
        return kept

    return _messages(body, known)


def _known_call(call: JsonValue, said: str) -> JsonValue:
    if not isinstance(call, dict):
        return call
    return {key: value for key, value in call.items() if key in _OWN_CALL_FIELDS or key not in said}


def _messages(body: Body, change: Callable[[Body], Body]) -> Body | None:
    """Return the body with each message changed; None where none of them changes."""
    messages = body.get("messages")
    if not isinstance(messages, list):
        return None
    changed: list[JsonValue] = [change(item) if isinstance(item, dict) else item for item in messages]
    return {**body, "messages": changed} if changed != messages else None
