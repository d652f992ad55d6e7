"""Change a file of standing decisions that is effective: the user's own, or this machine's for one workspace.

This machine's file says besides which workspace it is about, and which directory each write root was when it was
allowed: a name that has come to mean another one grants nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from kova_auto.core.consent import Standing
from kova_auto.core.errors import ConfigError
from kova_auto.core.permissions import Change, Document, added, parse_permissions, removed, render_permissions
from kova_auto.knowledge.files import locked, read_trusted, write_whole
from kova_auto.knowledge.roots import Ground, Refuses, identity, usable

WORKSPACE: Final = "workspace"
IDENTITIES: Final = "rootIdentities"


@dataclass(frozen=True, slots=True)
class Book:
    """Hold where a file is; safe to use from any thread and process.

    Attributes:
        path: The file.
        folder: Holds the lock of all writers.
        ground: Without a workspace the file is the user's own, which a link may lead to.
    """

    path: Path
    folder: Path
    ground: Ground

    def read(self) -> Document | None:
        """Return what is there; None where nothing is.

        Raises:
            ConfigError: It cannot be read, or is about another workspace.
        """
        text = read_trusted(self.path, follow=self._is_users)
        if text is None:
            return None
        known = () if self._is_users else (WORKSPACE, IDENTITIES)
        document = parse_permissions(text, str(self.path), known=known)
        about = (document.content or {}).get(WORKSPACE)
        if not self._is_users and document.content and about != str(self.ground.workspace):
            message = f"wanted {self.ground.workspace}, found {about}"
            raise ConfigError(message, path=str(self.path), key=WORKSPACE, hint="nothing of this file counts")
        return document

    def add(self, more: Standing, refuses: Refuses) -> Standing:
        """Write entries down; return those that were not there.

        Args:
            more: Directories canonical.
            refuses: Says why a directory cannot be a write root.

        Raises:
            ConfigError: An entry cannot count, or nothing can be written.
        """
        roots = self.check(more, refuses)
        with locked(self.folder):
            before = self._before()
            spelled = {self._spelled(before, root): root for root in roots}
            change = added(before, more.model_copy(update={"write_roots": tuple(spelled)}))
            seen = identities(before) | {text: identity(root) for text, root in spelled.items()}
            self._write(before, change, seen)
        return self._absolute(change.entries)

    def check(self, more: Standing, refuses: Refuses) -> list[Path]:
        """Return the directories of new entries, each of which can be a write root now.

        Raises:
            ConfigError: One cannot.
        """
        roots = [usable(Path(root), refuses) for root in more.write_roots]
        if inside := next((root for root in roots if self.ground.holds(root)), None):
            message = f"{inside} lies in the workspace, which counts as inside anyway"
            raise ConfigError(message)
        return roots

    def remove(self, gone: Standing) -> Standing:
        """Take entries out; return those that were there.

        Args:
            gone: Directories absolute, or as they are written.

        Raises:
            ConfigError: Nothing can be written.
        """
        with locked(self.folder):
            before = self._before()
            meant = [text for text in _roots(before) if str(self.ground.meant(text)) in gone.write_roots]
            change = removed(before, gone.model_copy(update={"write_roots": (*gone.write_roots, *meant)}))
            self._write(before, change, identities(before))
        return self._absolute(change.entries)

    @property
    def _is_users(self) -> bool:
        return self.ground.workspace is None

    def _before(self) -> Document:
        return self.read() or Document(str(self.path), {})

    def _spelled(self, before: Document, root: Path) -> str:
        """Return how a root is written, or would be."""
        known = (text for text in _roots(before) if self.ground.meant(text) == root)
        return next(known, self.ground.spell(root))

    def _absolute(self, entries: Standing) -> Standing:
        return entries.model_copy(
            update={"write_roots": tuple(str(self.ground.meant(root)) for root in entries.write_roots)}
        )

    def _write(self, before: Document, change: Change, seen: Mapping[str, JsonValue]) -> None:
        if not change.entries and seen == identities(before):
            return
        content = change.content
        if not self._is_users:
            roots = content.pop("writeRoots", [])
            content.pop(IDENTITIES, None)
            kept = {text: value for text, value in seen.items() if isinstance(roots, list) and text in roots}
            more: dict[str, JsonValue] = {"writeRoots": roots, IDENTITIES: kept} if roots else {}
            content = {WORKSPACE: str(self.ground.workspace), **content, **more}
        path = Path(os.path.realpath(self.path)) if self._is_users else self.path
        _make(path.parent)
        write_whole(path, render_permissions(content))


def identities(document: Document) -> dict[str, JsonValue]:
    """Return which directory each write root was when it was allowed."""
    known = (document.content or {}).get(IDENTITIES)
    return dict(known) if isinstance(known, dict) else {}


def _roots(document: Document) -> list[str]:
    roots = (document.content or {}).get("writeRoots")
    return [root.strip() for root in roots if isinstance(root, str)] if isinstance(roots, list) else []


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        message = f"cannot be made: {exc.strerror}"
        raise ConfigError(message, path=str(folder)) from exc
