"""Check what a job file attaches to its prompt, as far as it can be known before a run: it is read when one begins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from kova_auto.core.approval.levels import AutomationLevel
from kova_auto.core.context.attachments import EXTRA, WANTED, Attached, kind_of, too_large, too_many
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Permissions
from kova_auto.core.toml.places import Key
from kova_auto.scheduling.draft import Draft
from kova_auto.settings.text import absolute

_KEY: Key = ("context", "attachments")


def read_attachments(draft: Draft, workspace: Path, permissions: Permissions) -> tuple[str, ...]:
    """Return the files, absolute and canonical, and note what is wrong with them; relative ones begin at the job file.

    Args:
        draft: The job file.
        workspace: Canonical.
        permissions: With roots that are canonical.
    """
    found: list[Path] = []
    for index, written in enumerate(draft.file.context.attachments):
        try:
            found.append(absolute(written, draft.path.parent))
        except ConfigError as exc:
            draft.problems.pass_on((*_KEY, index), exc)
    if len(found) < len(draft.file.context.attachments):
        return ()
    for index, path in enumerate(found):
        for message, hint in _problems(path, _near(draft, workspace, permissions)):
            draft.problems.add((*_KEY, index), message, hint)
    if problem := too_many(kind for path in found if (kind := kind_of(path))):
        draft.problems.add(_KEY, problem)
    return tuple(map(str, found))


def _near(draft: Draft, workspace: Path, permissions: Permissions) -> Sequence[Path] | None:
    """Return the directories in which attachments may lie; None where that is everywhere."""
    if draft.file.automation is AutomationLevel.FULL:
        return None
    roots = (*permissions.read_roots, *permissions.write_roots)
    return (workspace, draft.path.parent, *map(Path, roots))


def _problems(path: Path, near: Sequence[Path] | None) -> Iterator[tuple[str, str]]:
    if not path.is_file():
        found = "a directory" if path.is_dir() else "nothing"
        yield f"wanted a file, found {found} at {path}", "a relative one begins at the job file"
        return
    if near is not None and not any(path.is_relative_to(root) for root in near):
        hint = f'permissions.read_roots = ["{path.parent}"] lets it be read'
        yield f"wanted a file in the workspace, in its roots or beside the job file, found {path}", hint
    kind = kind_of(path)
    if kind is None:
        yield f"wanted {WANTED}, found {path.name}", "turn it into one of these"
    elif problem := too_large(kind, path.stat().st_size):
        yield problem, f"make {path.name} smaller"
    if kind is Attached.PDF and find_spec("pypdf") is None:
        yield f"{path.name} is a PDF document, and what reads these is an extra", EXTRA
