"""Finds out where a path lies for a run, and holds the run's roots open.

A path's zone is read from its text, and the boundary makes the text true: what is written may pass through no link,
what is read through none that leads out of the root. So what was judged is what is opened, however long ago that was.
"""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from threading import Lock

from kova_auto.core.approval.floor import Control, Places, control_of, lies_in
from kova_auto.core.context import plan
from kova_auto.core.context.memory import BENEATH, is_kept
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import RunId
from kova_auto.core.policy import policy_of_run
from kova_auto.core.run import RunState
from kova_auto.core.tool import PathFact, Scene, Zone
from kova_auto.tools.boundary import PATH_ONLY, Resolver, Root, best_resolver, is_missing, open_root, real_path
from kova_auto.tools.paths import parse_path
from kova_auto.tools.words import in_words, plainly

_HELD = {Control.REFUSED: Zone.CONTROL, Control.ASKED: Zone.GUARDED}
_KNOWN_ROOTS = 256
NO_FILES = ("dev", "proc", "sys")  # the kernel's own trees; in /proc lies our own environment


@dataclass(frozen=True, slots=True)
class Ground:
    """Hold the directories that a run may use; absolute and canonical.

    Attributes:
        job_dir: Where its own job file is.
    """

    run_id: RunId
    workspace: str
    write_roots: tuple[str, ...] = ()
    read_roots: tuple[str, ...] = ()
    job_dir: str = ""

    @classmethod
    def of_scene(cls, scene: Scene) -> Ground:
        """Return the ground of a call."""
        folder = _folder(scene.job.path)
        return cls(scene.run_id, scene.workspace, scene.write_roots, scene.read_roots, folder)

    @classmethod
    def of_run(cls, state: RunState) -> Ground:
        """Return the ground of a whole run."""
        policy, folder = policy_of_run(state), _folder(state.job.path)
        return cls(state.run_id, state.request.workspace, policy.write_roots, policy.read_roots, folder)


@dataclass(frozen=True, slots=True)
class Target:
    """Hold a path that a call names: a root, and what is to be opened beneath it.

    Attributes:
        directory: The text ended with a slash.
        shown: How the model may name it: relative to the workspace, or absolute.
        kept: It belongs to a memory, and is located for what keeps that: to all others it is a control file.
    """

    root: Root
    parts: tuple[str, ...]
    zone: Zone
    writes: bool
    directory: bool
    shown: str
    kept: bool = False

    @property
    def path(self) -> str:
        """Return the absolute path, canonical unless a link is in the way."""
        return _joined(self.root.path, self.parts)

    @property
    def name(self) -> str:
        """Return the last component; empty for the root itself."""
        return self.parts[-1] if self.parts else ""

    def open(self, flags: int) -> int:
        """Open it; only what is read may be reached through a link. The caller closes it.

        Raises:
            OSError: See `boundary.Resolver`.
        """
        return self.root.open(self.parts, flags, follow=not self.writes)


@dataclass(frozen=True, slots=True)
class _Held:
    """Hold the floor's places for one root."""

    secret: Places
    control: Places


