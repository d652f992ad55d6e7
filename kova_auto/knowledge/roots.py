"""Find the directory that a write root's text means, once and without links, and know it again later."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.errors import ConfigError
from kova_auto.core.permissions import shown

Refuses = Callable[[Path], str]
"""Returns why a canonical directory cannot be a write root; empty where it can."""


@dataclass(frozen=True, slots=True)
class Ground:
    """Hold where the text of a root begins.

    Attributes:
        home: What `~` means; canonical.
        workspace: Where a relative one begins, canonical; None where that is said nowhere.
    """

    home: Path
    workspace: Path | None

    def meant(self, text: str) -> Path:
        """Return the path that a text means, its `..` taken literally and no link followed."""
        if text == "~" or text.startswith("~/"):
            text = f"{self.home}{text[1:]}"
        return Path(posixpath.normpath(posixpath.join(self.workspace or "", text)))

    def spell(self, root: Path) -> str:
        """Return the shorter of a root's absolute and relative form."""
        return str(root) if self.workspace is None else min(str(root), posixpath.relpath(root, self.workspace), key=len)

    def holds(self, root: Path) -> bool:
        """Say whether a root lies in the workspace, which counts as inside anyway."""
        return self.workspace is not None and root.is_relative_to(self.workspace)


def find(path: Path) -> Path:
    """Return the canonical path of a directory, every link followed: for what a person names just now.

    Raises:
        ConfigError: There is no such directory.
    """
    try:
        real = Path(os.path.realpath(path, strict=True))
        mode = real.stat().st_mode
    except (OSError, ValueError) as exc:
        raise _wrong(path, f"cannot be used: {getattr(exc, 'strerror', None) or exc}") from exc
    if not stat.S_ISDIR(mode):
        raise _wrong(path, "is no directory")
    return real


def allowed(root: Path, refuses: Refuses) -> Path:
    """Return a path that may be a write root, if it is canonical; nothing is looked up for it.

    Raises:
        ConfigError: It may not be one.
    """
    if why := refuses(root):
        message = f"no write root: {why}"
        raise ConfigError(message)
    return root


def usable(root: Path, refuses: Refuses) -> Path:
    """Return a root that is written down: it is there, is its own canonical path, and may be a write root.

    Raises:
        ConfigError: It is not.
    """
    real = find(allowed(root, refuses))
    if real != root:
        raise _wrong(root, "is reached by a symbolic link, which may lead elsewhere tomorrow", f"write {real}")
    return root


def identity(root: Path) -> str:
    """Return what tells a directory from any other that has its name later: device and inode.

    Raises:
        ConfigError: It is not there.
    """
    try:
        status = root.lstat()
    except OSError as exc:
        raise _wrong(root, f"cannot be used: {exc.strerror or exc}") from exc
    return f"{status.st_dev}:{status.st_ino}"


def _wrong(root: Path, message: str, hint: str = "") -> ConfigError:
    return ConfigError(f"{shown(str(root))} {message}", hint=hint)
