"""Copies a workspace: whole, links as links, and nothing that can only be opened; or the notes of its memory alone."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path
from threading import Event

from kova_auto.core.context.memory import BENEATH, DAILY, is_note_name
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


def copy_notes(workspace: Path, target: Path) -> None:
    """Copy the notes of a workspace's memory into a worktree, committed or not: a run remembers what was kept last.

    Nothing is copied through a link, on either side, and no versions.

    Raises:
        ConfigError: They cannot be copied.
    """
    try:
        for below in ("", DAILY):
            if _is_plain(workspace, *BENEATH, below) and _may_become_plain(target, *BENEATH, below):
                _copy_notes(workspace.joinpath(*BENEATH), target.joinpath(*BENEATH), below)
    except OSError as exc:
        message = f"the notes of the memory could not be copied: {exc}"
        raise ConfigError(message, path=str(workspace.joinpath(*BENEATH)), key="isolation") from exc


def _copy_notes(source: Path, target: Path, below: str) -> None:
    for path in sorted((source / below).iterdir()):
        name = f"{below}/{path.name}" if below else path.name
        info, there = _info(path), _info(target / name)
        is_file = info is not None and stat.S_ISREG(info.st_mode)
        if is_file and is_note_name(name) and (there is None or stat.S_ISREG(there.st_mode)):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            copy_if_there(path, target / name)


def _is_plain(top: Path, *names: str) -> bool:
    """Say whether a directory is there, and reached without a link."""
    infos = [_info(top.joinpath(*names[:end])) for end in range(1, len(names) + 1)]
    return all(info is not None and stat.S_ISDIR(info.st_mode) for info in infos)


def _may_become_plain(top: Path, *names: str) -> bool:
    """Say whether a directory is there without a link, or can be made so."""
    infos = [_info(top.joinpath(*names[:end])) for end in range(1, len(names) + 1)]
    return all(info is None or stat.S_ISDIR(info.st_mode) for info in infos)


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