class Roots:
    """Locate paths; safe to use from several threads."""

    def __init__(
        self,
        *,
        secret: Sequence[PurePath],
        control: Sequence[PurePath] = (),
        job_dirs: Sequence[PurePath] = (),
        memory: PurePath | None = None,
        resolve: Resolver | None = None,
    ) -> None:
        """Take the floor's places.

        Args:
            secret: Canonical places that no tool may read or write.
            control: Canonical places that no tool may write, besides the names that the floor knows anywhere.
            job_dirs: Canonical directories whose job files no tool may write, besides that of the run's own job.
            memory: Canonical directory of the global memory; None where there is none.
            resolve: How paths are opened; None takes the best that works here.
        """
        self._secret, self._control, self._job_dirs = tuple(secret), tuple(control), tuple(job_dirs)
        self._memory, self._resolve = memory, resolve or best_resolver()
        self._beneath: dict[str, _Held] = {}
        self._pinned: dict[tuple[RunId, str], Root] = {}
        self._slash = open_root("/", self._resolve)
        self._lock = Lock()

    def locate(self, text: str, ground: Ground, *, writes: bool, keeps: bool = False) -> Target:
        """Return what a path's text means in a run.

        Args:
            text: As the model wrote it, or as the journal has it.
            ground: Of the run.
            writes: Whether it is to be written.
            keeps: Whether that is done by what keeps a memory, or takes back what that wrote.

        Raises:
            ToolError: The text can mean no file, or a root is not there any more.
        """
        named = parse_path(text)
        root, parts, zone = self._strip(named.parts, ground) if named.absolute else self._inside(named.parts, ground)
        for crossed in named.crossed:
            with plainly("/".join(crossed)):
                os.close(root.open(crossed, PATH_ONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        if root is self._slash and parts[:1] and parts[0] in NO_FILES:
            message = f"{text} lies in /{parts[0]}, where the kernel keeps no ordinary files"
            raise ToolFailedError(message)
        path = _joined(root.path, parts)
        shown = "/".join(parts) or "." if zone is Zone.INSIDE else path
        kept = (self._layer(PurePath(path), ground) or _plan(PurePath(path), ground)) if keeps else None
        zone = self._floor(root, parts, ground, writes=writes, kept=kept is not None) or kept or zone
        return Target(root, parts, zone, writes, named.directory, shown, kept is not None)

    def lacks(self, names: Iterable[str], ground: Ground) -> bool:
        """Say whether the workspace of a run is there and nothing of these names lies directly in it; quickly.

        What cannot be looked at may be there.
        """
        root = self._pin(ground.run_id, ground.workspace)
        return root is not None and all(is_missing(name, root.fd) for name in names)

    def fact(self, target: Target) -> PathFact:
        """Return where the target really lies, for adjudication.

        Raises:
            ToolFailedError: A link is in the way; the message names the real path.
        """
        with self.plainly(target):
            try:
                fd = target.open(PATH_ONLY | os.O_CLOEXEC)
            except (FileNotFoundError, PermissionError):
                return PathFact(target.path, target.zone, target.writes)
        try:
            path = self.canonical(target, fd)
        finally:
            os.close(fd)
        return PathFact(path, self._zone_of(target, path), target.writes)

    def canonical(self, target: Target, fd: int) -> str:
        """Return the canonical path of what was opened, named under its root."""
        opened, root = real_path(fd), real_path(target.root.fd)
        if opened is None or root is None:
            return target.path
        if opened == root:
            return target.root.path
        above = root.rstrip("/") + "/"
        if not opened.startswith(above):  # renamed away since it was opened
            return target.path
        return _joined(target.root.path, (opened[len(above) :],))

    def guard(self, target: Target, fd: int) -> str:
        """Return the canonical path of what was opened, unless the floor forbids it.

        Raises:
            ToolFailedError: It is held by the floor; adjudication should have stopped the call.
        """
        path = self.canonical(target, fd)
        self._refuse_held(target, path)
        return path

    def guard_write(self, target: Target) -> None:
        """Let only that be written which the floor does not hold.

        Raises:
            ToolFailedError: It is held by the floor; adjudication should have stopped the call.
        """
        self._refuse_held(target, target.path)

    def hides(self, path: str, root: Root) -> bool:
        """Say whether a canonical path beneath a root is secret."""
        return self._held(root).secret.hold(PurePath(path))

    def secrets(self, root: Root) -> tuple[PurePath, ...]:
        """Return the secret places that hold beneath a root."""
        return self._held(root).secret.paths

    def _held(self, root: Root) -> _Held:
        """Return the floor's places that hold beneath a root: most runs work in the same few."""
        if (held := self._beneath.get(root.path)) is None:
            if len(self._beneath) >= _KNOWN_ROOTS:
                self._beneath.clear()
            held = self._beneath[root.path] = _Held(_holding(self._secret, root), _holding(self._control, root))
        return held

    @contextmanager
    def plainly(self, target: Target) -> Iterator[None]:
        """Turn what the system says about a target into an error that the model can read."""
        try:
            yield
        except OSError as exc:
            raise self._refusal(target, exc) from exc

    def _refusal(self, target: Target, exc: OSError) -> ToolFailedError:
        if exc.errno in (errno.ELOOP, errno.EXDEV):
            real = _followed(target.path)
            where = f"; what it leads to is {real}: name that" if real != target.path else ""
            return ToolFailedError(f"{target.shown} passes through a symbolic link that is not followed{where}")
        return ToolFailedError(in_words(exc, target.shown))

    def release(self, run_id: RunId) -> None:
        """Close the roots of a run; calling twice is safe."""
        with self._lock:
            for key in [key for key in self._pinned if key[0] == run_id]:
                self._pinned.pop(key).close()

    async def settle(self, scene: Scene) -> None:
        """Close the roots of a run; calling twice is safe."""
        self.release(scene.run_id)

    def close(self) -> None:
        """Close everything."""
        for run_id, _ in list(self._pinned):
            self.release(run_id)
        self._slash.close()

    def _inside(self, parts: tuple[str, ...], ground: Ground) -> tuple[Root, tuple[str, ...], Zone]:
        root = self._pin(ground.run_id, ground.workspace)
        if root is None:
            message = f"the workspace {ground.workspace} is not there, or a symbolic link leads to it"
            raise ToolFailedError(message)
        return root, parts, Zone.INSIDE

    def _strip(self, parts: tuple[str, ...], ground: Ground) -> tuple[Root, tuple[str, ...], Zone]:
        """Return the root that an absolute path lies in, and the rest of the path."""
        granted = [(path, Zone.WRITE_ROOT) for path in ground.write_roots]
        granted += [(path, Zone.READ_ROOT) for path in ground.read_roots]
        for path, zone in [(ground.workspace, Zone.INSIDE), *granted]:
            prefix = tuple(part for part in path.split("/") if part)
            if parts[: len(prefix)] != prefix:
                continue
            if zone is Zone.INSIDE:
                return self._inside(parts[len(prefix) :], ground)
            root = self._pin(ground.run_id, path)
            if root is not None and root.is_still():
                return root, parts[len(prefix) :], zone
        return self._slash, parts, Zone.ELSEWHERE

    def _pin(self, run_id: RunId, path: str) -> Root | None:
        key = (run_id, path)
        with self._lock:
            if key not in self._pinned:
                try:
                    self._pinned[key] = open_root(path, self._resolve)
                except OSError:
                    return None
            return self._pinned[key]

    def _layer(self, path: PurePath, ground: Ground) -> Zone | None:
        """Return the zone of the memory that a path belongs to; None where it is of none.

        A workspace may be the user's home: then its memory is the global one.
        """
        layers = ((self._memory, Zone.ELSEWHERE), (PurePath(ground.workspace, *BENEATH), Zone.INSIDE))
        return next(
            (zone for top, zone in layers if top and path.is_relative_to(top) and is_kept(path.relative_to(top).parts)),
            None,
        )

    def _floor(self, root: Root, parts: tuple[str, ...], ground: Ground, *, writes: bool, kept: bool) -> Zone | None:
        path = PurePath(_joined(root.path, parts))
        if self._held(root).secret.hold(path):
            return Zone.SECRET
        if not writes:
            return None
        job_dirs = (*self._job_dirs, PurePath(ground.job_dir))
        if self._held(root).control.hold(path) or _is_job_file(path, job_dirs):
            return Zone.CONTROL
        held = None if kept else control_of(parts)
        return _HELD[held] if held else None

    def _zone_of(self, target: Target, path: str) -> Zone:
        return Zone.SECRET if self.hides(path, target.root) else target.zone

    def _refuse_held(self, target: Target, path: str) -> None:
        if self.hides(path, target.root):
            message = f"{target.shown} is a place of secrets, which no tool reads or writes"
            raise ToolFailedError(message)
        if not target.writes:
            return
        by_name = not target.kept and control_of(target.parts) is Control.REFUSED
        if by_name or target.zone is Zone.CONTROL or self._held(target.root).control.hold(PurePath(path)):
            message = f"{target.shown} is a control file, which no tool writes"
            raise ToolFailedError(message)


def _holding(places: Sequence[PurePath], root: Root) -> Places:
    """Return the places that hold beneath a root: all but those further up that it lies in, as a run's copy does."""
    path = PurePath(root.path)
    return Places(place for place in places if place == path or not lies_in(path, (place,)))


def _folder(path: str) -> str:
    return posixpath.dirname(path)


def _is_job_file(path: PurePath, job_dirs: Sequence[PurePath]) -> bool:
    return path.name.casefold().endswith(".toml") and any(path.parent == place for place in job_dirs)


def _followed(path: str) -> str:
    """Return what a path leads to just now, for people to read: nothing is opened by it."""
    try:
        return os.path.realpath(path)
    except OSError:  # it changed while it was followed
        return path


def _plan(path: PurePath, ground: Ground) -> Zone | None:
    """Return the zone of a plan's file; None of any other path."""
    top = PurePath(ground.workspace, *plan.BENEATH)
    return Zone.INSIDE if path.is_relative_to(top) and plan.is_plan(path.relative_to(top).parts) else None


def _joined(root: str, parts: Sequence[str]) -> str:
    return "/".join((root.rstrip("/"), *parts)) or "/"
