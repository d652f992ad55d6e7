"""Put one content block together from its start and its deltas, in our words and in the provider's own form."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from pydantic import JsonValue

from kova_auto.core.message import CallRequest, ReasoningDelta, TextDelta
from kova_auto.llm.arguments import parse_arguments, requested
from kova_auto.llm.shown import Shown
from kova_auto.llm.unicode import Pieces, mended

Body = dict[str, JsonValue]


@dataclass(slots=True)
class Block:
    """Hold one block as far as it has come.

    Attributes:
        start: What opened it, as it came.
        kind: Its type.
        lead: What stands between its text and that of the blocks before it.
        closed: Its end was said.
    """

    start: Body
    kind: str = field(init=False)
    lead: str = ""
    closed: bool = False
    written: Pieces = field(default_factory=Pieces)
    arguments: Pieces = field(default_factory=Pieces)
    _signature: str = ""
    _citations: list[JsonValue] = field(default_factory=list)
    _odd: bool = False  # A delta came that nobody here knows: what we hold is not all of it.

    def __post_init__(self) -> None:
        """Keep its type, which each delta asks for."""
        self.kind = text_of(self.start, "type")

    @property
    def name(self) -> str:
        """Return the name of the tool that it calls."""
        return mended(text_of(self.start, "name"))

    @property
    def text(self) -> str:
        """Return its text, what stands before it included; empty where it has none."""
        text = self.written.text()
        return self.lead + text if text else ""

    @property
    def size(self) -> int:
        """Return how many characters the model wrote."""
        return self.written.size + self.arguments.size

    def begin(self, shown: Shown) -> bool:
        """Take what the start holds already, and show it; return whether it brings content."""
        if self.kind == "tool_use":
            shown.call(self.name)
        if self.kind not in ("text", "thinking"):
            return True
        return self._write(self.start, shown)

    def add(self, delta: Body, shown: Shown) -> bool:
        """Take one delta, and show it; return whether it brings content."""
        match text_of(delta, "type"), self.kind:
            case ("text_delta", "text") | ("thinking_delta", "thinking"):
                return self._write(delta, shown)
            case "input_json_delta", _:
                return bool(self.arguments.add(text_of(delta, "partial_json")))
            case "signature_delta", "thinking":
                self._signature = text_of(delta, "signature")
            case "citations_delta", "text":
                self._citations.append(delta.get("citation"))
            case _:
                self._odd = True
        return False

    def call(self, *, whole: bool) -> CallRequest:
        """Return the call that it is; one that was cut is never executable.

        Args:
            whole: The reply came to its end.
        """
        given, text = self.start.get("input"), self.arguments.text()
        if given and not text:
            text = given if isinstance(given, str) else json.dumps(given)
        heard = self.closed or bool(text)  # No arguments at all are none only if they ended there.
        return requested(self.name, text, mended(text_of(self.start, "id")), whole=whole and heard)

    def form(self) -> Body | None:
        """Return it as the provider wants it back, a call without its arguments; None where it is not all there."""
        match self.kind:
            case "text":
                cited: Body = {"citations": self._citations} if self._citations else {}
                return {**self.start, "text": self.written.text(), **cited}
            case "thinking":
                signature = self._signature or text_of(self.start, "signature")
                return {**self.start, "thinking": self.written.text(), "signature": signature}
            case "tool_use":
                return {**self.start, "input": {}}
            case _ if self._odd:
                return None
            case _ if not self.arguments.size:
                return self.start
            case _:
                args = parse_arguments(self.arguments.text())
                return None if args is None else {**self.start, "input": args}

    def _write(self, said: Body, shown: Shown) -> bool:
        piece = self.written.add(text_of(said, self.kind))
        if piece:
            is_first = self.written.size == len(piece)
            kind = TextDelta if self.kind == "text" else ReasoningDelta
            shown.add(kind, self.lead + piece if is_first else piece)
        return bool(piece)


def text_of(body: Body, key: str) -> str:
    """Return a field's text; empty where there is none."""
    value = body.get(key)
    return value if isinstance(value, str) else ""
