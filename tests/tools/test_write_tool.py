"""What a write does to a file, and what is known of one that was cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.approval.levels import Effect
from kova_auto.core.errors import ToolError
from kova_auto.core.event import CallStarted, WritePlanned
from kova_auto.core.ids import CallId, blob_hash
from kova_auto.core.message import FileChange, ResultStatus, TextPart, ToolResult, told
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, PathFact, WriteAnnounced, Zone
from kova_auto.tools.changing import tag_of
from kova_auto.tools.files import temp_prefix
from kova_auto.tools.read import ReadTool
from kova_auto.tools.write import WriteArguments, WriteTool
from tests.tools.tool_scenes import ALLOWED, NOW, a_call, a_scene, after, content, names, no_blob, play, put, some_roots


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "W"
    made.mkdir()
    return made


def a_tool() -> WriteTool:
    return WriteTool(some_roots())


async def test_a_new_file_is_announced_before_it_is_there(workspace: Path) -> None:
    scene, path = a_scene(workspace), workspace / "deep/er/a.txt"
    run = a_tool().run(WriteArguments(file_path="deep/er/a.txt", content="one\n"), scene, ALLOWED)
    change = FileChange(path=str(path), before=None, after=blob_hash(b"one\n"))
    assert await anext(run) == WriteAnnounced(change, blobs=(b"one\n",))
    assert not path.parent.parent.exists()
    done = await anext(run)
    assert content(path) == b"one\n"
    assert getattr(done, "result", None) == ToolResult(
        status=ResultStatus.OK,
        parts=(TextPart(text="Created deep/er/a.txt (now 4 bytes, 1 lines)."),),
        changes=(change,),
    )


async def test_a_write_that_is_not_resumed_changes_nothing(workspace: Path) -> None:
    path = put(workspace / "a.txt", b"old")
    scene = a_scene(workspace, seen={str(path): blob_hash(b"old")})
    run = a_tool().run(WriteArguments(file_path="a.txt", content="new"), scene, ALLOWED)
    await anext(run)
    await run.aclose()
    assert content(path) == b"old"


async def test_an_existing_file_is_overwritten_once_it_was_read(workspace: Path) -> None:
    put(workspace / "a.txt", b"old").chmod(0o640)
    scene = a_scene(workspace)
    read = await play(ReadTool(some_roots(), no_blob), scene, file_path="a.txt")
    done = await play(a_tool(), after(scene, read), file_path="a.txt", content="new")
    change = FileChange(path=str(workspace / "a.txt"), before=blob_hash(b"old"), after=blob_hash(b"new"), mode=0o640)
    assert done.announced == (WriteAnnounced(change, blobs=(b"old", b"new")),)
    assert content(workspace / "a.txt") == b"new"
    again = await play(a_tool(), after(scene, read, done), file_path="a.txt", content="newer")
    assert again.text == "Overwrote a.txt (now 5 bytes, 0 lines)."


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (None, "a.txt exists and was not read in this run; read it first"),
        (b"older", "a.txt has changed since it was read"),
    ],
)
async def test_what_the_model_does_not_know_is_not_overwritten(workspace: Path, seen: bytes | None, why: str) -> None:
    path = put(workspace / "a.txt", b"old")
    scene = a_scene(workspace, seen={} if seen is None else {str(path): blob_hash(seen)})
    with pytest.raises(ToolError, match=why):
        await play(a_tool(), scene, file_path="a.txt", content="new")
    assert content(path) == b"old"


async def test_adding_to_the_end_needs_no_reading(workspace: Path) -> None:
    put(workspace / "log", b"one\n")
    done = await play(a_tool(), a_scene(workspace), file_path="log", content="two\n", mode="append")
    assert done.text == "Added to log (now 8 bytes, 2 lines)."
    assert content(workspace / "log") == b"one\ntwo\n"
    await play(a_tool(), a_scene(workspace), file_path="new", content="x", mode="append")
    assert content(workspace / "new") == b"x"


async def test_a_json_file_must_parse_afterwards(workspace: Path) -> None:
    with pytest.raises(ToolError, match=r"a\.json would not be valid JSON: Expecting value: line 1 column 2"):
        await play(a_tool(), a_scene(workspace), file_path="a.json", content="[")
    assert not (workspace / "a.json").exists()
    await play(a_tool(), a_scene(workspace), file_path="a.json", content='{"a": 1}')
    with pytest.raises(ToolError, match="Extra data"):
        await play(a_tool(), a_scene(workspace), file_path="a.json", content="x", mode="append")


async def test_a_json_file_with_comments_may_keep_them(workspace: Path) -> None:
    path = put(workspace / "tsconfig.json", b"{} // mine\n")
    scene = a_scene(workspace, seen={str(path): blob_hash(b"{} // mine\n")})
    await play(a_tool(), scene, file_path="tsconfig.json", content="{} // yours\n")
    assert content(path) == b"{} // yours\n"


async def test_half_a_character_is_refused(workspace: Path) -> None:
    with pytest.raises(ToolError, match="half a character at position 1"):
        await play(a_tool(), a_scene(workspace), file_path="a", content="x\ud800")


async def test_more_than_the_bound_is_refused(workspace: Path) -> None:
    with pytest.raises(ToolError, match="would have 8388609 bytes; this tool writes at most 8388608"):
        await play(a_tool(), a_scene(workspace), file_path="a", content="x" * (8 * 1024 * 1024 + 1))


async def test_a_control_file_is_not_written_whatever_was_decided(workspace: Path) -> None:
    with pytest.raises(ToolError, match="control file"):
        await play(a_tool(), a_scene(workspace), file_path=".git/hooks/pre-commit", content="x")
    await play(a_tool(), a_scene(workspace), file_path="AGENTS.md", content="a person let this through")
    assert content(workspace / "AGENTS.md") == b"a person let this through"


async def test_the_facts_name_the_file_and_its_zone(workspace: Path) -> None:
    top, tool, found = workspace.parent, a_tool(), {}
    scene = a_scene(workspace, write_roots=(top,))
    for path in ("a.txt", f"{top}/x", "/x", ".envrc", "AGENTS.md"):
        call = a_call("write", file_path=path, content="")
        facts = await tool.facts(call, WriteArguments(file_path=path, content=""), scene)
        assert facts == CallFacts(call, Effect.WRITE, paths=facts.paths)
        found[path] = facts.paths
    assert found == {
        "a.txt": (PathFact(f"{workspace}/a.txt", Zone.INSIDE, writes=True),),
        f"{top}/x": (PathFact(f"{top}/x", Zone.WRITE_ROOT, writes=True),),
        "/x": (PathFact("/x", Zone.ELSEWHERE, writes=True),),
        ".envrc": (PathFact(f"{workspace}/.envrc", Zone.CONTROL, writes=True),),
        "AGENTS.md": (PathFact(f"{workspace}/AGENTS.md", Zone.GUARDED, writes=True),),
    }


async def test_a_write_elsewhere_follows_no_link(workspace: Path) -> None:
    top = workspace.parent
    (top / "real").mkdir()
    (top / "link").symlink_to("real")
    await play(a_tool(), a_scene(workspace), file_path=f"{top}/real/a", content="x")
    assert content(top / "real/a") == b"x"
    with pytest.raises(ToolError, match=f"what it leads to is {top}/real/b: name that"):
        await play(a_tool(), a_scene(workspace), file_path=f"{top}/link/b", content="x")


def cut_off(workspace: Path, *, before: bytes | None, after: bytes) -> CallState:
    change = FileChange(
        path=str(workspace / "a.txt"),
        before=None if before is None else blob_hash(before),
        after=blob_hash(after),
    )
    key = CallId("1.1")
    return CallState(
        a_call("write", file_path="a.txt", content=after.decode()),
        started=CallStarted(at=NOW, call_id=key),
        in_doubt=True,
        planned=(WritePlanned(at=NOW, call_id=key, change=change),),
    )


async def test_a_cut_off_write_that_happened_is_known_to_have(workspace: Path) -> None:
    path, call = put(workspace / "a.txt", b"new"), cut_off(workspace, before=b"old", after=b"new")
    said = f"This call was interrupted, but {path} holds what it was to write."
    assert await a_tool().recover(call, a_scene(workspace)) == ToolResult(
        status=ResultStatus.OK, parts=(TextPart(text=said),), changes=(call.planned[0].change,)
    )


@pytest.mark.parametrize(
    ("now", "before", "status", "said"),
    [
        (b"old", b"old", ResultStatus.ERROR, "This call was interrupted before it wrote; {} is as it was."),
        (None, None, ResultStatus.ERROR, "This call was interrupted before it wrote; {} is as it was."),
        (
            b"other",
            b"old",
            ResultStatus.UNKNOWN,
            "This call was interrupted, and {} holds neither the old nor the new content: read it.",
        ),
    ],
)
async def test_a_cut_off_write_is_told_apart_by_what_is_there(
    workspace: Path, now: bytes | None, before: bytes | None, status: ResultStatus, said: str
) -> None:
    path = workspace / "a.txt"
    if now is not None:
        put(path, now)
    found = await a_tool().recover(cut_off(workspace, before=before, after=b"new"), a_scene(workspace))
    assert found == told(status, said.format(path))


async def test_a_write_cut_off_before_it_was_announced_did_nothing(workspace: Path) -> None:
    call = CallState(a_call("write", file_path="a.txt", content="x"), in_doubt=True)
    found = await a_tool().recover(call, a_scene(workspace))
    assert found == told(ResultStatus.ERROR, "This call was interrupted before it wrote anything; nothing was changed.")


async def test_what_a_killed_write_left_beside_the_file_is_removed(workspace: Path) -> None:
    scene = a_scene(workspace)
    put(workspace / f"{temp_prefix(tag_of(scene))}0123456789abcdef", b"half")
    kept = put(workspace / f"{temp_prefix('another call')}0123456789abcdef", b"half")
    put(workspace / "a.txt", b"old")
    await a_tool().recover(cut_off(workspace, before=b"old", after=b"new"), scene)
    assert names(workspace) == sorted([kept.name, "a.txt"])
