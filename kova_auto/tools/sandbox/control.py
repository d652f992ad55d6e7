"""Finds the control files of a writable root, so that a command can neither change nor add one.

Existing ones are to be mounted read-only (`masks`); a directory that git or we would act upon is mounted empty where it
is missing (`voids`); what must stay writable but must not be renamed away is mounted on itself (`pins`). Any other
missing name has no mount, since a mount point would be a file in the user's tree that git offers to commit: what a
command adds under such a name is renamed afterwards (`added.set_aside`).

Names are looked for at any depth, as far as `search` goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kova_auto.core.approval.floor import GIT_DIRS
from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.sandbox import git
from kova_auto.tools.sandbox.search import Search, control_paths, is_directory, job_files, mode_of, number_of

SET_ASIDE = ".refused"
"""Ends the name of what a command was not allowed to add."""

_MAX_MASKS = 200
_ESSENTIAL = (".git", ".kova")


@dataclass(frozen=True, slots=True)
class Controls:
    """Say how the control files of some roots are held.

    Attributes:
        pins: Directories mounted on themselves: writable, but not to be renamed away.
        masks: Mounted read-only.
        voids: Missing directories, mounted empty and read-only; the mount point stays behind.
        roots: The roots that were looked at.
        present: Control files that were there before, each with the number of the directory that held it: a command
            that moves the directory away, and makes another, has added what is in that one.
        absent: Files of git that must not appear.
        loose: Symbolic links, which a mount would follow: they can be replaced.
        complete: Whether all nested ones were found, and each could be held.
        job_dirs: Directories of job files inside a root.
    """

    pins: tuple[Path, ...] = ()
    masks: tuple[Path, ...] = ()
    voids: tuple[Path, ...] = ()
    roots: tuple[Path, ...] = ()
    present: Mapping[Path, int] = field(default_factory=dict)
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


def survey(
    roots: Sequence[Path], voids: Iterable[Path] = (), job_dirs: Sequence[Path] = (), known: Iterable[Path] = ()
) -> Controls:
    """Return the control files of the roots.

    Args:
        roots: Canonical and writable. Names below the top of a root are found as far as a bounded search reaches.
        voids: Mount points that other live commands left: they are missing, though something is there.
        job_dirs: Canonical. One that lies below a root is masked as a whole; in one that is a root, the job files.
        known: Control files that an earlier search found: a command that fills the workspace does not hide them.

    Raises:
        ToolFailedError: A root's `.git` or `.kova` is a symbolic link, which no mount can hold in place.
    """
    found = _Survey(frozenset(voids))
    inside = tuple(path for path in job_dirs if any(path.is_relative_to(root) for root in roots))
    for root in roots:
        found.root(root, [path for path in known if path.is_relative_to(root) and _is_still_there(path, root)])
    for path in inside:
        found.jobs(path, roots)
    return replace(found.controls(tuple(roots)), job_dirs=inside)


def _is_still_there(path: Path, root: Path) -> bool:
    """Say whether a path below a root exists, and no link took the place of a directory above it."""
    between = (above for above in path.parents if above != root and above.is_relative_to(root))
    return mode_of(path) is not None and all(map(is_directory, between))


@dataclass(slots=True)
class _Survey:
    """Collect while walking."""

    others_voids: frozenset[Path]
    pins: list[Path] = field(default_factory=list)
    masks: list[Path] = field(default_factory=list)
    voids: list[Path] = field(default_factory=list)
    absent: list[Path] = field(default_factory=list)
    loose: list[Path] = field(default_factory=list)
    present: dict[Path, int] = field(default_factory=dict)
    complete: bool = True

    def controls(self, roots: tuple[Path, ...]) -> Controls:
        """Return what was found, each path once."""
        pins, masks, voids, absent, loose = (
            tuple(dict.fromkeys(paths)) for paths in (self.pins, self.masks, self.voids, self.absent, self.loose)
        )
        return Controls(pins, masks, voids, roots, self.present, absent, loose, self.complete)

    def root(self, root: Path, known: Sequence[Path]) -> None:
        """Look at one writable root, and as deep below it as is affordable."""
        for name in _ESSENTIAL:
            if (root / name).is_symlink():
                message = f"{root / name} is a symbolic link: a command could replace it; make it a directory"
                raise ToolFailedError(message)
            if mode_of(root / name) is None or root / name in self.others_voids:
                self.voids.append(root / name)
        if (common := git.linked_gitdir(root)) is not None:
            self.repository(common)
        search = Search()
        for path in dict.fromkeys((*search.named(root), *known)):
            self.named(path)
        self.complete = self.complete and search.complete

    def jobs(self, here: Path, roots: Sequence[Path]) -> None:
        """Hold the job files of a directory."""
        files = job_files(here)
        self.present |= {path: number_of(here) for path in files}
        if here not in roots and is_directory(here):
            self.masks.append(here)
            return
        for path in files:
            (self.loose if path.is_symlink() else self.masks).append(path)

    def named(self, path: Path) -> None:
        """Hold what has a control name, or has such names right below it."""
        held = list(control_paths(path))
        self.present |= {control: number_of(control.parent) for control in held}
        if path in self.voids:
            return
        if len(self.masks) > _MAX_MASKS:
            self.complete = False
            return
        if path.name.casefold() == ".git" and is_directory(path):
            self.repository(path)
            return
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
            missing = mode_of(path) is None or path in self.others_voids
            (self.voids if missing else self.masks).append(path)
        self.files(files)
        for module in git.modules(gitdir):
            self.present[module] = number_of(module.parent)
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
            (self.absent if mode_of(path) is None else self.masks).append(path)
