"""Copies a workspace: whole, links as links, and nothing that can only be opened."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from threading import Event

from kova_auto.core.errors import ConfigError

LARGEST = 2 * 1024**3


def copy_workspace(workspace: Path, target: Path, halt: Event) -> None:
    """Copy a workspace; stops half-way where `halt` is set.

    Raises:
        ConfigError: It is larger than 2 GiB, or cannot be copied.
    """
    if _size(workspace) > LARGEST:
        message = f"the workspace holds over {LARGEST / 1024**3:.0f} GiB, more than a copy may"
        raise ConfigError(message, path=str(workspace), key="workspace", hint="run it in place")

    def copy(source: str, target: str) -> None:
        if not halt.is_set():
            copy_if_there(Path(source), Path(target))

    try:
        shutil.copytree(workspace, target, symlinks=True, ignore=_special, copy_function=copy)
    except (OSError, shutil.Error) as exc:
        message = f"the workspace could not be copied: {exc}"
        raise ConfigError(message, path=str(workspace), key="workspace") from exc


def copy_if_there(source: Path, target: Path) -> None:
    """Copy one file with its times and bits, unless it is gone by now: somebody may be at work in the workspace."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target, follow_symlinks=False)


def _size(workspace: Path) -> int:
    total = 0
    for folder, _, files in os.walk(workspace):
        for name in files:
            info = _info(Path(folder) / name)
            total += info.st_size if info and stat.S_ISREG(info.st_mode) else 0
            if total > LARGEST:
                return total
    return total


def _info(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except OSError:
        return None


def _special(folder: str, names: list[str]) -> list[str]:
    """Return what is neither file, directory nor link: it cannot be copied, only opened. What is gone counts too."""
    kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
    infos = ((name, _info(Path(folder) / name)) for name in names)
    return [name for name, info in infos if info is None or not any(kind(info.st_mode) for kind in kinds)]
