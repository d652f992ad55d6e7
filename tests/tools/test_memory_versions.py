"""What a note held before: kept with whose doing it was, in bounded number, and brought back from the trash."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.context.memory import Layer
from kova_auto.core.context.versions import MAX_VERSIONS, Source
from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.memory.book import Book
from tests.tools.memories import Memories
from tests.tools.tool_scenes import NOW, content, names, play, put

NAME = "MEMORY.md"


@pytest.fixture
def memories(tmp_path: Path) -> Memories:
    return Memories.of(tmp_path)


def edit(book: Book, text: str, *, source: Source = Source.EDIT, name: str = NAME) -> None:
    book.put(name, book.found(name), text.encode(), source=source, now=NOW, tag="test")


def told(book: Book, name: str = NAME) -> list[tuple[int, str, bytes | None]]:
    return [(one.number, one.source, book.version(name, one.number)) for one in book.versions(name)]


def test_each_change_leaves_a_version_with_its_source(memories: Memories) -> None:
    book = memories.book()
    edit(book, "one", source=Source.AGENT)
    edit(book, "two")
    assert told(book) == [(1, "agent", b"one"), (2, "edit", b"two")]
    assert names(memories.here / ".history" / NAME) == [
        "000001-20250310T070000Z-agent.md",
        "000002-20250310T070000Z-edit.md",
    ]


def test_what_somebody_else_wrote_is_found_at_the_next_change(memories: Memories) -> None:
    book = memories.book()
    put(memories.here / NAME, b"by hand")
    edit(book, "one")
    put(memories.here / NAME, b"by hand again")
    edit(book, "two")
    sources = [(source, data) for _, source, data in told(book)]
    assert sources == [("external", b"by hand"), ("edit", b"one"), ("external", b"by hand again"), ("edit", b"two")]


async def test_a_write_that_was_killed_before_it_was_made_is_nobody_elses(memories: Memories) -> None:
    book = memories.book()
    edit(book, "one")
    edit(book, "two")
    put(memories.here / NAME, b"one")  # as if the version had been kept, and the note not replaced
    edit(book, "three")
    assert [source for _, source, _ in told(book)] == ["edit", "edit", "edit"]


def test_only_so_many_versions_are_kept_and_no_number_is_used_again(memories: Memories) -> None:
    book = memories.book()
    for at in range(MAX_VERSIONS + 3):
        edit(book, f"{at}")
    kept = told(book)
    assert len(kept) == MAX_VERSIONS
    assert kept[0] == (4, "edit", b"3")
    assert kept[-1] == (MAX_VERSIONS + 3, "edit", f"{MAX_VERSIONS + 2}".encode())


def test_history_and_trash_ignore_themselves_in_git(memories: Memories) -> None:
    book = memories.book()
    edit(book, "one")
    found = book.found(NAME)
    assert found
    book.forget(NAME, found, now=NOW, tag="test")
    for folder in (".history", ".trash"):
        assert content(memories.here / folder / ".gitignore") == b"*\n"


def test_a_note_that_is_forgotten_lies_in_the_trash_and_its_history_says_so(memories: Memories) -> None:
    book = memories.book()
    edit(book, "one", name="daily/2025-03-10.md")
    found = book.found("daily/2025-03-10.md")
    assert found
    trashed = book.forget("daily/2025-03-10.md", found, now=NOW, tag="test")
    assert book.found("daily/2025-03-10.md") is None
    assert [one.name for one in book.trashed()] == ["daily/2025-03-10.md"]
    assert book.from_trash(trashed) == b"one"
    assert told(book, "daily/2025-03-10.md")[-1] == (2, "delete", b"one")


def test_the_trash_is_bounded(memories: Memories) -> None:
    book = memories.book()
    for at in range(MAX_VERSIONS + 2):
        edit(book, f"{at}")
        found = book.found(NAME)
        assert found
        book.forget(NAME, found, now=NOW, tag="test")
    trashed = book.trashed()
    assert [len(trashed), trashed[0].number, trashed[-1].number] == [MAX_VERSIONS, 3, MAX_VERSIONS + 2]


def test_what_is_no_version_is_passed_over(memories: Memories) -> None:
    book = memories.book()
    edit(book, "one")
    folder = memories.here / ".history" / NAME
    for name in ("000002-20251399T070000Z-edit.md", "000003-20250310T070000Z-nobody.md", "x.md", "000004.md"):
        put(folder / name, b"?")
    assert [one.number for one in book.versions(NAME)] == [1]
    assert book.version(NAME, 2) is None


def test_the_versions_of_the_global_memory_are_its_users_alone(memories: Memories) -> None:
    edit(memories.book(Layer.GLOBAL), "one")
    files = [path for path in memories.everywhere.rglob("*") if path.is_file()]
    assert len(files) == 3
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


async def test_an_agents_note_is_a_version_and_no_version_is_shown_or_searched(memories: Memories) -> None:
    await play(memories.write, memories.scene(), scope="workspace", content="first words")
    await play(memories.write, memories.scene(), scope="workspace", content="other words", mode="overwrite")
    assert [source for _, source, _ in told(memories.book())] == ["agent", "agent"]
    assert "first" not in (await play(memories.search, memories.scene(), query="first")).text.splitlines()[0][:20]
    assert (await play(memories.read, memories.scene(), scope="workspace")).text.startswith("workspace/MEMORY.md (")


def test_a_name_that_is_none_has_no_history(memories: Memories) -> None:
    with pytest.raises(ToolFailedError, match="names no note"):
        memories.book().versions("../x.md")
