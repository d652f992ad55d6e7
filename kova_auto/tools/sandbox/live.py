"""Knows the confined commands that are alive in this service, and what each of them holds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.sandbox.added import set_aside
from kova_auto.tools.sandbox.control import Controls, survey


class Live:
    """Let commands in and out, from any thread; one per service."""

    def __init__(self) -> None:
        """Know of none."""
        self._held: list[Controls] = []
        self._known: dict[Path, frozenset[Path]] = {}
        self._lock = Lock()

    def enter(self, roots: Sequence[Path], *, mounts: bool, job_dirs: Sequence[Path] = ()) -> Controls:
        """Survey the roots of a command that is about to run, and count it as alive until it leaves.

        Args:
            roots: Canonical, writable, none inside another.
            mounts: Whether its control files will be mounted.
            job_dirs: See `survey`.

        Raises:
            ToolFailedError: A live command may write above or below one of the roots: either could exchange the
                other's root for a link; or the survey's own reasons.
        """
        with self._lock:
            for theirs in (root for held in self._held for root in held.roots):
                for ours in roots:
                    if ours != theirs and (ours.is_relative_to(theirs) or theirs.is_relative_to(ours)):
                        message = (
                            f"a command that may write {theirs} is running: wait for its end before writing {ours}"
                        )
                        raise ToolFailedError(message)
            known = [path for root in roots for path in self._known.get(root, ())]
            controls = survey(roots, self._voids(), job_dirs, known)
            self._remember(controls)
            controls = controls.beside(self._held)
            if not mounts:
                controls = controls.unmounted()
            self._held.append(controls)
        return controls

    def leave(self, controls: Controls) -> tuple[str, ...]:
        """Tidy up after a command that is gone, and return the former paths of the control files that it added.

        A mount point goes when no other command holds it: until then, it is their mask. The command may be one of a
        killed process, which never entered here.
        """
        with self._lock:
            if controls in self._held:
                self._held.remove(controls)
            for path in frozenset(controls.voids) - self._voids():
                with suppress(OSError):  # never made, or no longer empty: then it is somebody's
                    path.rmdir()
        return set_aside(controls)

    def _remember(self, controls: Controls) -> None:
        """Keep what was found, so that a later search that is cut short finds it all the same."""
        for root in controls.roots:
            here = (path for path in (*controls.masks, *controls.pins) if path.is_relative_to(root))
            self._known[root] = frozenset(path for path in here if ".git" not in path.relative_to(root).parts[:-1])

    def _voids(self) -> frozenset[Path]:
        return frozenset(path for controls in self._held for path in controls.voids)
