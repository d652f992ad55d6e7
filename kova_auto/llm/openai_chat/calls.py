"""Put tool calls together from fragments, whichever way a server cuts and numbers them.

The protocol says: `index` tells calls apart, id and name come with the first fragment only. Servers also leave out
the index, give every call index 0, let the index drift, leave out or repeat ids and names, or send arguments as an
object. A fragment opens a call where its id is new, where its index is new, or where it looks like the start of
another call while the last one is whole; else it goes on with the one it names, or with the last.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import JsonValue

from kova_auto.core.message import CallRequest
from kova_auto.llm.arguments import parse_arguments, requested
from kova_auto.llm.unicode import Pieces, mended


@dataclass(slots=True)
class Slot:
    """Hold one call as far as it has come; `extras` are fields that the server wants back."""

    index: int | None
    id: str = ""
    name: str = ""
    arguments: Pieces = field(default_factory=Pieces)
    extras: dict[str, JsonValue] = field(default_factory=dict)

    @property
    def is_whole(self) -> bool:
        """Say whether the arguments are complete as they stand."""
        text = self.arguments.text().rstrip()
        return text.endswith("}") and parse_arguments(text) is not None


@dataclass(frozen=True, slots=True)
class Fragment:
    """Hold one entry of `tool_calls` as it came; what is missing or of a wrong type is empty."""

    index: int | None
    id: str
    name: str
    arguments: str

    @property
    def starts(self) -> bool:
        """Say whether this looks like the begin of a call with its arguments."""
        return bool(self.name) and self.arguments.lstrip().startswith("{")


def fragment_of(entry: dict[str, JsonValue]) -> Fragment:
    """Read one entry of `tool_calls`."""
    index, call_id, function = entry.get("index"), entry.get("id"), entry.get("function")
    said = function if isinstance(function, dict) else {}
    name, arguments = said.get("name"), said.get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return Fragment(
        index=index if isinstance(index, int) else None,
        id=mended(call_id) if call_id and isinstance(call_id, str) else "",
        name=mended(name) if name and isinstance(name, str) else "",
        arguments=arguments if isinstance(arguments, str) else "",
    )


class Calls:
    """Collect the calls of one reply, in the order in which they were opened."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []

    def add(self, fragment: Fragment) -> tuple[Slot, bool]:
        """Take one fragment; return its call, and whether that call is new."""
        found = self._named(fragment) if fragment.id else self._numbered(fragment)
        slot = found or Slot(fragment.index)
        if found is None:
            self.slots.append(slot)
        slot.id = slot.id or fragment.id
        if not slot.name:
            slot.name = fragment.name
        elif fragment.name != slot.name and not slot.arguments.size:
            slot.name += fragment.name  # A name in pieces; one that is only repeated stays as it is.
        slot.arguments.add(fragment.arguments)
        return slot, found is None

    def requests(self, *, whole: bool) -> tuple[CallRequest, ...]:
        """Return the calls; none of a reply that was cut is ever executable."""
        return tuple(requested(slot.name, slot.arguments.text(), slot.id, whole=whole) for slot in self.slots)

    def _named(self, fragment: Fragment) -> Slot | None:
        same = self._last(lambda slot: slot.id == fragment.id)
        if same is None:  # An id that comes late belongs to the call that has none yet.
            return None if fragment.name else self._last(lambda slot: slot.index == fragment.index and not slot.id)
        drifted = fragment.index is not None and fragment.index != same.index
        return None if drifted and fragment.name else same

    def _numbered(self, fragment: Fragment) -> Slot | None:
        if fragment.index is None:
            last = self.slots[-1] if self.slots else None
            renamed = last and fragment.name and last.name and fragment.name != last.name
            return None if renamed else _unless_another(last, fragment)
        numbered = self.slots[-1] if self.slots else None
        if numbered is not None and numbered.index != fragment.index:
            numbered = self._last(lambda slot: slot.index == fragment.index)
        if numbered is None and not fragment.name:  # A call begins with its name: here the number alone has drifted.
            numbered = self.slots[-1] if self.slots else None
        return _unless_another(numbered, fragment)

    def _last(self, fits: Callable[[Slot], bool]) -> Slot | None:
        return next((slot for slot in reversed(self.slots) if fits(slot)), None)


def _unless_another(slot: Slot | None, fragment: Fragment) -> Slot | None:
    return None if slot and fragment.starts and slot.is_whole else slot
