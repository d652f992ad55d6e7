"""Workspaces of runs' own, for runs whose writes must not touch the real one: made, compared, applied, removed.

A staged run's copy goes with the run. Any other is kept for as long as it differs from what it was made of, until a
person applies or discards it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from kova_auto.core.context.memory import is_note
from kova_auto.core.delivery.document import count
from kova_auto.core.errors import ConfigError, KovaError, ToolFailedError
from kova_auto.core.ids import RunId
from kova_auto.core.job import Job
from kova_auto.core.run import RunState
from kova_auto.tools.git import repository_of
from kova_auto.tools.isolation.applying import Held, Plan, apply, plan
from kova_auto.tools.isolation.copying import copy_notes, copy_workspace
from kova_auto.tools.isolation.place import Branch, Origin, Place, gone, read_origin
from kova_auto.tools.isolation.showing import show
from kova_auto.tools.isolation.tree import Change, differences, read_tree
from kova_auto.tools.isolation.worktree import Worktrees, is_being_made

LOG = logging.getLogger(__name__)
WORKTREE = "worktree"
_TRIES, _AGAIN_S = 600, 0.1
Known = Callable[[RunId], Awaitable[RunState | None]]


@dataclass(frozen=True, slots=True)
class Copies:
    """Make and remove what runs work in, below one directory.

    Attributes:
        base: Canonical.
        house: Data directory of the service: others may keep theirs below the same directory.
        held: What is not brought into a real workspace.
    """

    base: Path
    house: str = ""
    held: Held = field(default_factory=Held)
    worktrees: Worktrees = field(default_factory=lambda: Worktrees(shutil.which("git")))

    def place(self, run: RunId) -> Path:
        """Return the directory that holds a run's copy."""
        return self.base / "copies" / hashlib.sha256(run.encode()).hexdigest()[:20]

    def target(self, run: RunId, workspace: Path) -> Path:
        """Return where a run's copy of a workspace will be."""
        return self.place(run) / workspace.name

    def workspace(self, run: RunId, job: Job) -> Path:
        """Return where a run of a job is to work, as its isolation says; nothing is made yet."""
        workspace = Path(job.workspace)
        if job.isolation == WORKTREE:
            top = repository_of(workspace) or workspace
            return self.target(run, top) / workspace.relative_to(top)
        return self.target(run, workspace) if job.isolation == "copy" else workspace

    def _of(self, state: RunState) -> Place:
        root, workspace = self.place(state.run_id), Path(state.request.workspace)
        below = workspace.relative_to(root).parts[:1] if workspace.is_relative_to(root) else ()
        return Place(root, root.joinpath(*below) if below else root / "elsewhere")

    async def prepare(self, state: RunState) -> tuple[str, ...]:
        """Make what a run works in, if that is its own, and return what the run is to know of it.

        What was cut off half-way is made anew; an attempt that the policy began goes on in what the one before left.
        Where this is cancelled, copying has stopped when it returns.

        Raises:
            ConfigError: It cannot be made.
        """
        if not is_apart(state):
            return ()
        place, workspace = self._of(state), Path(state.job.workspace)
        if state.retries and place.is_whole:
            origin = await asyncio.to_thread(place.origin)
            return (_notice(workspace, origin.branch),) if origin and origin.branch else ()
        await self._remove(place)
        kind: str = WORKTREE if state.job.isolation == WORKTREE and not state.request.staged else "copy"
        branch = await self.worktrees.begin(state.run_id, workspace) if kind == WORKTREE else None
        origin = Origin.model_validate(
            {"run_id": state.run_id, "house": self.house, "workspace": str(workspace), "kind": kind, "branch": branch}
        )
        try:
            await asyncio.to_thread(place.begin, origin)
        except OSError as exc:
            message = f"there is no room for a workspace of the run's own: {exc}"
            raise ConfigError(message, path=str(place.root), key="isolation") from exc
        if branch:
            await self.worktrees.make(branch, workspace, place.tree)
            await asyncio.to_thread(copy_notes, workspace, Path(state.request.workspace))
            await _sealed(place, Path(state.request.workspace))
            return (_notice(workspace, branch),)
        await _copied(workspace, place)
        return ()

    async def tidy(self, state: RunState) -> str:
        """Remove what a run worked in, if that is its own and has nothing to be seen; say what is kept.

        Safe to call twice.
        """
        if not is_apart(state):
            return ""
        place = self._of(state)
        if state.request.staged or not place.is_whole:
            await self._remove(place)
            return ""
        try:
            kept = await self._kept(place, state)
        except KovaError as exc:
            return f"a workspace of its own that could not be compared: {exc}"
        if not kept:
            await self._remove(place)
        return kept

    async def _kept(self, place: Place, state: RunState) -> str:
        origin = place.origin()
        files = len(await self._changes(place, state))
        branch = origin.branch if origin else None
        commits = await self.worktrees.commits(branch, place.tree) if branch else 0
        if not files and commits == 0:
            return ""
        changed = count(files, "changed file")
        if branch is None:
            return f"a copy with {changed}"
        said = "commits that git could not count" if commits is None else count(commits, "commit")
        return f"branch {branch.name} with {said} and {changed}"

    async def _changes(self, place: Place, state: RunState) -> list[Change]:
        """Return what a run changed in its own workspace; in a worktree without what git ignores, save notes.

        Raises:
            ToolFailedError: It is not there, or something in it cannot be read.
        """
        if not place.is_whole:
            raise gone(state.run_id)
        workspace = Path(state.request.workspace)
        found = await asyncio.to_thread(lambda: list(differences(place.first(), read_tree(workspace))))
        origin = place.origin()
        branch = origin.branch if origin else None
        seen = await self.worktrees.seen(branch, place.tree, workspace) if branch else None
        return [
            change for change in found if seen is None or change.before or is_note(change.parts) or change.path in seen
        ]

    def has(self, state: RunState) -> bool:
        """Say whether what a run works in, or worked in, is its own and still there."""
        return is_apart(state) and not state.settled and self._of(state).is_whole

    async def diff(self, state: RunState) -> str:
        """Return everything that a run changed in its own workspace, so far, as a diff.

        Raises:
            ToolFailedError: It is not there, or something in it cannot be read.
        """
        place = self._of(state)
        changes = await self._changes(place, state)
        return await asyncio.to_thread(show, changes, place, Path(state.request.workspace))

    async def plan(self, state: RunState, *, control: bool) -> Plan:
        """Return what bringing a run's changes into the real workspace would do; writes nothing.

        Raises:
            ToolFailedError: Its own workspace is not there, or something cannot be read.
        """
        changes = await self._changes(self._of(state), state)
        held = Held(self.held.secret, (*self.held.job_dirs, Path(state.job.path).parent))
        return await asyncio.to_thread(plan, changes, Path(state.job.workspace), held, control=control)

    async def apply(self, state: RunState, planned: Plan) -> None:
        """Do what was planned.

        Raises:
            ToolFailedError: A file cannot be written, or was changed just now; doing it again finishes it.
        """
        real, own = Path(state.job.workspace), Path(state.request.workspace)
        await asyncio.to_thread(apply, planned.todo, own, real, f"apply {state.run_id}")

    async def settle(self, state: RunState) -> str:
        """Remove what a run's settled changes lay in; say which branch stays, empty where none does."""
        place, discarded = self._of(state), state.settled is not None and state.settled.how == "discarded"
        return await self._remove(place, with_commits=discarded)

    async def _remove(self, place: Place, *, with_commits: bool = False) -> str:
        """Remove a place, and what a repository knows of it; say which branch stays because of its commits."""
        origin, stays = await asyncio.to_thread(place.origin), ""
        await _nobody_makes(place.root)
        if origin and (branch := origin.branch):
            commits = await self.worktrees.commits(branch, place.tree)
            await self.worktrees.remove(branch, place.tree, with_commits=with_commits)
            stays = branch.name if commits and not with_commits else ""
        await asyncio.to_thread(place.remove)
        return stays

    async def sweep(self, known: Known) -> None:
        """Remove what is left of runs of this house that are not on record, or have nothing more to be seen."""
        for root, origin in await asyncio.to_thread(lambda: list(self._left())):
            try:
                state = await known(origin.run_id)
                if state is None:
                    LOG.info("what run %s worked in is removed: the run is not on record", origin.run_id)
                    await self._remove(Place(root, _tree(root, origin)))
                elif state.settled:
                    await self.settle(state)
                elif state.finished and not state.finished.kept:
                    await self.tidy(state)
            except KovaError as exc:
                LOG.warning("what run %s worked in is left: %s", origin.run_id, exc)

    def _left(self) -> Iterator[tuple[Path, Origin]]:
        for root in sorted((self.base / "copies").glob("*")):
            origin = read_origin(root)
            if origin and origin.house == self.house and root == self.place(origin.run_id):
                yield root, origin


