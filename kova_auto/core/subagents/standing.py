"""Say of everything that is defined how it stands: whether a job has it by its name, and whose place it takes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kova_auto.core.subagents.definition import Layer
from kova_auto.core.subagents.roster import Broken, Layers, Placed, is_disabled, meant, placed


class Use(StrEnum):
    """Say how a job has a subagent."""

    NAME = "name"  # by its name, and by `*`
    NAMED = "named"  # by its name alone: it came with the workspace
    ADDRESS = "address"  # its name means another one
    NONE = "none"  # it is broken or disabled


@dataclass(frozen=True, slots=True)
class Standing:
    """Hold one definition, or what was to be one, with how it stands.

    Attributes:
        shadowed_by: Address of the one that its name means instead; empty where that means it.
        shadows: Addresses of those whose place it takes.
    """

    placed: Placed
    use: Use
    shadowed_by: str = ""
    shadows: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Return how it stands in words; empty where there is nothing to say."""
        layer, address = self.placed.shelf.layer, self.placed.address
        if isinstance(self.placed.entry, Broken):
            return f"cannot be used: {self.placed.entry.problem.sentence}"
        if self.use is Use.NONE:
            return "the settings disable it"
        if self.shadowed_by:
            return f"shadowed by {self.shadowed_by}; a job has it as {address}"
        words = ["only for jobs that name it"] if self.use is Use.NAMED else []
        if layer is Layer.USER and f"{Layer.BUILT_IN}:{self.placed.name}" in self.shadows:
            words.append("replaces the built-in one")
        return "; ".join(words)


def standings(layers: Layers) -> tuple[Standing, ...]:
    """Return everything that is defined, by name; of one name, first what it means."""
    everything = sorted(placed(layers), key=lambda one: one.name)
    return tuple(_standing(one, layers) for one in everything)


def _standing(one: Placed, layers: Layers) -> Standing:
    first, *others = meant(one.name, layers)
    is_first = first == one
    shadows = tuple(other.address for other in others) if is_first else ()
    return Standing(one, _use(one, layers, is_first=is_first), "" if is_first else first.address, shadows)


def _use(one: Placed, layers: Layers, *, is_first: bool) -> Use:
    if isinstance(one.entry, Broken) or is_disabled(one, layers):
        return Use.NONE
    if not is_first:
        return Use.ADDRESS
    return Use.NAMED if one.shelf.layer is Layer.WORKSPACE else Use.NAME
