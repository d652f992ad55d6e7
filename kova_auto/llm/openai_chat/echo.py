"""Keep those fields of a reply that its server wants back unchanged, put together from their pieces.

What the normal form has a place for is not kept twice. The kept form says who wrote it: it goes back only to the
same provider and model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from kova_auto.core.provider import Provider
from kova_auto.llm.arguments import is_storable
from kova_auto.llm.unicode import joined

_GROWING = ("text", "summary", "data")


def take(kept: dict[str, JsonValue], piece: Mapping[str, JsonValue], wanted: Iterable[str]) -> None:
    """Add what a piece of a stream brings of the wanted fields."""
    for name in wanted:
        value = piece.get(name)
        if value is not None:
            kept[name] = _joined(kept.get(name), value)


def _joined(before: JsonValue, piece: JsonValue) -> JsonValue:
    match before, piece:
        case str(), str():
            return joined(before, piece)
        case list(), list():
            entries = list(before)
            for entry in piece:
                _append(entries, entry)
            return entries
        case _:
            return piece


def _append(entries: list[JsonValue], entry: JsonValue) -> None:
    """Go on with the last entry where the new one is a piece of it: same kind, same index."""
    last = entries[-1] if entries else None
    if not (isinstance(last, dict) and isinstance(entry, dict) and _is_same(last, entry)):
        entries.append(entry)
        return
    grown = {key: joined(_text(last, key), _text(entry, key)) for key in _GROWING if _text(entry, key)}
    entries[-1] = {**last, **{key: value for key, value in entry.items() if value is not None}, **grown}


def _text(entry: Mapping[str, JsonValue], key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _is_same(last: Mapping[str, JsonValue], entry: Mapping[str, JsonValue]) -> bool:
    return entry.get("index") is not None and all(last.get(key) == entry.get(key) for key in ("index", "type"))


def kept_form(
    provider: Provider, model: str, message: dict[str, JsonValue], calls: list[dict[str, JsonValue]]
) -> JsonValue:
    """Return what is kept of a reply; None where there is nothing, or nothing that can be stored as it is."""
    if not message and not any(calls):
        return None
    form: JsonValue = {"provider": provider.name, "model": model, "message": message, "calls": list[JsonValue](calls)}
    return form if is_storable(form) else None


def given_back(
    raw: JsonValue, provider: Provider, model: str
) -> tuple[dict[str, JsonValue], list[dict[str, JsonValue]]]:
    """Return the kept fields of the message and of each of its calls, for the one who wrote them."""
    if not isinstance(raw, dict) or raw.get("provider") != provider.name or raw.get("model") != model:
        return {}, []
    message, calls = raw.get("message"), raw.get("calls")
    return (
        message if isinstance(message, dict) else {},
        [call if isinstance(call, dict) else {} for call in calls] if isinstance(calls, list) else [],
    )
