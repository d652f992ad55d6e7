"""Know what people and this machine allowed for good: three files for each workspace, each with an effect of its own.

The user's file is effective everywhere, this machine's for one workspace. The workspace's own file comes with whatever
was cloned there: it proposes, and nothing else. This machine's file lies outside of every workspace, so that no
repository can bring one along and no run can write it.

Source: reference on the original, section 4.4.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kova_auto.core.consent import Standing
from kova_auto.core.errors import ConfigError
from kova_auto.core.permissions import NOTHING, Document, parse_permissions, shown
from kova_auto.knowledge.books import IDENTITIES, WORKSPACE, Book, identities
from kova_auto.knowledge.files import read_beneath, read_trusted
from kova_auto.knowledge.roots import Ground, Refuses, allowed, find, identity, usable

FOLDER: Final = ".kova"
FILE: Final = "permissions.json"
IGNORED: Final = "permissions.local.json"
"""Kova keeps grants in this file of the workspace, where any repository can bring one along: it is never read."""

_ABOUT: Final = (WORKSPACE, IDENTITIES)


@dataclass(frozen=True, slots=True)
class Said:
    """Hold what one file says of a workspace.

    Attributes:
        standing: What counts of it; directories canonical.
        problems: What does not, and why.
    """

    path: Path
    is_there: bool = False
    standing: Standing = NOTHING
    problems: tuple[ConfigError, ...] = ()


@dataclass(frozen=True, slots=True)
class PermissionFiles:
    """Know where the files are, and what they say.

    Attributes:
        home: Of the service's user; canonical.
        folder: Where this machine's files lie; absolute.
    """

    home: Path
    folder: Path

    @property
    def users(self) -> Book:
        """Return the user's own file."""
        return Book(self.home / FOLDER / FILE, self.folder, Ground(self.home, None))

    def local(self, workspace: Path) -> Book:
        """Return this machine's file for a workspace."""
        ground = self._ground(workspace)
        return Book(self.folder / _name(str(ground.workspace)), self.folder, ground)

    def are_missing(self, workspace: str) -> bool:
        """Say whether none of the files is there, as for most workspaces: then there is nothing to read."""
        place = os.path.realpath(workspace)
        own = f"{FOLDER}/{FILE}"
        known = (f"{self.home}/{own}", f"{place}/{own}", f"{self.folder}/{_name(place)}")
        return not any(map(os.path.lexists, known))

    def workspaces(self) -> tuple[Path, ...]:
        """Return the workspaces for which this machine has allowed something."""
        found = []
        with suppress(OSError):
            for path in sorted(self.folder.glob("*.json")):
                with suppress(ConfigError):
                    document = parse_permissions(read_trusted(path, follow=False) or "", str(path), known=_ABOUT)
                    found.append((document.content or {}).get(WORKSPACE))
        return tuple(Path(place) for place in found if isinstance(place, str) and place.startswith("/"))

    def said_by_user(self, workspace: Path, refuses: Refuses) -> Said:
        """Return what the user allowed everywhere."""
        ground, book = self._ground(workspace), self.users
        return _said(book.path, book.read, ground, lambda text, _: usable(ground.meant(text), refuses))

    def said_here(self, workspace: Path, refuses: Refuses) -> Said:
        """Return what this machine allowed for a workspace."""
        book = self.local(workspace)

        def same(text: str, document: Document) -> Path:
            root = usable(book.ground.meant(text), refuses)
            if identities(document).get(text) == identity(root):
                return root
            message = f"{root} is not the directory that was allowed: another one has its name"
            raise ConfigError(message, hint=f"kova-auto rules add --root {root} allows this one")

        return _said(book.path, book.read, book.ground, same)

    def said_by_project(self, workspace: Path, refuses: Refuses) -> Said:
        """Return what the workspace proposes; it grants nothing."""
        ground = self._ground(workspace)
        top = ground.workspace or workspace
        path = top / FOLDER / FILE
        if path == self.users.path:
            return Said(path)  # the workspace is the user's home, and this is the user's own

        def read() -> Document | None:
            text = read_beneath(top, FOLDER, FILE)
            return None if text is None else parse_permissions(text, str(path))

        def followed(text: str, _: Document) -> Path:
            # Where no root may be, looking may already do harm: a network's file system is mounted by a look.
            return allowed(find(allowed(ground.meant(text), refuses)), refuses)

        return _said(path, read, ground, followed)

    def ignored(self, workspace: Path) -> Path | None:
        """Return the file of Kova's own grants that is there and is not read; None where there is none."""
        path = workspace / FOLDER / IGNORED
        return path if os.path.lexists(path) else None

    def _ground(self, workspace: Path) -> Ground:
        return Ground(self.home, Path(os.path.realpath(workspace)))


def _name(workspace: str) -> str:
    """Return the name of this machine's file for a workspace; that is canonical."""
    return f"{hashlib.sha256(os.fsencode(workspace)).hexdigest()[:20]}.json"


def _said(
    path: Path,
    read: Callable[[], Document | None],
    ground: Ground,
    place: Callable[[str, Document], Path],
) -> Said:
    """Return what a file says, its directories found; one that cannot be used is a problem."""
    try:
        document = read()
    except ConfigError as exc:
        return Said(path, is_there=True, problems=(exc,))
    if document is None:
        return Said(path)
    roots: dict[str, None] = {}
    problems = list(document.problems)
    for text in document.standing.write_roots:
        try:
            root = place(text, document)
        except ConfigError as exc:
            key = f"writeRoots {shown(text)}"
            problems.append(ConfigError(exc.message, path=str(path), key=key, hint=exc.hint or "it does not count"))
        else:
            if not ground.holds(root):
                roots[str(root)] = None
    standing = document.standing.model_copy(update={"write_roots": tuple(roots)})
    return Said(path, is_there=True, standing=standing, problems=tuple(problems))
