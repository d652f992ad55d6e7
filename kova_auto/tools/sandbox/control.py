"""Finds the control files of a writable root, so that a command can neither change nor add one.

Existing ones are to be mounted read-only (`masks`); a directory that git or we would act upon is mounted empty where it
is missing (`voids`); what must stay writable but must not be renamed away is mounted on itself (`pins`). Any other
missing name has no mount, since a mount point would be a file in the user's tree that git offers to commit: what a
command adds under such a name is renamed afterwards (`set_aside`).
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kova_auto.core.approval.floor import ASKED_DIRS, ASKED_FILES, CONTROL_DIRS, CONTROL_FILES, GIT_DIRS
from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.sandbox import git

SET_ASIDE = ".refused"
"""Ends the name of what a command was not allowed to add."""

JOB_SUFFIX = ".toml"
_MAX_DEPTH = 6
_MAX_ENTRIES = 20_000
_MAX_NESTED = 200
_NEVER_ENTERED = frozenset({"node_modules", ".venv", "venv", ".tox", ".nox", "__pycache__", "site-packages", "target"})
_ESSENTIAL = (".git", ".kova")


def _patterns() -> dict[str, frozenset[str]]:
    """Return each control name's first component with the second ones; an empty second is the name itself."""
    found: dict[str, set[str]] = {}
    for name in (*CONTROL_DIRS, *CONTROL_FILES, *ASKED_DIRS, *ASKED_FILES):
        first, _, second = name.casefold().partition("/")
        found.setdefault(first, set()).add(second)
    return {first: frozenset(seconds) for first, seconds in found.items()}


_PATTERNS = _patterns()


@dataclass(frozen=True, slots=True)
class Controls:
    """Say how the control files of some roots are held.

    Attributes:
        pins: Directories mounted on themselves: writable, but not to be renamed away.
        masks: Mounted read-only.
        voids: Missing directories, mounted empty and read-only; the mount point stays behind.
        roots: The roots that were looked at.
        present: Control files at the top of a root that were there before.
        absent: Files of git that must not appear.
        loose: Symbolic links, which a mount would follow: they can be replaced.
        complete: Whether all nested ones were found.
        job_dirs: Directories of job files inside a root.
    """

    pins: tuple[Path, ...] = ()
    masks: tuple[Path, ...] = ()
    voids: tuple[Path, ...] = ()
    roots: tuple[Path, ...] = ()
    present: frozenset[Path] = frozenset()
    absent: tuple[Path, ...] = ()
    loose: tuple[Path, ...] = ()
    complete: bool = True
    job_dirs: tuple[Path, ...] = ()

    @property
    def held(self) -> frozenset[Path]:
        """Return all that is a mount point while the command runs, and can therefore not be renamed by it."""
        return frozenset((*self.pins, *self.masks, *self.voids))

    def beside(self, others: Iterable[Controls]) -> Controls:
        """Return the same without what another live command could exchange for a link while it is being mounted.

        A mount follows links, on the host's side too: one that was planted in time would show, or open for writing,
        whatever it leads to. What the other holds, and lies in nothing that it could rename, is safe; the rest goes
        unmasked for as long as two commands share a root.
        """
        still = frozenset(path for path in self.held if all(other.keeps_still(path) for other in others))
        pins, masks, voids = (
            tuple(path for path in paths if path in still) for paths in (self.pins, self.masks, self.voids)
        )
        dropped = tuple(path for path in self.voids if path not in still)
        complete = self.complete and still == self.held
        return replace(self, pins=pins, masks=masks, voids=voids, absent=(*self.absent, *dropped), complete=complete)

    def keeps_still(self, path: Path) -> bool:
        """Say whether the command that runs under these controls cannot rename `path`, nor anything above it."""
        if path in self.roots or not any(path.is_relative_to(root) for root in self.roots):
            return True
        return path in self.held and self.keeps_still(path.parent)

    def unmounted(self) -> Controls:
        """Return the same for a confinement without mounts: what would be mounted empty must not appear."""
        return replace(self, pins=(), masks=(), voids=(), absent=(*self.absent, *self.voids))


def survey(roots: Sequence[Path], voids: Iterable[Path] = (), job_dirs: Sequence[Path] = ()) -> Controls:
    """Return the control files of the roots.

    Args:
        roots: Canonical and writable. Names below the top of a root are found as far as a bounded search reaches.
        voids: Mount points that other live commands left: they are missing, though something is there.
        job_dirs: Canonical. One that lies below a root is masked as a whole; in one that is a root, the job files.

    Raises:
        ToolFailedError: A root's `.git` or `.kova` is a symbolic link, which no mount can hold in place.
    """
    found = _Survey(frozenset(voids))
    inside = tuple(path for path in job_dirs if any(path.is_relative_to(root) for root in roots))
    for root in roots:
        found.root(root)
    for path in inside:
        found.jobs(path, roots)
    return replace(found.controls(tuple(roots)), job_dirs=inside)


def set_aside(controls: Controls) -> tuple[str, ...]:
    """Rename the control files that a command added and return their former paths. Calling twice is safe."""
    added = [path for root in controls.roots for path in _at_top(root) if path not in controls.present]
    added += [path for path in controls.absent if _mode(path) is not None]
    added += [path for here in controls.job_dirs for path in _job_files(here) if path not in controls.present]
    return tuple(str(path) for path in added if path not in controls.voids and _rename(path))


