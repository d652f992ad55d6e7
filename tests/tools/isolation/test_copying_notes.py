"""The notes of a workspace come along into a worktree: as they are now, and through no link on either side."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.tools.isolation.copying import copy_notes
from tests.tools.isolation.grounds import put

HERE = ".kova/memory"


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    workspace, tree = tmp_path / "work", tmp_path / "tree"
    for place in (workspace, tree):
        place.mkdir()
    return workspace, tree


def shown(tree: Path) -> dict[str, str]:
    return {str(path.relative_to(tree)): path.read_text() for path in tree.rglob("*") if path.is_file()}


def test_a_workspace_without_a_memory_brings_none(places: tuple[Path, Path]) -> None:
    copy_notes(*places)
    assert shown(places[1]) == {}


def test_notes_come_along_as_they_are_now_and_nothing_else(places: tuple[Path, Path]) -> None:
    workspace, tree = places
    for name in ("MEMORY.md", "daily/x.md", ".history/MEMORY.md/1.md", "run.sh"):
        put(workspace, f"{HERE}/{name}", "now")
    put(tree, f"{HERE}/MEMORY.md", "committed")
    put(tree, f"{HERE}/other.md", "committed")
    copy_notes(workspace, tree)
    assert shown(tree) == {
        f"{HERE}/MEMORY.md": "now",
        f"{HERE}/daily/x.md": "now",
        f"{HERE}/other.md": "committed",
    }


@pytest.mark.parametrize("linked", [".kova", HERE, f"{HERE}/daily"])
def test_no_directory_that_is_a_link_is_copied_from_or_into(places: tuple[Path, Path], linked: str) -> None:
    workspace, tree = places
    elsewhere = workspace.parent / "elsewhere"
    for name in ("x.md", "memory/x.md", "memory/daily/x.md", "daily/x.md"):
        put(elsewhere, name, "private")
    for place in places:
        link = place / linked
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(elsewhere)
    copy_notes(workspace, tree)
    assert set(shown(tree).values()) <= {"private"}  # what is reached through the link itself
    (tree / linked).unlink()
    assert shown(tree) == {}

    put(tree.parent / "plain", f"{HERE}/daily/y.md", "note")
    (tree / linked).symlink_to(elsewhere)
    before = shown(elsewhere)
    copy_notes(tree.parent / "plain", tree)
    assert shown(elsewhere) == before


def test_a_note_that_is_a_link_stays_where_it_is(places: tuple[Path, Path]) -> None:
    workspace, tree = places
    private = put(workspace.parent, "private", "private")
    put(workspace, f"{HERE}/good.md", "note")
    (workspace / HERE / "link.md").symlink_to(private)
    put(tree, f"{HERE}/other.md", "committed")
    (tree / HERE / "good.md").symlink_to(private)
    copy_notes(workspace, tree)
    assert private.read_text() == "private"
    assert not (tree / HERE / "link.md").exists()
