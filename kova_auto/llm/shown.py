"""Collect what can be shown of a reply while it arrives: pieces of one text that came together are one piece."""

from __future__ import annotations

from kova_auto.core.message import CallDelta, ModelChunk, ReasoningDelta, TextDelta

Kind = type[TextDelta] | type[ReasoningDelta]


class Shown:
    """Hold what has come and was not asked for yet."""

    def __init__(self) -> None:
        self._chunks: list[ModelChunk] = []
        self._kind: Kind = TextDelta
        self._pieces: list[str] = []

    def add(self, kind: Kind, piece: str) -> None:
        """Take a piece of text."""
        if kind is not self._kind:
            self._join()
            self._kind = kind
        self._pieces.append(piece)

    def call(self, name: str) -> None:
        """Take note that a call begins."""
        self._join()
        self._chunks.append(CallDelta(name=name))

    def take(self) -> list[ModelChunk]:
        """Return what came since this was asked last, in its order."""
        self._join()
        chunks, self._chunks = self._chunks, []
        return chunks

    def _join(self) -> None:
        if self._pieces:
            self._chunks.append(self._kind(text="".join(self._pieces)))
            self._pieces = []