def _rename(path: Path) -> bool:
    """Give a name that no program heeds to what lies at `path`, following no link; say whether it was possible."""
    try:
        parent = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        with os.scandir(parent) as entries:
            taken = {entry.name for entry in entries}
        names = (f"{path.name}{SET_ASIDE}{number or ''}" for number in range(len(taken) + 1))
        os.rename(path.name, next(name for name in names if name not in taken), src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        return False
    finally:
        os.close(parent)
    return True


def _job_files(here: Path) -> list[Path]:
    """Return what a service would read as job files, or as what they draw in."""
    return [here / name for name in _listed(here) if name.casefold().endswith(JOB_SUFFIX)]


def _at_top(root: Path) -> Iterator[Path]:
    """Yield the control paths right below a root."""
    for name in _listed(root):
        yield from _control_paths(root / name)


def _control_paths(path: Path) -> Iterator[Path]:
    """Yield `path` if its name is one of control, or what lies below it under such a name."""
    seconds = _PATTERNS.get(path.name.casefold(), frozenset())
    if "" in seconds:
        yield path
    elif seconds and _is_dir(path):
        yield from (path / name for name in _listed(path) if name.casefold() in seconds)


@dataclass(slots=True)
class _Survey:
    """Collect while walking."""

    others_voids: frozenset[Path]
    pins: list[Path] = field(default_factory=list)
    masks: list[Path] = field(default_factory=list)
    voids: list[Path] = field(default_factory=list)
    absent: list[Path] = field(default_factory=list)
    loose: list[Path] = field(default_factory=list)
    present: set[Path] = field(default_factory=set)
    entries: int = 0
    complete: bool = True

    def controls(self, roots: tuple[Path, ...]) -> Controls:
        """Return what was found, each path once."""
        pins, masks, voids, absent, loose = (
            tuple(dict.fromkeys(paths)) for paths in (self.pins, self.masks, self.voids, self.absent, self.loose)
        )
        return Controls(pins, masks, voids, roots, frozenset(self.present), absent, loose, self.complete)

    def root(self, root: Path) -> None:
        """Look at one writable root, and as deep below it as is affordable."""
        self.present |= set(_at_top(root))
        for name in _ESSENTIAL:
            if (root / name).is_symlink():
                message = f"{root / name} is a symbolic link: a command could replace it; make it a directory"
                raise ToolFailedError(message)
            if _mode(root / name) is None or root / name in self.others_voids:
                self.voids.append(root / name)
        if (common := git.linked_gitdir(root)) is not None:
            self.repository(common)
        todo = deque([(root, 0)])
        while todo:
            here, depth = todo.popleft()
            todo.extend((child, depth + 1) for child in self.directory(here) if depth < _MAX_DEPTH)

    def jobs(self, here: Path, roots: Sequence[Path]) -> None:
        """Hold the job files of a directory."""
        files = _job_files(here)
        self.present |= set(files)
        if here not in roots and _is_dir(here):
            self.masks.append(here)
            return
        for path in files:
            (self.loose if path.is_symlink() else self.masks).append(path)

    def directory(self, here: Path) -> list[Path]:
        """Hold the control files of one directory and return the directories to look at next."""
        try:
            with os.scandir(here) as entries:
                listed = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except OSError:  # gone, or closed to us
            self.complete = False
            return []
        self.entries += len(listed)
        if self.entries > _MAX_ENTRIES or len(self.masks) > _MAX_NESTED:
            self.complete = False
            return []
        for name, _ in listed:
            if name.casefold() in _PATTERNS:
                self.named(here / name)
        return [here / name for name, is_dir in listed if is_dir and name not in _NEVER_ENTERED and not _held(name)]

    def named(self, path: Path) -> None:
        """Hold what has a control name, or has such names right below it."""
        if path in self.voids:
            return
        if path.name.casefold() == ".git" and _is_dir(path):
            self.repository(path)
            return
        held = list(_control_paths(path))
        if held and held != [path]:
            self.pins.append(path)
        for control in held:
            (self.loose if control.is_symlink() else self.masks).append(control)

    def repository(self, gitdir: Path) -> None:
        """Hold in a repository's directory all that makes git run code."""
        parts = [gitdir / name for name in (*GIT_DIRS, "info")]
        files = git.control_files(gitdir)
        if any(path.is_symlink() for path in (*parts, *files)):
            self.masks.append(gitdir)  # a link inside could be replaced: nothing in there is writable then
            return
        self.pins.append(gitdir)
        for path in parts:
            missing = _mode(path) is None or path in self.others_voids
            (self.voids if missing else self.masks).append(path)
        self.files(files)
        for module in git.modules(gitdir):
            if git.is_gitdir(module):
                self.repository(module)
            else:
                self.pins.append(module)
        for tree in git.worktrees(gitdir):
            self.pins.append(tree)
            self.files(git.control_files(tree) if tree.name != "worktrees" else ())

    def files(self, files: Iterable[Path]) -> None:
        """Hold files that git reads: those that exist by a mount, the others by looking again afterwards."""
        for path in files:
            (self.absent if _mode(path) is None else self.masks).append(path)


def _held(name: str) -> bool:
    """Say whether a name is one of control as a whole, so that nothing below it needs a look."""
    return "" in _PATTERNS.get(name.casefold(), frozenset())


def _listed(path: Path) -> list[str]:
    try:
        return sorted(child.name for child in path.iterdir())
    except OSError:
        return []


def _mode(path: Path) -> int | None:
    try:
        return path.lstat().st_mode
    except OSError:
        return None


def _is_dir(path: Path) -> bool:
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)
