"""A tree is read as hashes: files and links, at any depth, and what git keeps for itself left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.isolation.tree import SMALL_BYTES, differences, dump_tree, load_tree, read_tree
from tests.tools.isolation.grounds import put


def test_files_and_links_are_read_and_nothing_else(tmp_path: Path) -> None:
    put(tmp_path, "src/deep/a.txt", "a").chmod(0o750)
    put(tmp_path, ".git/config", "x")
    put(tmp_path, "nested/.git", "gitdir: elsewhere")
    (tmp_path / "to-a-directory").symlink_to("src")
    (tmp_path / "to-nothing").symlink_to("/nowhere")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    tree = read_tree(tmp_path)

    assert sorted(tree) == ["src/deep/a.txt", "to-a-directory", "to-nothing"]
    assert (tree["src/deep/a.txt"].mode, tree["src/deep/a.txt"].runs, tree["src/deep/a.txt"].size) == (0o750, True, 1)
    assert [tree[name].content for name in ("to-a-directory", "to-nothing")] == ["src", "/nowhere"]


def test_the_versions_of_notes_are_left_out_and_what_only_looks_like_them_is_not(tmp_path: Path) -> None:
    for name in ("MEMORY.md", "daily/x.md", ".history/MEMORY.md/1.md", ".trash/1.md"):
        put(tmp_path, f".kova/memory/{name}", "a")
        put(tmp_path, f"sub/.kova/memory/{name}", "a")
    kept = [name for name in read_tree(tmp_path) if not name.startswith("sub/")]

    assert sorted(kept) == [".kova/memory/MEMORY.md", ".kova/memory/daily/x.md"]
    assert len([name for name in read_tree(tmp_path) if name.startswith("sub/")]) == 4


def test_a_tree_is_read_back_names_that_are_no_text_included(tmp_path: Path) -> None:
    put(tmp_path, os.fsdecode(b"odd\xff\n\\name"), "a")
    tree = read_tree(tmp_path)

    assert load_tree(dump_tree(tree)) == tree
    assert list(differences(tree, load_tree(dump_tree(tree)))) == []
    for broken in ("", "[]", '{"a": [1]}', '{"a": 1}'):
        with pytest.raises(ToolFailedError, match="was not written down"):
            load_tree(broken)


def test_contents_of_small_files_are_handed_out(tmp_path: Path) -> None:
    put(tmp_path, "small", "s" * SMALL_BYTES)
    put(tmp_path, "large", "s" * (SMALL_BYTES + 1))
    put(tmp_path, "empty", "")
    kept: dict[str, bytes] = {}
    tree = read_tree(tmp_path, kept.__setitem__)

    assert {len(data) for data in kept.values()} == {0, SMALL_BYTES}
    assert tree["small"].content in kept
    assert tree["large"].content not in kept


def test_what_cannot_be_read_is_an_error_and_no_deletion(tmp_path: Path) -> None:
    with pytest.raises(ToolFailedError, match="there is no"):
        read_tree(tmp_path / "gone")


def test_every_kind_of_difference_is_found(tmp_path: Path) -> None:
    for name in ("same", "edited", "moded", "removed", "linked"):
        put(tmp_path, name, "x")
    before = read_tree(tmp_path)
    (tmp_path / "edited").write_text("y")
    (tmp_path / "moded").chmod(0o700)
    (tmp_path / "removed").unlink()
    (tmp_path / "linked").unlink()
    (tmp_path / "linked").symlink_to("same")
    put(tmp_path, "added", "x")
    found = {
        change.path: (change.before is None, change.after is None)
        for change in differences(before, read_tree(tmp_path))
    }

    assert found == {
        "added": (True, False),
        "edited": (False, False),
        "linked": (False, False),
        "moded": (False, False),
        "removed": (False, True),
    }
