"""Copies of workspaces, for runs whose writes must not touch the real one."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import RunId
from kova_auto.core.run import RunState

LARGEST = 2 * 1024**3


@dataclass(frozen=True, slots=True)
class Copies:
    """Make and remove copies below one directory."""

    base: Path  # canonical

    def place(self, run: RunId) -> Path:
        """Return the directory that holds a run's copy."""
        return self.base / "copies" / hashlib.sha256(run.encode()).hexdigest()[:20]

    def target(self, run: RunId, workspace: Path) -> Path:
        """Return where a run's copy of a workspace will be."""
        return self.place(run) / workspace.name

    async def prepare(self, state: RunState) -> None:
        """Copy the workspace of a run that works in a copy; one that was cut off half-way is made anew.

        Where this is cancelled, copying has stopped when it returns.

        Raises:
            ConfigError: It is larger than 2 GiB, or cannot be read.
        """
        if state.request.workspace == state.job.workspace:
            return
        halt = Event()
        making = asyncio.ensure_future(asyncio.to_thread(self._make, state.run_id, Path(state.job.workspace), halt))
        try:
            await asyncio.shield(making)
        except asyncio.CancelledError:
            halt.set()
            await asyncio.wait({making})
            raise

    def _make(self, run: RunId, workspace: Path, halt: Event) -> None:
        size = _size(workspace)
        if size > LARGEST:
            message = f"the workspace holds over {LARGEST / 1024**3:.0f} GiB, more than a copy may"
            raise ConfigError(message, path=str(workspace), key="workspace", hint="run it in place")
        place = self.place(run)
        _remove(place)

        def copy(source: str, target: str) -> None:
            if not halt.is_set():
                copy_if_there(Path(source), Path(target))

        try:
            place.mkdir(mode=0o700, parents=True)
            shutil.copytree(workspace, self.target(run, workspace), symlinks=True, ignore=_special, copy_function=copy)
        except (OSError, shutil.Error) as exc:
            message = f"the workspace could not be copied: {exc}"
            raise ConfigError(message, path=str(workspace), key="workspace") from exc

    async def remove(self, state: RunState) -> None:
        """Remove the copy that a run worked in, if it did; safe to call twice."""
        if state.request.workspace != state.job.workspace:
            await asyncio.to_thread(_remove, self.place(state.run_id))


def copy_if_there(source: Path, target: Path) -> None:
    """Copy one file with its times and bits, unless it is gone by now: somebody may be at work in the workspace."""
    with suppress(FileNotFoundError):
        shutil.copy2(source, target, follow_symlinks=False)


def _remove(place: Path) -> None:
    """Remove a copy, directories that may not be written included, as package managers leave them."""
    for folder, _, _ in os.walk(place):
        with suppress(OSError):
            Path(folder).chmod(0o700)
    shutil.rmtree(place, ignore_errors=True)


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
