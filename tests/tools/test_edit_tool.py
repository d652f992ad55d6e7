"""What an edit replaces, and what it says where it replaces nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.errors import ToolError
from kova_auto.core.ids import blob_hash
from kova_auto.core.message import FileChange
from kova_auto.core.tool import WriteAnnounced
from kova_auto.tools.edit import EditTool
from kova_auto.tools.passage import Passage, found_at
from tests.tools.tool_scenes import Played, a_scene, content, play, put, some_roots


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "W"
    made.mkdir()
    return made


async def edit(workspace: Path, data: bytes, old: str, new: str, *, replace_all: bool = False) -> Played:
    path = put(workspace / "a.txt", data)
    scene = a_scene(workspace, seen={str(path): blob_hash(data)})
    return await play(
        EditTool(some_roots()), scene, file_path="a.txt", old_string=old, new_string=new, replace_all=replace_all
    )


async def test_an_edit_is_announced_with_both_contents(workspace: Path) -> None:
    done = await edit(workspace, b"one\ntwo\n", "two", "three")
    change = FileChange(
        path=f"{workspace}/a.txt", before=blob_hash(b"one\ntwo\n"), after=blob_hash(b"one\nthree\n"), mode=0o644
    )
    assert done.announced == (WriteAnnounced(change, blobs=(b"one\ntwo\n", b"one\nthree\n")),)
    assert done.result.changes == (change,)
    assert done.text == "Replaced 1 occurrence in a.txt, at line 2."


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        (b"a b a", "b", "", b"a  a"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\r\nb\r\n", "a\r\nb", "c", b"c\r\n"),
        (b"a\r\nb\nc", "b\nc", "d\ne", b"a\r\nd\ne"),
        (b"\xef\xbb\xbfa\n", "a", "\u00fc", b"\xef\xbb\xbf\xc3\xbc\n"),
        ("\ufeffa\n".encode("utf-16-le"), "a", "ü", "\ufeffü\n".encode("utf-16-le")),
        (b"gr\xfcn a", "a", "b", b"gr\xfcn b"),
        (b"f(\n    x)", "f(\n    x)", r"g(\1)", rb"g(\1)"),
    ],
)
async def test_an_edit_leaves_all_else_as_it_was(
    workspace: Path, data: bytes, old: str, new: str, expected: bytes
) -> None:
    await edit(workspace, data, old, new)
    assert content(workspace / "a.txt") == expected


async def test_every_occurrence_is_replaced_only_on_request(workspace: Path) -> None:
    why = "old_string occurs 3 times in a.txt, at lines 1, 3, 3: add lines around it that make it unique"
    with pytest.raises(ToolError, match=why):
        await edit(workspace, b"x\ny\nx x\n", "x", "z")
    assert content(workspace / "a.txt") == b"x\ny\nx x\n"
    done = await edit(workspace, b"x\ny\nx x\n", "x", "z", replace_all=True)
    assert done.text == "Replaced 3 occurrences in a.txt, at line 1, 3, 3."
    assert content(workspace / "a.txt") == b"z\ny\nz z\n"


@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ("2\t    return 1", "It does without the line numbers: leave them out."),
        ("def f():\n  return 1", "Lines 1 to 2 differ from it in white space only: 'def f():\\n    return 1'"),
        ("retrun 1", "The nearest line is 2: '    return 1'"),
        ("quite something else", "Nothing like it does; read the file again."),
    ],
)
async def test_a_near_miss_is_pointed_out(workspace: Path, old: str, hint: str) -> None:
    with pytest.raises(ToolError) as raised:
        await edit(workspace, b"def f():\n    return 1\n", old, "x")
    assert str(raised.value) == f"old_string does not occur in a.txt. {hint}"


@pytest.mark.parametrize(
    ("data", "old", "new", "why"),
    [
        (b"a", "a", "a", "old_string and new_string are the same"),
        (b"a\0b", "a", "b", r"a\.txt is a binary file"),
        (b"a", "a", "\ud800", "new_string holds half a character"),
    ],
)
async def test_what_cannot_be_edited_is_refused(workspace: Path, data: bytes, old: str, new: str, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await edit(workspace, data, old, new)
    assert content(workspace / "a.txt") == data


async def test_a_file_that_is_not_there_is_refused(workspace: Path) -> None:
    with pytest.raises(ToolError, match=r"there is no none\.txt; use write to create it"):
        await play(EditTool(some_roots()), a_scene(workspace), file_path="none.txt", old_string="a", new_string="b")


@pytest.mark.parametrize("seen", [{}, {"a.txt": blob_hash(b"older")}])
async def test_a_file_that_was_not_read_as_it_is_now_is_refused(workspace: Path, seen: dict[str, str]) -> None:
    put(workspace / "a.txt", b"a")
    known = {str(workspace / name): blob_hash(b"older") for name in seen}
    with pytest.raises(ToolError, match="read it"):
        await play(
            EditTool(some_roots()), a_scene(workspace, seen=known), file_path="a.txt", old_string="a", new_string="b"
        )
    assert content(workspace / "a.txt") == b"a"


@given(st.lists(st.sampled_from(["a", "b", "\r\n", "ab"])), st.sampled_from(["a", "a\nb", "b\r\na"]))
def test_line_endings_that_are_all_the_same_stay_so(parts: list[str], old: str) -> None:
    text = "".join(parts)
    passage = Passage.of(text, old, "x\ny")
    after = passage.replaced()
    assert after.count("\r\n") == after.count("\n") or "\r\n" not in text
    assert (after != text) == bool(found_at(passage))
