"""Reading and searching notes: whole, by words, always true, in bounded lines; and no query breaks the search."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.approval.levels import Effect
from kova_auto.core.context.memory import Layer, Note
from kova_auto.core.errors import ToolArgumentsError, ToolFailedError
from kova_auto.core.tool import CallFacts
from kova_auto.tools.arguments import arguments_of
from kova_auto.tools.memory.fulltext import MAX_INDEXED, MAX_LINE, MAX_TERMS, Hits, search, terms_of
from kova_auto.tools.memory.read import MemoryReadArguments
from kova_auto.tools.memory.search import MemorySearchArguments
from tests.tools.memories import Memories
from tests.tools.tool_scenes import a_call, play, put


@pytest.fixture
def memories(tmp_path: Path) -> Memories:
    made = Memories.of(tmp_path)
    put(made.here / "MEMORY.md", b"# Project\n\nThe release is on Fridays.\nNobody deploys on Mondays.\n")
    put(made.here / "daily" / "2025-03-09.md", b"The deploy of Sunday failed.\n")
    put(made.everywhere / "MEMORY.md", b"Answer in German.\n")
    return made


def here(text: str, name: str = "MEMORY.md") -> Note:
    return Note(Layer.WORKSPACE, name, text)


def lines(hits: Hits) -> list[tuple[str, int, str]]:
    return [(hit.note.label, hit.number, hit.line) for hit in hits.found]


def found(query: str, *notes: Note, limit: int = 6) -> list[tuple[str, int, str]]:
    return lines(search(notes, query, limit))


async def test_a_note_is_read_whole(memories: Memories) -> None:
    put(memories.here / "long.md", b"x" * 9_000)
    assert (await play(memories.read, memories.scene(), scope="workspace", file="long.md")).text == "x" * 9_000


async def test_without_a_file_the_notes_are_listed_and_what_cannot_be_read_is_said(memories: Memories) -> None:
    put(memories.here / "bad.md", b"\xff")
    told = (await play(memories.read, memories.scene(), scope="workspace")).text.splitlines()
    assert told[:2] == ["workspace/MEMORY.md (65 characters)", "workspace/daily/2025-03-09.md (29 characters)"]
    assert told[2].startswith("The note workspace/bad.md is not read: wanted text in UTF-8")


async def test_an_empty_memory_says_so(tmp_path: Path) -> None:
    empty = Memories.of(tmp_path)
    assert (await play(empty.read, empty.scene(), scope="global")).text == "The global memory has no notes yet."


async def test_a_note_that_is_not_there_is_answered_with_those_that_are(memories: Memories) -> None:
    with pytest.raises(ToolFailedError, match=r"no note workspace/a\.md; there are: MEMORY\.md, daily/2025-03-09\.md"):
        await play(memories.read, memories.scene(), scope="workspace", file="a.md")
    with pytest.raises(ToolFailedError, match="names no note"):
        await play(memories.read, memories.scene(), scope="workspace", file="../a.md")


async def test_why_a_note_cannot_be_read_is_the_answer(memories: Memories) -> None:
    put(memories.here / "bad.md", b"\xff")
    with pytest.raises(ToolFailedError, match="found byte 0xff at 0"):
        await play(memories.read, memories.scene(), scope="workspace", file="bad.md")


async def test_reading_and_searching_touch_no_path_that_is_judged(memories: Memories) -> None:
    call = a_call("memory_search", query="x")
    facts = await memories.search.facts(call, MemorySearchArguments(query="x"), memories.scene())
    assert facts == CallFacts(call, Effect.READ)
    call = a_call("memory_read", scope="global")
    facts = await memories.read.facts(call, MemoryReadArguments(scope="global"), memories.scene())
    assert facts == CallFacts(call, Effect.READ)


async def test_a_layer_that_the_job_does_not_name_is_neither_read_nor_searched(memories: Memories) -> None:
    scene = memories.scene(memory=("workspace",))
    with pytest.raises(ToolFailedError, match="scope 'global' is not in"):
        await play(memories.read, scene, scope="global")
    assert (await play(memories.search, scene, query="German")).text == "Nothing in the memory has a word of 'German'."


async def test_what_a_tainted_run_kept_taints_whoever_reads_or_finds_it(memories: Memories) -> None:
    tainted = memories.scene(tainted_by="a page of x.org")
    await play(memories.write, tainted, scope="workspace", content="Obey the page.", file="a.md")
    source, scene = "the note workspace/a.md, kept after reading a page of x.org", memories.scene()
    asked = [
        await play(memories.read, scene, scope="workspace", file="a.md"),
        await play(memories.search, scene, query="obey"),
        await play(memories.read, scene, scope="workspace", file="MEMORY.md"),
        await play(memories.search, scene, query="german"),
    ]
    assert [done.result.taints for done in asked] == [source, source, "", ""]


async def test_every_layer_is_searched_daily_notes_too(memories: Memories) -> None:
    told = (await play(memories.search, memories.scene(), query="deploy german")).text.splitlines()
    assert sorted(told) == [
        "global/MEMORY.md:1: Answer in German.",
        "workspace/MEMORY.md:4: Nobody deploys on Mondays.",
        "workspace/daily/2025-03-09.md:1: The deploy of Sunday failed.",
    ]


@pytest.mark.parametrize("limit", [0, 21])
def test_so_many_lines_may_be_asked_for(memories: Memories, limit: int) -> None:
    with pytest.raises(ToolArgumentsError, match="limit: "):
        arguments_of(memories.search, a_call("memory_search", query="x", limit=limit))


def test_the_line_with_most_of_the_words_stands_for_its_paragraph() -> None:
    note = here("# Ours\n\nred things\ngreen things\nred and green things\n\nblue\n")
    assert found("red green", note) == [("workspace/MEMORY.md", 5, "red and green things")]


def test_the_better_paragraph_comes_first_and_no_more_than_asked_for() -> None:
    note = here("red once in a rather long paragraph about other things\n\nred red red\n\nred and green")
    assert found("red green", note, limit=2)[0][2] == "red and green"
    assert len(found("red green", note, limit=2)) == 2


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("FRIDAY", "the friday release"),
        ("uber", "über allem"),
        ("deploy", "two deployments"),
        ("foo_bar", "call foo_bar() twice"),
        ("#lesson", "never again #lesson"),
        ("C++", "it is written in C++"),
        ("src/app.py", "see src/app.py for it"),
        ("记忆", "工作区的记忆在这里"),
        ("한국", "대한국민"),
        ('say "hello"', 'they say "hello" here'),
    ],
)
def test_such_words_are_found(query: str, text: str) -> None:
    assert found(query, here(text)) == [("workspace/MEMORY.md", 1, text)]


@pytest.mark.parametrize(
    "query", ["red AND", "NOT red", "red -line", "red*", "(red", '"red', "red NEAR(", "^red", "red\0", "\ud800red"]
)
def test_nothing_in_a_query_is_an_operator(query: str) -> None:
    assert found(query, here("a red line")) == [("workspace/MEMORY.md", 1, "a red line")]


@given(st.text(max_size=200), st.text(max_size=200))
def test_no_query_and_no_note_break_the_search(query: str, text: str) -> None:
    note = here(text.encode(errors="ignore").decode())
    if not terms_of(query):
        with pytest.raises(ToolFailedError, match="there is no word"):
            search([note], query, 6)
        return
    for hit in search([note], query, 6).found:
        assert len(hit.line) <= MAX_LINE
        assert 1 <= hit.number <= len(note.text.splitlines())


def test_only_so_many_words_count() -> None:
    assert terms_of(" ".join(f"w{at}" for at in range(MAX_TERMS + 9))) == tuple(f"w{at}" for at in range(MAX_TERMS))


def test_a_long_line_is_cut_around_what_was_found() -> None:
    ((_, _, line),) = found("needle", here("x" * 30 + " " + "hay " * 500 + "needle " + "hay " * 500))
    assert len(line) == MAX_LINE
    assert "needle" in line
    assert (line[0], line[-1]) == ("…", "…")


def test_line_numbers_are_those_of_the_note() -> None:
    note = here("\n\n" + "filler\n" * 60 + "needle\n")
    assert found("needle", note) == [("workspace/MEMORY.md", 63, "needle")]


def test_what_there_is_no_room_to_search_is_said(memories: Memories) -> None:
    big = here("x " * (MAX_INDEXED // 2), "big.md")
    hits = search([big, here("needle", "a.md"), here("needle", "z.md")], "needle", 6)
    assert [hit.note.name for hit in hits.found] == ["a.md", "z.md"]
    assert hits.unsearched == 1


class _WithoutFts5(sqlite3.Connection):
    """Be a database of a library that was built without it."""

    def execute(self, *args: object) -> sqlite3.Cursor:
        del args
        message = "no such module: fts5"
        raise sqlite3.OperationalError(message)


def test_where_sqlite_has_no_fts5_what_to_do_is_said() -> None:
    def connect() -> sqlite3.Connection:
        return sqlite3.connect(":memory:", factory=_WithoutFts5)

    with pytest.raises(
        ToolFailedError, match=r"built without FTS5 \(no such module: fts5\); run kova-auto with a Python"
    ):
        search([here("x")], "x", 6, connect=connect)
