"""Shows what a run wrote, and takes it back: from the hashes in its journal and the contents that were kept.

A write of which nobody knows whether it happened (its call was cut off) is told apart by what the file holds now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kova_auto.core.errors import JournalError, ToolFailedError
from kova_auto.core.ids import BlobHash
from kova_auto.core.message import FileChange
from kova_auto.core.run import CallState, RunState
from kova_auto.tools.difference import difference
from kova_auto.tools.files import existing, remove_file, replace_file
from kova_auto.tools.roots import Ground, Roots, Target

BlobReader = Callable[[BlobHash], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Written:
    """Hold one change of a file; where it is not `certain`, it may not have happened."""

    change: FileChange
    certain: bool


@dataclass(frozen=True, slots=True)
class Refused:
    """Say which file cannot be restored, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Undone:
    """Hold what became of taking a run's writes back; where a file is refused beforehand, none is touched."""

    restored: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()


Others = Sequence[RunState]
"""The subagents of a run, and theirs."""


def written(state: RunState, others: Others = ()) -> tuple[Written, ...]:
    """Return what the calls of a run and its subagents wrote, oldest first, whichever attempt they were of."""
    if not others:
        return tuple(_by_call(state.calls.values()))
    calls = [call for one in (state, *others) for call in one.calls.values() if call.started]
    return tuple(_by_call(sorted(calls, key=lambda call: call.started.at if call.started else state.request.at)))


def _by_call(calls: Iterable[CallState]) -> Iterator[Written]:
    for call in calls:
        if call.result and call.result.changes:
            yield from (Written(change, certain=True) for change in call.result.changes)
        else:
            yield from (Written(plan.change, certain=False) for plan in call.planned)


def by_path(state: RunState, others: Others = ()) -> dict[str, list[Written]]:
    """Return what was written, by the files' absolute paths, in the order in which they were first written."""
    found: dict[str, list[Written]] = {}
    for one in written(state, others):
        found.setdefault(one.change.path, []).append(one)
    return found


async def run_diff(state: RunState, blob: BlobReader, others: Others = ()) -> str:
    """Return a unified diff of everything that a run and its subagents wrote; empty where that is nothing.

    Several writes of one file are shown as one, unless somebody else changed the file in between.
    """
    shown: list[str] = []
    for path, changes in by_path(state, others).items():
        name = path.removeprefix(state.request.workspace.rstrip("/") + "/")
        for before, after in _stretches([one.change for one in changes if one.certain]):
            try:
                contents = [await blob(key) if key else None for key in (before, after)]
            except JournalError:
                shown.append(f"# {name}: its content was not kept\n")
                continue
            shown.append(await asyncio.to_thread(difference, name, *contents))
        if not all(one.certain for one in changes):
            shown.append(f"# {name}: a write was cut off and may not have happened\n")
    return "".join(shown)


def _stretches(changes: list[FileChange]) -> Iterator[tuple[BlobHash | None, BlobHash | None]]:
    """Yield the hashes before and after each row of changes that follow each other."""
    at = 0
    while at < len(changes):
        end = at
        while end + 1 < len(changes) and changes[end + 1].before == changes[end].after:
            end += 1
        if changes[at].before != changes[end].after:
            yield changes[at].before, changes[end].after
        at = end + 1


@dataclass(frozen=True, slots=True)
class _Step:
    """Hold what is to be done to one file: `wanted` None removes it."""

    target: Target
    now: BlobHash | None
    wanted: BlobHash | None
    mode: int | None


async def undo(roots: Roots, state: RunState, blob: BlobReader, others: Others = ()) -> Undone:
    """Restore every file that a run and its subagents wrote, or none where one has changed since; safe to call twice.

    Files that the run made are removed; directories stay.
    """
    try:
        return await _undo(roots, state, blob, others)
    finally:
        roots.release(state.run_id)


async def _undo(roots: Roots, state: RunState, blob: BlobReader, others: Others) -> Undone:
    ground = Ground.of_run(state)
    todo: list[tuple[_Step, bytes | None]] = []
    refused: list[Refused] = []
    for path, changes in by_path(state, others).items():
        try:
            step = await asyncio.to_thread(_planned, roots, ground, path, changes)
            if step.now != step.wanted:
                todo.append((step, await blob(step.wanted) if step.wanted else None))
        except ToolFailedError as exc:
            refused.append(Refused(path, str(exc)))
        except JournalError:
            refused.append(Refused(path, f"what {path} held before was not kept"))
    if refused:
        return Undone(refused=tuple(refused))
    return await asyncio.to_thread(_restored, roots, state, todo)


def _planned(roots: Roots, ground: Ground, path: str, changes: list[Written]) -> _Step:
    """Go back through a file's changes from what it holds now.

    Raises:
        ToolFailedError: It holds something else than the run left there.
    """
    target = roots.locate(path, ground, writes=True, keeps=True)
    found = existing(roots, target)
    now = found.hash if found else None
    first = changes[0].change
    if now == first.before:  # undone already, or never done
        return _Step(target, now, now, first.mode)
    at = now
    for one in reversed(changes):
        if at == one.change.after:
            at = one.change.before
        elif one.certain or at != one.change.before:
            message = f"{path} has changed since the run wrote it"
            raise ToolFailedError(message)
    return _Step(target, now, at, first.mode)


def _restored(roots: Roots, state: RunState, todo: list[tuple[_Step, bytes | None]]) -> Undone:
    restored: list[str] = []
    refused: list[Refused] = []
    for step, data in todo:
        path = step.target.path
        try:
            if data is not None:
                tag = f"undo {state.run_id}"
                replace_file(roots, step.target, data, before=step.now, tag=tag, mode=step.mode)
            elif step.now is not None:
                remove_file(roots, step.target, before=step.now)
            restored.append(path)
        except ToolFailedError as exc:
            refused.append(Refused(path, str(exc)))
    return Undone(tuple(restored), tuple(refused))
