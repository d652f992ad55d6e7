"""Decides which trees a command sees, and which of them it may write; the confiners make it so."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kova_auto.tools.sandbox.git import linked_gitdir
from kova_auto.tools.sandbox.network import launcher_needs
from kova_auto.tools.sandbox.plan import Confinement, Level


class Access(StrEnum):
    """Say what a command may do with a tree."""

    HIDDEN = "hidden"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Place:
    """Give one tree an access; the nearest place above a path decides about it.

    Attributes:
        path: As the command sees it.
        source: As the host sees it.
        is_dir: What it is on the host.
    """

    path: Path
    access: Access
    source: Path
    is_dir: bool = True

    @property
    def at_home(self) -> bool:
        """Say whether the tree is seen where it really lies."""
        return self.path == self.source


def places(confinement: Confinement, temp_at: tuple[Path, ...]) -> tuple[Place, ...]:
    """Return what differs from a host that may be read everywhere, each tree after the one that holds it.

    Args:
        confinement: Canonical.
        temp_at: Where the command sees its temporary directory.
    """
    kept: list[Place] = []
    for place in sorted(_wanted(confinement, temp_at), key=lambda place: len(place.path.parts)):
        above = nearest(kept, place.path)
        if _changes_something(place, above):
            kept.append(place)
    return tuple(kept)


def _wanted(confinement: Confinement, temp_at: tuple[Path, ...]) -> list[Place]:
    """Return every place once; where two name one path, what makes it usable wins."""
    inside = Access.READ if confinement.level is Level.READING else Access.WRITE
    roots = (*confinement.write_roots, confinement.workspace)
    access = dict.fromkeys(confinement.hidden, Access.HIDDEN)
    access |= dict.fromkeys((*confinement.toolchains, *confinement.read_roots), Access.READ)
    access |= dict.fromkeys((common for root in roots if (common := linked_gitdir(root))), inside)
    access |= dict.fromkeys(roots, inside)
    if confinement.cache and confinement.level is Level.WORKSPACE:
        access[confinement.cache] = Access.WRITE
    if confinement.network is not None:
        access |= {path: Access.READ for path in launcher_needs() if access.get(path) is not Access.WRITE}
    modes = {path: _mode(path) for path in access}
    found = {path: Place(path, access[path], path, stat.S_ISDIR(mode)) for path, mode in modes.items() if mode}
    found |= {path: Place(path, Access.WRITE, confinement.temp) for path in temp_at}
    return list(found.values())


def nearest(kept: Sequence[Place], path: Path) -> Place | None:
    """Return the place that decides about `path`, or None where nothing but the host does."""
    return next((place for place in reversed(kept) if path.is_relative_to(place.path)), None)


def _changes_something(place: Place, above: Place | None) -> bool:
    if place.access is Access.HIDDEN:
        return above is None or (above.at_home and above.access is not Access.HIDDEN)
    if above is None or not above.at_home:
        return above is not None or place.access is Access.WRITE
    # A read root inside a writable one adds nothing, and takes nothing away.
    return above.access is Access.HIDDEN or (above.access is Access.READ and place.access is Access.WRITE)


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except OSError:
        return None  # also what we may not even look at: then no command of ours can either
