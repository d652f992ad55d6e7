"""The two methods of opening beneath a directory give the same answers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.tools.boundary import DIRECTORY, FILE, PATH_ONLY, Resolver, open_root, openat2_beneath, walk_beneath

NAMES = st.sampled_from(["a", "b", "c", ".."])
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(tuple)
TARGETS = PATHS.map("/".join) | st.sampled_from(["/", "/tmp", "a/", "./b", "a//b/", "."])
MADE = st.sampled_from(["file", "directory"]) | st.tuples(st.just("link"), TARGETS)
FLAGS = st.sampled_from([FILE, DIRECTORY, PATH_ONLY | os.O_CLOEXEC])


def _answer(resolve: Resolver, top: Path, parts: Sequence[str], flags: int, *, follow: bool) -> int | str | None:
    """Return the inode that was opened, or the error's number."""
    root = open_root(str(top), resolve)
    try:
        fd = root.open(parts, flags, follow=follow)
    except OSError as exc:
        return f"errno {exc.errno}"
    else:
        inode = os.fstat(fd).st_ino
        os.close(fd)
        return inode
    finally:
        root.close()


@settings(max_examples=200, deadline=None)
@given(made=st.lists(st.tuples(PATHS, MADE), max_size=8), parts=PATHS | st.just(()), flags=FLAGS, follow=st.booleans())
def test_both_methods_open_the_same_or_fail_the_same(
    made: list[tuple[tuple[str, ...], str | tuple[str, str]]], parts: tuple[str, ...], flags: int, follow: bool
) -> None:
    with TemporaryDirectory() as name:
        top = Path(name).resolve() / "top"
        top.mkdir()
        for where, what in made:
            path = top.joinpath(*(name for name in where if name != ".."))
            with suppress(OSError):  # not every tree that is drawn can be made
                if isinstance(what, tuple):
                    path.symlink_to(what[1])
                elif what == "file":
                    path.write_text("")
                else:
                    path.mkdir()
        by_call = _answer(openat2_beneath, top, parts, flags, follow=follow)
        assert by_call == _answer(walk_beneath, top, parts, flags, follow=follow)
