"""What the model is shown of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kova_auto.core.approval.levels import Effect
from kova_auto.core.errors import ToolError
from kova_auto.core.ids import BlobHash, blob_hash
from kova_auto.core.message import ImagePart, ResultStatus, TextPart, ToolResult
from kova_auto.core.tool import CallFacts, PathFact, Zone
from kova_auto.tools.read import ReadArguments, ReadTool, blob_path
from tests.tools.tool_scenes import a_call, a_scene, no_blob, play, put, some_roots

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def a_tool() -> ReadTool:
    return ReadTool(some_roots(), no_blob)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "W"
    made.mkdir()
    return made


async def text_of(path: Path, data: bytes, **args: int) -> str:
    return (await play(a_tool(), a_scene(path.parent), file_path=put(path, data).name, **args)).text


async def test_text_comes_with_numbers_and_its_hash_is_remembered(workspace: Path) -> None:
    path = put(workspace / "a.txt", b"one\ntwo\n")
    done = await play(a_tool(), a_scene(path.parent), file_path="a.txt")
    assert done.result == ToolResult(
        status=ResultStatus.OK,
        parts=(TextPart(text="1\tone\n2\ttwo"),),
        reads={str(path): blob_hash(b"one\ntwo\n")},
    )


@pytest.mark.parametrize(
    ("data", "args", "expected"),
    [
        (b"", {}, "[the file is empty]"),
        (b"\n", {}, "1\t"),
        (b"a\n\nb", {}, "1\ta\n2\t\n3\tb"),
        (b"a\nb\nc\nd\n", {"offset": 2, "limit": 2}, "2\tb\n3\tc\n[1 more lines of 4; go on with offset=4]"),
        (b"a\nb\nc\nd\n", {"offset": 4}, "4\td"),
        (b"a\r\nb\r\n", {}, "1\ta\n2\tb\n[line endings: CRLF]"),
        (b"a\r\nb\nc", {}, "1\ta\n2\tb\n3\tc\n[line endings: CRLF and LF, mixed]"),
        (b"\xef\xbb\xbfa\n", {}, "1\ta\n[encoding: utf-8 with a byte order mark]"),
        ("\ufeffgrün\n".encode("utf-16-le"), {}, "1\tgrün\n[encoding: utf-16-le with a byte order mark]"),
        ("\ufeffgrün\n".encode("utf-16-be"), {}, "1\tgrün\n[encoding: utf-16-be with a byte order mark]"),
        (b"gr\xfcn\n", {}, "1\tgr\ufffdn\n[1 bytes are no UTF-8; each is shown as \ufffd]"),
        (b"x" * 2005, {}, f"1\t{'x' * 2000}[... 5 more characters]"),
        (b"a\x0cb\xe2\x80\xa8c\n", {}, "1\ta\x0cb\u2028c"),
    ],
)
async def test_text_is_shown_as_it_is(workspace: Path, data: bytes, args: dict[str, int], expected: str) -> None:
    assert await text_of(workspace / "a.txt", data, **args) == expected


async def test_long_text_ends_with_how_to_go_on(workspace: Path) -> None:
    data = b"".join(b"%d %s\n" % (number, b"x" * 90) for number in range(1, 2001))
    shown = await text_of(workspace / "long.txt", data)
    *lines, notice = shown.split("\n")
    last = int(lines[-1].split("\t")[0])
    assert [line.split("\t")[0] for line in lines] == [str(number) for number in range(1, last + 1)]
    assert notice == f"[{2000 - last} more lines of 2000; go on with offset={last + 1}]"
    assert 62 * 1024 < len(shown.encode()) < 64 * 1024
    assert (await text_of(workspace / "long.txt", data, offset=last + 1)).startswith(f"{last + 1}\t{last + 1} xxx")


async def test_an_image_is_shown_as_one(workspace: Path) -> None:
    path = put(workspace / "shot.png", PNG)
    done = await play(a_tool(), a_scene(path.parent), file_path="shot.png")
    image = ImagePart(blob=blob_hash(PNG), media_type="image/png")
    assert done.result.parts == (TextPart(text="[image/png, 48 bytes]"), image)
    assert done.output.blobs == (PNG,)


@pytest.mark.parametrize(
    ("data", "media"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
async def test_other_images_are_known_by_their_first_bytes(workspace: Path, data: bytes, media: str) -> None:
    assert await text_of(workspace / "picture", data) == f"[{media}, {len(data)} bytes]"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (PNG + bytes(2 * 1024 * 1024), "is an image of 2097200 bytes; at most 2097152 are shown"),
        (b"\x7fELF\x00\x01", r"is a binary file \(an ELF program, 6 bytes\), not text"),
        (b"%PDF-1.7 text", r"is a binary file \(a PDF document, 13 bytes\), not text"),
        (b"a\x00b", r"is a binary file \(of an unknown type, 3 bytes\), not text"),
    ],
)
async def test_what_cannot_be_shown_is_refused_with_its_kind(workspace: Path, data: bytes, why: str) -> None:
    with pytest.raises(ToolError, match=why):
        await text_of(workspace / "file", data)


@pytest.mark.parametrize(
    ("path", "why"),
    [("none.txt", "there is no none.txt"), ("sub", "sub is a directory; wanted a file"), (".", "names a directory")],
)
async def test_what_is_no_file_is_refused(workspace: Path, path: str, why: str) -> None:
    (workspace / "sub").mkdir()
    with pytest.raises(ToolError, match=why):
        await play(a_tool(), a_scene(workspace), file_path=path)


async def test_an_offset_behind_the_end_is_refused(workspace: Path) -> None:
    with pytest.raises(ToolError, match="offset 9 is behind the end: it has 2 lines"):
        await text_of(workspace / "a.txt", b"a\nb\n", offset=9)


async def test_a_file_larger_than_the_bound_is_refused(workspace: Path) -> None:
    (workspace / "huge").touch()
    os.truncate(workspace / "huge", 40 * 1024 * 1024)
    with pytest.raises(ToolError, match="huge has 41943040 bytes; this tool takes at most 33554432"):
        await play(a_tool(), a_scene(workspace), file_path="huge")


async def test_the_rest_of_an_earlier_output_is_read_by_its_name(workspace: Path) -> None:
    kept = {blob_hash(text): text for text in (b"one\ntwo\nthree", b"of another run")}
    mine, others = kept

    async def blob(key: BlobHash) -> bytes:
        return kept[key]

    tool, scene = ReadTool(some_roots(), blob), a_scene(workspace, rests=frozenset([mine]))
    done = await play(tool, scene, file_path=blob_path(mine), offset=2, limit=1)
    assert done.result == ToolResult(
        status=ResultStatus.OK, parts=(TextPart(text="2\ttwo\n[1 more lines of 3; go on with offset=3]"),)
    )
    for path in (blob_path(others), "blob:", f"blob:{mine[:4]}", "blob:../../etc"):
        with pytest.raises(ToolError, match="names no output of this run"):
            await play(tool, scene, file_path=path)


async def test_the_facts_name_the_file_that_is_really_read(workspace: Path) -> None:
    top = workspace.parent
    (workspace / "src").mkdir()
    put(workspace / "src/b.txt", b"b")
    (workspace / "link").symlink_to("src/b.txt")
    tool, scene = a_tool(), a_scene(workspace)
    found = {}
    for path in ("link", "none.txt", f"{top}/x", "blob:0123456789ab"):
        call = a_call("read", file_path=path)
        facts = await tool.facts(call, ReadArguments(file_path=path), scene)
        assert facts == CallFacts(call, Effect.READ, paths=facts.paths)
        found[path] = facts.paths
    assert found == {
        "link": (PathFact(f"{top}/W/src/b.txt", Zone.INSIDE, writes=False),),
        "none.txt": (PathFact(f"{top}/W/none.txt", Zone.INSIDE, writes=False),),
        f"{top}/x": (PathFact(f"{top}/x", Zone.ELSEWHERE, writes=False),),
        "blob:0123456789ab": (),
    }
