"""Put the items of a reply together from what came of them.

An item that is finished counts over its pieces, and the list at the end of the response over both: pieces are what is
left where a server sends nothing better. Servers give an item another id in each event, no id, or every item the same
index, so an item is found by its id first and by its index else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

from pydantic import JsonValue

from kova_auto.llm.unicode import Pieces, mended

Item = dict[str, JsonValue]

CALLS: Final = frozenset({"function_call", "custom_tool_call"})
_WRITTEN: Final = {"function_call": "arguments", "custom_tool_call": "input"}
_OWNERS: Final = {written: kind for kind, written in _WRITTEN.items()}
_HOLDERS: Final = {
    "output_text": ("message", "content"),
    "refusal": ("message", "content"),
    "reasoning_text": ("reasoning", "content"),
    "summary_text": ("reasoning", "summary"),
}
PARTS: Final = frozenset(_HOLDERS)


def text_at(item: Item, key: str) -> str:
    """Return the text of a field; empty where there is none."""
    value = item.get(key)
    if not isinstance(value, str):
        return ""
    return value if value.isascii() else mended(value)


def items_in(value: JsonValue) -> list[Item]:
    """Return the objects in a list; what is none is passed over."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def parts_of(item: Item, kind: str) -> list[str]:
    """Return the texts of an item's parts of one kind, as `refusal`."""
    key = "refusal" if kind == "refusal" else "text"
    parts = [*items_in(item.get("summary")), *items_in(item.get("content"))]
    return [text_at(part, key) for part in parts if part.get("type") == kind]


def written_by(item: Item) -> str:
    """Return the arguments of a call as the model wrote them."""
    value = item.get(_WRITTEN.get(text_at(item, "type"), ""))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return mended(value) if isinstance(value, str) else ""


@dataclass(slots=True)
class Part:
    """Hold one text of an item as it arrives; `whole` once the server has said all of it."""

    pieces: Pieces = field(default_factory=Pieces)
    whole: str | None = None

    @property
    def text(self) -> str:
        """Return it as far as it is known."""
        return self.pieces.text() if self.whole is None else self.whole


@dataclass(slots=True)
class Slot:
    """Hold one item as far as it has come; `texts` are its parts by kind and number."""

    index: JsonValue
    ids: set[str] = field(default_factory=set)
    item: Item = field(default_factory=dict)
    finished: bool = False
    texts: dict[tuple[str, int], Part] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return how many characters of text it has."""
        if self.texts:
            return sum(len(part.text) for part in self.texts.values())
        parts = (text for kind in PARTS for text in parts_of(self.item, kind))
        return len(written_by(self.item)) + sum(map(len, parts))

    def read(self) -> Item:
        """Return the item: as it was finished, or else as it began with what came since."""
        if self.finished or not self.texts:
            return self.item
        item: Item = dict(self.item)
        lists: dict[str, list[JsonValue]] = {}
        for (kind, _), part in sorted(self.texts.items(), key=lambda entry: entry[0][1]):
            if kind in _HOLDERS:
                owner, key = _HOLDERS[kind]
                piece: Item = {"type": kind, "refusal" if kind == "refusal" else "text": part.text}
                lists.setdefault(key, []).append(piece)
            else:
                owner, item[kind] = _OWNERS[kind], part.text
            item.setdefault("type", owner)
        return {**item, **lists}


class Items:
    """Collect the items of one reply, in the order in which they were opened."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self._newest: tuple[object, Part] | None = None  # A text comes in many pieces, one after the other.

    @property
    def size(self) -> int:
        """Return how many characters of text have come."""
        return sum(slot.size for slot in self.slots)

    def begin(self, item: Item, index: JsonValue) -> bool:
        """Open an item; say whether it is new, and not open already under its id."""
        self._newest = None
        slot = self._named(_id_of(item))
        is_new = slot is None or slot.finished
        if slot is None or slot.finished:
            slot = Slot(index)
            self.slots.append(slot)
        slot.item = item
        slot.ids.add(_id_of(item))
        return is_new

    def part(self, item_id: str, index: JsonValue, kind: str, number: JsonValue) -> Part:
        """Return a text of an item, opening either where it is not known yet."""
        place = item_id, index, kind, number
        if self._newest and self._newest[0] == place:
            return self._newest[1]
        slot = self._slot(item_id, index)
        part = slot.texts.setdefault((kind, number if isinstance(number, int) else 0), Part())
        self._newest = place, part
        return part

    def finish(self, item: Item, index: JsonValue) -> Slot:
        """Take an item as it is at its end, or as it is said to be once more; return where it stands."""
        self._newest = None
        slot = self._slot(_id_of(item), index)
        slot.item, slot.finished = item, True
        return slot

    def whole(self) -> list[Item]:
        """Return those that the server has finished."""
        return [slot.item for slot in self.slots if slot.finished]

    def output(self, final: list[Item]) -> list[Item]:
        """Return what the reply consists of.

        Args:
            final: The list that the response ended with. Some gateways leave its calls out: then it is not used.
        """
        if not final or (_has_call(self.whole()) and not _has_call(final)):
            return [slot.read() for slot in self.slots]
        return final

    def _slot(self, item_id: str, index: JsonValue) -> Slot:
        slot = self._named(item_id) or self._numbered(index)
        if slot is None:
            slot = Slot(index)
            self.slots.append(slot)
        slot.ids.add(item_id)
        return slot

    def _named(self, item_id: str) -> Slot | None:
        return next((slot for slot in reversed(self.slots) if item_id and item_id in slot.ids), None)

    def _numbered(self, index: JsonValue) -> Slot | None:
        still_open = (slot for slot in reversed(self.slots) if not slot.finished)
        return next((slot for slot in still_open if index is None or slot.index in (None, index)), None)


def _id_of(item: Item) -> str:
    return text_at(item, "id") or text_at(item, "call_id")


def _has_call(items: list[Item]) -> bool:
    return any(item.get("type") in CALLS for item in items)
