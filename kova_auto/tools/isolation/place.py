"""Names what lies beside a workspace of a run's own: what it was made of, and what that held at first."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import RunId
from kova_auto.core.value import Value
from kova_auto.tools.isolation.tree import Tree, dump_tree, load_tree, read_tree
from kova_auto.tools.words import plainly


class Branch(Value):
    """Hold the branch of a worktree.

    Attributes:
        gitdir: Git directory of the work tree that it was made from.
        name: Of the branch, as `kova/nightly-20261201T060000Z`.
        base: The commit that it begins at.
    """

    gitdir: str
    name: str
    base: str


class Origin(Value):
    """Hold what a run's workspace was made of; written before anything is made.

    Attributes:
        house: Data directory of the service; others may share the place where copies are.
        workspace: The real one.
        branch: Of a worktree; None for a copy.
    """

    run_id: RunId
    house: str
    workspace: str
    kind: Literal["copy", "worktree"]
    branch: Branch | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Name what one run has.

    Attributes:
        root: Removed as a whole.
        tree: The run's workspace; a copy, or the worktree of a whole repository.
    """

    root: Path
    tree: Path

    @property
    def _origin(self) -> Path:
        return self.root / "origin.json"

    @property
    def _first(self) -> Path:
        return self.root / "first.json"

    @property
    def _contents(self) -> Path:
        return self.root / "first"

    @property
    def is_whole(self) -> bool:
        """Say whether it was made to its end, and is still there."""
        return self._first.is_file()

    def begin(self, origin: Origin) -> None:
        """Make the directory, and write down what is about to be made in it.

        Raises:
            OSError: It cannot be written, or is there already.
        """
        self.root.mkdir(mode=0o700, parents=True)
        self._write(self._origin, origin.model_dump_json())

    def seal(self, workspace: Path) -> None:
        """Write down what the workspace holds before the run changes it, the contents of small files included.

        Raises:
            ToolFailedError: Something cannot be read or written.
        """
        with plainly(str(self.root)):
            self._contents.mkdir()
            self._write(self._first, dump_tree(read_tree(workspace, self._keep)))

    def _keep(self, content: str, data: bytes) -> None:
        path = self._contents / content
        if not path.exists():
            path.write_bytes(data)

    def _write(self, path: Path, text: str) -> None:
        """Write a file whole, or not at all."""
        half = path.with_suffix(".half")
        with half.open("w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        half.rename(path)

    def first(self) -> Tree:
        """Return what the workspace held at first.

        Raises:
            ToolFailedError: It is not on record.
        """
        with plainly(str(self._first)):
            return load_tree(self._first.read_text())

    def first_content(self, content: str) -> bytes | None:
        """Return what a file held at first, by its hash; None where that was not kept."""
        try:
            return (self._contents / content).read_bytes()
        except OSError:
            return None

    def origin(self) -> Origin | None:
        """Return what it was made of; None where nothing says so."""
        return read_origin(self.root)

    def remove(self) -> None:
        """Remove everything, directories that may not be written included, as package managers leave them."""
        for folder, _, _ in os.walk(self.root):
            with suppress(OSError):
                Path(folder).chmod(0o700)
        shutil.rmtree(self.root, ignore_errors=True)


def read_origin(root: Path) -> Origin | None:
    """Return what the workspace below a directory was made of; None where nothing says so."""
    try:
        return Origin.model_validate_json((root / "origin.json").read_bytes())
    except (OSError, ValidationError):
        return None


def gone(run_id: RunId) -> ToolFailedError:
    """Return what is said where a run's own workspace is not there."""
    return ToolFailedError(f"what run {run_id} worked in is not on this machine, or not any more")
