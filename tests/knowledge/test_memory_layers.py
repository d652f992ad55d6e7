"""Reading a memory's layers: what is a note, and that a directory which anybody may have filled leads nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kova_auto.core.context.memory import Layer, Note
from kova_auto.knowledge.files import MAX_BYTES
from kova_auto.knowledge.memory import MAX_NOTES, global_memory, read_layer, workspace_memory

HERE = Layer.WORKSPACE


def a_layer(workspace: Path, **files: str) -> Path:
    folder = workspace_memory(workspace)
    (folder / "daily").mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def test_a_layer_that_nobody_made_is_empty(tmp_path: Path) -> None:
    assert read_layer(workspace_memory(tmp_path), HERE) == ((), ())
    assert read_layer(global_memory(tmp_path), Layer.GLOBAL, daily=True) == ((), ())


def test_the_notes_directly_in_it_are_read_the_main_one_first(tmp_path: Path) -> None:
    folder = a_layer(tmp_path, a="A", MEMORY="M")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "README").write_text("no note")
    (folder / "sub").mkdir()
    (folder / "sub" / "x.md").write_text("no note")
    assert read_layer(folder, HERE) == ((Note(HERE, "MEMORY.md", "M"), Note(HERE, "a.md", "A")), ())


def test_daily_notes_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    folder = a_layer(tmp_path, MEMORY="M")
    (folder / "daily" / "2026-12-01.md").write_text("D")
    assert read_layer(folder, HERE)[0] == (Note(HERE, "MEMORY.md", "M"),)
    assert read_layer(folder, HERE, daily=True)[0][1:] == (Note(HERE, "daily/2026-12-01.md", "D"),)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a\xffb", "found byte 0xff at 1"),
        (b"a\0b", "found a NUL"),
        (b"x" * (MAX_BYTES + 1), "wanted at most 256 KiB"),
    ],
)
def test_a_note_that_is_no_text_is_left_out_with_a_notice(tmp_path: Path, data: bytes, why: str) -> None:
    folder = a_layer(tmp_path, good="G")
    (folder / "bad.md").write_bytes(data)
    notes, (notice,) = read_layer(folder, HERE)
    assert notes == (Note(HERE, "good.md", "G"),)
    assert notice.startswith("The note workspace/bad.md is not read: ")
    assert why in notice


def test_nothing_waits_for_a_fifo_and_a_directory_is_no_note(tmp_path: Path) -> None:
    folder = a_layer(tmp_path)
    os.mkfifo(folder / "pipe.md")
    (folder / "folder.md").mkdir()
    notes, notices = read_layer(folder, HERE)
    assert notes == ()
    assert ["wanted an ordinary file" in notice for notice in notices] == [True, True]


def test_no_link_leads_out_of_a_layer(tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    folder = a_layer(tmp_path / "app")
    (folder / "link.md").symlink_to(secret)
    (folder / "hard.md").hardlink_to(secret)
    notes, notices = read_layer(folder, HERE)
    assert notes == ()
    assert [notice.split(" is not read: ")[0] for notice in notices] == [
        "The note workspace/hard.md",
        "The note workspace/link.md",
    ]


@pytest.mark.parametrize("linked", [".kova", ".kova/memory", ".kova/memory/daily"])
def test_no_directory_of_a_workspaces_layer_may_be_a_link(tmp_path: Path, linked: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    for folder in (elsewhere, elsewhere / "memory", elsewhere / "memory" / "daily"):
        folder.mkdir()
        (folder / "x.md").write_text("not of this workspace")
    link = tmp_path / "app" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    notes, notices = read_layer(workspace_memory(tmp_path / "app"), HERE, daily=True)
    assert notes == ()
    assert all("is not read" in notice for notice in notices)
    assert notices


def test_a_user_may_keep_the_global_layer_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "dotfiles" / "MEMORY.md").write_text("M")
    folder = global_memory(tmp_path)
    folder.parent.mkdir()
    folder.symlink_to(tmp_path / "dotfiles")
    assert read_layer(folder, Layer.GLOBAL) == ((Note(Layer.GLOBAL, "MEMORY.md", "M"),), ())


def test_a_name_that_is_none_is_said_and_what_is_hidden_is_passed_over(tmp_path: Path) -> None:
    folder = a_layer(tmp_path, _x="X")
    (folder / ".#lock.md").write_text("an editor's")
    notes, (notice,) = read_layer(folder, HERE)
    assert notes == ()
    assert notice.startswith("The note 'workspace/_x.md' is not read: its name must begin with a letter")


def test_a_directory_of_very_many_notes_is_read_in_part(tmp_path: Path) -> None:
    folder = a_layer(tmp_path, **{f"n{at:04}": "x" for at in range(MAX_NOTES + 2)}, MEMORY="M")
    notes, (notice,) = read_layer(folder, HERE)
    assert (len(notes), notes[0].name) == (MAX_NOTES, "MEMORY.md")
    assert notice == f"The workspace memory has more than {MAX_NOTES} files; 3 are not read."
