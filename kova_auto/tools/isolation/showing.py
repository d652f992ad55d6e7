"""Shows what a run changed in a workspace of its own, as a diff that `git apply` reads; bounded."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from kova_auto.tools.boundary import FILE, best_resolver, open_root
from kova_auto.tools.difference import difference
from kova_auto.tools.files import read_all
from kova_auto.tools.isolation.place import Place
from kova_auto.tools.isolation.tree import SMALL_BYTES, Change, Entry
from kova_auto.tools.output import printable

MOST_FILES = 2000
MOST_BYTES = 8 * 1024 * 1024


def show(changes: Sequence[Change], place: Place, workspace: Path, *, most: int = MOST_FILES) -> str:
    """Return a diff of everything that a run changed; of what is too much, the rest is counted.

    Raises:
        OSError: The run's workspace is not there.
    """
    root, shown, size = open_root(str(workspace), best_resolver()), list[str](), 0
    try:
        for change in changes:
            if len(shown) == most or size > MOST_BYTES:
                shown.append(f"# and {len(changes) - len(shown)} more files\n")
                break
            shown.append("".join(_lines(change, place, root.fd)))
            size += len(shown[-1])
    finally:
        root.close()
    return "".join(shown)


def _lines(change: Change, place: Place, root: int) -> Iterator[str]:
    name, before, after = printable(change.path), change.before, change.after
    yield f"diff --git a/{name} b/{name}\n"
    yield from _modes(before, after)
    if before and after and (before.is_link, before.content) == (after.is_link, after.content):
        return
    if max(one.size for one in (before, after) if one) > SMALL_BYTES:
        sizes = " and ".join(f"{one.size if one else 0:,}" for one in (before, after))
        yield f"# {name}: too large to be shown ({sizes} bytes)\n"
        return
    then, now = _first(before, place), _now(change, root)
    if (then is None) is not (before is None) or (now is None) is not (after is None):
        yield f"# {name}: its content cannot be had\n"
        return
    yield difference(change.path, then, now)


def _modes(before: Entry | None, after: Entry | None) -> Iterator[str]:
    was, now = _mode(before), _mode(after)
    if before is None:
        yield f"new file mode {now}\n"
    elif after is None:
        yield f"deleted file mode {was}\n"
    elif was != now:
        yield f"old mode {was}\nnew mode {now}\n"


def _mode(entry: Entry | None) -> str:
    """Return the mode of an entry as git writes it; bits that git has no word for are shown all the same."""
    if entry is None:
        return ""
    return f"{stat.S_IFLNK:o}" if entry.is_link else f"{stat.S_IFREG | entry.mode:o}"


def _first(entry: Entry | None, place: Place) -> bytes | None:
    if entry is None:
        return None
    return os.fsencode(entry.content) if entry.is_link else place.first_content(entry.content)


def _now(change: Change, root: int) -> bytes | None:
    entry = change.after
    if entry is None:
        return None
    if entry.is_link:
        return os.fsencode(entry.content)
    try:
        fd = best_resolver()(root, change.parts, FILE, follow=False)
    except OSError:
        return None
    try:
        return read_all(fd, SMALL_BYTES)
    finally:
        os.close(fd)
