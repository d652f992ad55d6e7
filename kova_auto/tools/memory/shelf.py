"""Knows the layers of a run's memory: which of them its job names, where they lie, and who reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from kova_auto.core.context.memory import BENEATH, Layer, Note
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.tool import Scene
from kova_auto.tools.memory.book import Book
from kova_auto.tools.roots import Ground, Roots

_LAYERS: Final = tuple(Layer)


class ReadLayer(Protocol):
    """Read the notes of a layer."""

    def __call__(
        self, directory: Path, layer: Layer, *, daily: bool = False
    ) -> tuple[tuple[Note, ...], tuple[str, ...]]:
        """Return its notes, and a sentence for each that cannot be read."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Find the memories of one user.

    Attributes:
        home_memory: Where the global layer is; absolute and canonical.
        read: Reads a layer.
    """

    roots: Roots
    home_memory: Path
    read: ReadLayer

    def directory(self, layer: Layer, workspace: str) -> Path:
        """Return where a layer lies."""
        return self.home_memory if layer is Layer.GLOBAL else Path(workspace, *BENEATH)

    def book(self, layer: Layer, ground: Ground) -> Book:
        """Return what writes a layer."""
        return Book(self.roots, layer, self.directory(layer, ground.workspace), ground)

    def notes(self, layers: Sequence[Layer], workspace: str) -> tuple[list[Note], list[str]]:
        """Return the notes of layers, daily ones too, and why others cannot be read; one directory is read once."""
        notes: list[Note] = []
        notices: list[str] = []
        places = {self.directory(layer, workspace): layer for layer in layers}
        for directory, layer in places.items():
            found, why = self.read(directory, layer, daily=True)
            notes += found
            notices += why
        return notes, notices


def layers_of(scene: Scene) -> tuple[Layer, ...]:
    """Return the layers that a run's job names."""
    named = scene.job.context.memory
    return tuple([layer for layer in _LAYERS if layer in named])


def layer_named(scope: Layer, scene: Scene) -> Layer:
    """Return the layer that a call names.

    Raises:
        ToolFailedError: The job does not name it.
    """
    known = layers_of(scene)
    if scope not in known:
        there = f"there is {', '.join(known)}" if known else "it has no memory"
        message = f"scope {scope.value!r} is not in the [context] memory of this job: {there}"
        raise ToolFailedError(message)
    return scope