def is_apart(state: RunState) -> bool:
    """Say whether a run works in a workspace of its own; a child works in its parent's, whatever that is."""
    return state.request.workspace != state.job.workspace and state.request.child_of is None


def _tree(root: Path, origin: Origin) -> Path:
    """Return where the tree of a place lies, from what it was made of alone."""
    workspace = Path(origin.workspace)
    top = repository_of(workspace) if origin.kind == WORKTREE else None
    return root / (top or workspace).name


def _notice(workspace: Path, branch: Branch) -> str:
    return (
        f"You work in a git worktree of your own, on the branch {branch.name}, which begins at commit "
        f"{branch.base[:12]} of {workspace}. What was not committed there is not here. "
        "A person looks at your changes and applies them; you may commit on this branch, and need not."
    )


async def _nobody_makes(root: Path) -> None:
    """Wait for the end of a git that a killed process has left at work."""
    for _ in range(_TRIES):
        if not is_being_made(root):
            return
        await asyncio.sleep(_AGAIN_S)
    message = "git is still at work here, for a process that is gone"
    raise ConfigError(message, path=str(root), key="isolation", hint="end it")


async def _copied(workspace: Path, place: Place) -> None:
    halt = Event()

    def copy() -> None:
        copy_workspace(workspace, place.tree, halt)
        if not halt.is_set():
            place.seal(place.tree)

    await _whole(copy, halt, workspace)


async def _sealed(place: Place, workspace: Path) -> None:
    await _whole(lambda: place.seal(workspace), Event(), workspace)


async def _whole(work: Callable[[], None], halt: Event, workspace: Path) -> None:
    """Do a thread's work; where this is cancelled, it has stopped when this returns."""
    making = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(making)
    except asyncio.CancelledError:
        halt.set()
        await asyncio.wait({making})
        raise
    except ToolFailedError as exc:
        message = f"what the run begins with could not be read: {exc}"
        raise ConfigError(message, path=str(workspace), key="isolation") from exc
