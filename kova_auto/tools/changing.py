"""What `write` and `edit` share: announce a change with both contents, carry it out, and say after a crash what is."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from kova_auto.core.consent import Target as Overwritten
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.ids import BlobHash, blob_hash
from kova_auto.core.message import FileChange, ResultStatus, TextPart, ToolResult, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import Scene, ToolOutput, ToolRun, WriteAnnounced
from kova_auto.tools.files import Content, existing, remove_leftovers, replace_file
from kova_auto.tools.roots import Ground, Roots, Target


@dataclass(frozen=True, slots=True)
class Change:
    """Hold what is to become of one file; `before` is None where it is to be made."""

    target: Target
    before: Content | None
    after: bytes

    @property
    def planned(self) -> FileChange:
        """Return the change as it is journaled."""
        before = self.before
        return FileChange(
            path=self.target.path,
            before=before.hash if before else None,
            after=blob_hash(self.after),
            mode=before.mode if before else None,
        )


def overwritten(roots: Roots, target: Target) -> tuple[Overwritten, ...]:
    """Return what lies where a change would be made.

    Raises:
        ToolFailedError: It is nothing that a tool may change.
    """
    found = existing(roots, target)
    return (Overwritten(path=target.path, content=found.hash if found else None),)


def known_to_model(target: Target, found: Content, scene: Scene) -> None:
    """Let only that be changed which the model has seen as it is now.

    Raises:
        ToolFailedError: It has not read the file, or the file has changed since.
    """
    seen = scene.seen.get(target.path)
    if seen is None:
        message = f"{target.shown} exists and was not read in this run; read it first"
        raise ToolFailedError(message)
    if seen != found.hash:
        message = f"{target.shown} has changed since it was read; read it again"
        raise ToolFailedError(message)


async def carry_out(roots: Roots, change: Change, scene: Scene, *, said: str) -> ToolRun:
    """Announce a change and, once that is written down, make it; `said` is what the model is told."""
    planned, before = change.planned, change.before
    yield WriteAnnounced(planned, blobs=((before.data,) if before else ()) + (change.after,))
    await asyncio.to_thread(replace_file, roots, change.target, change.after, before=planned.before, tag=tag_of(scene))
    yield ToolOutput(ToolResult(status=ResultStatus.OK, parts=(TextPart(text=said),), changes=(planned,)))


def tag_of(scene: Scene) -> str:
    """Return what marks the temporary files of a call."""
    return f"{scene.run_id} {scene.call_id}"


async def recovered(roots: Roots, call: CallState, scene: Scene) -> ToolResult:
    """Say of a cut-off write what the file holds now, and remove what was left beside it."""
    if not call.planned:
        return told(ResultStatus.ERROR, "This call was interrupted before it wrote anything; nothing was changed.")
    change = call.planned[-1].change
    try:
        now = await asyncio.to_thread(_present, roots, change, scene)
    except ToolFailedError as exc:
        return told(ResultStatus.UNKNOWN, f"This call was interrupted; whether it wrote cannot be told: {exc}")
    if now == change.after:
        said = f"This call was interrupted, but {change.path} holds what it was to write."
        return ToolResult(status=ResultStatus.OK, parts=(TextPart(text=said),), changes=(change,))
    if now == change.before:
        said = f"This call was interrupted before it wrote; {change.path} is as it was."
        return told(ResultStatus.ERROR, said)
    said = f"This call was interrupted, and {change.path} holds neither the old nor the new content: read it."
    return told(ResultStatus.UNKNOWN, said)


def _present(roots: Roots, change: FileChange, scene: Scene) -> BlobHash | None:
    """Return the hash of what the file holds now, None where there is none."""
    target = roots.locate(change.path, Ground.of_scene(scene), writes=True, keeps=True)
    remove_leftovers(roots, target, tag_of(scene))
    found = existing(roots, target)
    return found.hash if found else None
