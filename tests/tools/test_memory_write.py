"""Writing a note: announced before, at once, in its layer and nowhere else; and what is known of one cut off."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.levels import Effect
from kova_auto.core.context.memory import MAX_NOTE_BYTES
from kova_auto.core.errors import ToolArgumentsError, ToolError, ToolFailedError
from kova_auto.core.event import CallStarted, WritePlanned
from kova_auto.core.ids import CallId, blob_hash
from kova_auto.core.message import FileChange, ResultStatus
from kova_auto.core.run import CallState
from kova_auto.core.tool import PathFact, WriteAnnounced, Zone
from kova_auto.tools.arguments import arguments_of
from kova_auto.tools.edit import EditArguments, EditTool
from kova_auto.tools.memory.write import MemoryWriteArguments
from kova_auto.tools.read import ReadTool
from kova_auto.tools.write import WriteArguments, WriteTool
from tests.tools.memories import Memories
from tests.tools.tool_scenes import ALLOWED, NOW, RUN, a_call, content, names, no_blob, play, put

KEPT_AT = f"<!-- 2025-03-10T07:00:00Z run {RUN} -->\n"


@pytest.fixture
def memories(tmp_path: Path) -> Memories:
    return Memories.of(tmp_path)


def said(text: str, **more: str) -> MemoryWriteArguments:
    return MemoryWriteArguments.model_validate({"scope": "workspace", "content": text, **more})


async def test_a_note_is_announced_before_it_is_there(memories: Memories) -> None:
    path, data = memories.here / "MEMORY.md", (KEPT_AT + "Use tabs.\n").encode()
    run = memories.write.run(said("Use tabs."), memories.scene(), ALLOWED)
    change = FileChange(path=str(path), before=None, after=blob_hash(data))
    assert await anext(run) == WriteAnnounced(change, blobs=(data,))
    assert not memories.here.exists()
    result = getattr(await anext(run), "result", None)
    assert content(path) == data
    assert result
    assert result.changes == (change,)
    assert result.text == f"Began the note workspace/MEMORY.md (now {len(data)} bytes, 2 lines)."


async def test_a_write_that_is_not_resumed_changes_nothing(memories: Memories) -> None:
    path = put(memories.here / "MEMORY.md", b"old\n")
    run = memories.write.run(said("new"), memories.scene(), ALLOWED)
    announced = await anext(run)
    await run.aclose()
    assert isinstance(announced, WriteAnnounced)
    assert announced.blobs[0] == b"old\n"
    assert content(path) == b"old\n"
    assert names(memories.here) == ["MEMORY.md"]


async def test_appending_is_the_default_and_keeps_what_is_there(memories: Memories) -> None:
    put(memories.here / "MEMORY.md", b"# Ours\n\nUse tabs.\n\n\n")
    await play(memories.write, memories.scene(), scope="workspace", content="\nNo semicolons.\n")
    assert content(memories.here / "MEMORY.md").decode() == f"# Ours\n\nUse tabs.\n\n{KEPT_AT}No semicolons.\n"


async def test_overwriting_replaces_all_of_it_and_keeps_its_mode(memories: Memories) -> None:
    path = put(memories.here / "lessons.md", b"old\n")
    path.chmod(0o640)
    done = await play(
        memories.write, memories.scene(), scope="workspace", content="new", file="lessons.md", mode="overwrite"
    )
    assert content(path).decode() == KEPT_AT + "new\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert done.text.startswith("Overwrote the note workspace/lessons.md")


async def test_the_global_memory_is_its_users_alone(memories: Memories) -> None:
    await play(memories.write, memories.scene(), scope="global", content="Answer in German.")
    path = memories.everywhere / "MEMORY.md"
    assert content(path).decode().endswith("Answer in German.\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_daily_note_is_written_below_daily(memories: Memories) -> None:
    await play(memories.write, memories.scene(), scope="workspace", content="Rain.", file="daily/2025-03-10.md")
    assert content(memories.here / "daily/2025-03-10.md").decode() == KEPT_AT + "Rain.\n"


async def test_whose_words_a_note_may_hold_is_said_in_it(memories: Memories) -> None:
    scene = memories.scene(tainted_by="the web page https://x.org/--><script>" + "y" * 900)
    await play(memories.write, scene, scope="workspace", content="Obey.")
    first, *rest = content(memories.here / "MEMORY.md").decode().splitlines()
    assert first.startswith(f"<!-- 2025-03-10T07:00:00Z run {RUN}, which had read the web page https://x.org/- -%3E")
    assert first.count("-->") == 1
    assert len(first) < 500
    assert rest == ["Obey."]


async def test_the_workspaces_memory_is_inside_and_the_users_elsewhere(memories: Memories) -> None:
    found = []
    for scope in ("workspace", "global"):
        call = a_call("memory_write", scope=scope, content="x")
        found.append(await memories.write.facts(call, said("x", scope=scope), memories.scene()))
    assert [fact.effect for fact in found] == [Effect.MEMORY, Effect.MEMORY]
    assert [fact.paths for fact in found] == [
        (PathFact(str(memories.here / "MEMORY.md"), Zone.INSIDE, writes=True),),
        (PathFact(str(memories.everywhere / "MEMORY.md"), Zone.ELSEWHERE, writes=True),),
    ]


async def test_where_the_workspace_is_the_users_home_its_memory_is_the_global_one(memories: Memories) -> None:
    at_home = Memories(memories.home, memories.home)
    facts = await at_home.write.facts(a_call("memory_write"), said("x"), at_home.scene())
    assert facts.paths == (PathFact(str(at_home.everywhere / "MEMORY.md"), Zone.ELSEWHERE, writes=True),)


async def test_a_write_root_around_the_global_memory_does_not_make_it_near(memories: Memories) -> None:
    scene = memories.scene(write_roots=(str(memories.home),))
    facts = await memories.write.facts(a_call("memory_write"), said("x", scope="global"), scene)
    assert [path.zone for path in facts.paths] == [Zone.ELSEWHERE]


@pytest.mark.parametrize("scope", ["workspace", "global"])
async def test_a_layer_that_the_job_does_not_name_is_not_written(memories: Memories, scope: str) -> None:
    other = {"workspace": "global", "global": "workspace"}[scope]
    scene = memories.scene(memory=(other, "job"))
    with pytest.raises(ToolFailedError, match=rf"scope '{scope}' is not in the \[context\] memory .* there is {other}"):
        await memories.write.facts(a_call("memory_write"), said("x", scope=scope), scene)
    with pytest.raises(ToolFailedError, match="is not in"):
        await play(memories.write, scene, scope=scope, content="x")


async def test_a_staged_run_keeps_to_the_memory_of_its_copy(memories: Memories) -> None:
    scene = memories.scene(staged=True)
    await play(memories.write, scene, scope="workspace", content="x")
    with pytest.raises(ToolFailedError, match="is staged and writes nothing outside its copy"):
        await memories.write.facts(a_call("memory_write"), said("x", scope="global"), scene)
    assert not memories.everywhere.exists()


def test_it_is_offered_to_runs_with_a_memory_alone(memories: Memories) -> None:
    for tool in (memories.write, memories.read, memories.search):
        assert tool.offered(memories.scene(memory=("global",)))
        assert not tool.offered(memories.scene(memory=("job",)))
        assert not tool.offered(memories.scene(memory=()))


@pytest.mark.parametrize("file", ["../x.md", "/etc/x.md", ".history/x.md", "x.txt", "daily/../x.md", ".trash/a.md", ""])
async def test_no_name_leads_out_of_a_layer(memories: Memories, file: str) -> None:
    with pytest.raises(ToolError, match="names no note"):
        await play(memories.write, memories.scene(), scope="workspace", content="x", file=file)
    assert names(memories.workspace) == []


@given(file=st.text(max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=60)
async def test_whatever_the_name_only_the_layer_is_written(memories: Memories, file: str) -> None:
    try:
        done = await play(memories.write, memories.scene(), scope="workspace", content="x", file=file, mode="overwrite")
    except ToolError:
        return
    assert Path(done.result.changes[0].path).parent in (memories.here, memories.here / "daily")


@pytest.mark.parametrize("linked", [".kova", ".kova/memory", ".kova/memory/MEMORY.md", ".kova/memory/.history"])
async def test_no_link_is_followed(memories: Memories, linked: str) -> None:
    elsewhere = memories.home / "private"
    elsewhere.mkdir()
    put(elsewhere / "kept", b"private")
    link = memories.workspace / linked
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(elsewhere / "kept" if linked.endswith(".md") else elsewhere)
    with pytest.raises(ToolFailedError):
        await play(memories.write, memories.scene(), scope="workspace", content="x")
    assert names(elsewhere) == ["kept"]
    assert content(elsewhere / "kept") == b"private"


async def test_a_note_with_a_second_name_elsewhere_is_not_changed(memories: Memories) -> None:
    other = put(memories.home / "other.md", b"old\n")
    memories.here.mkdir(parents=True)
    (memories.here / "MEMORY.md").hardlink_to(other)
    with pytest.raises(ToolFailedError, match="has 2 names"):
        await play(memories.write, memories.scene(), scope="workspace", content="x")


@pytest.mark.parametrize(("data", "why"), [(b"a\xff", "found byte 0xff at 1"), (b"a\0", "there is a NUL")])
async def test_what_is_no_text_is_not_added_to(memories: Memories, data: bytes, why: str) -> None:
    put(memories.here / "MEMORY.md", data)
    with pytest.raises(ToolFailedError, match=why):
        await play(memories.write, memories.scene(), scope="workspace", content="x")


async def test_what_is_no_text_is_replaced_and_kept_as_a_version(memories: Memories) -> None:
    put(memories.here / "MEMORY.md", b"a\xff")
    await play(memories.write, memories.scene(), scope="workspace", content="x", mode="overwrite")
    assert memories.book().version("MEMORY.md", 1) == b"a\xff"


async def test_no_note_grows_beyond_its_bound(memories: Memories) -> None:
    full = put(memories.here / "MEMORY.md", b"x" * MAX_NOTE_BYTES)
    with pytest.raises(ToolFailedError, match=f"a note may have {MAX_NOTE_BYTES}: shorten it"):
        await play(memories.write, memories.scene(), scope="workspace", content="x")
    assert full.stat().st_size == MAX_NOTE_BYTES


@pytest.mark.parametrize("content_", ["", "x" * 20_001])
def test_so_much_is_kept_at_once(memories: Memories, content_: str) -> None:
    with pytest.raises(ToolArgumentsError, match="content: "):
        arguments_of(memories.write, a_call("memory_write", scope="workspace", content=content_))


async def test_a_note_that_changed_meanwhile_is_left_and_no_version_stays(memories: Memories) -> None:
    path = put(memories.here / "MEMORY.md", b"old\n")
    run = memories.write.run(said("mine"), memories.scene(), ALLOWED)
    await anext(run)
    put(path, b"theirs\n")
    with pytest.raises(ToolFailedError, match="changed by somebody else just now"):
        await anext(run)
    assert content(path) == b"theirs\n"
    assert [version.source for version in memories.book().versions("MEMORY.md")] == ["external"]


async def test_to_every_other_tool_a_memory_is_a_control_path(memories: Memories) -> None:
    put(memories.here / "MEMORY.md", b"old\n")
    scene, path = memories.scene(), ".kova/memory/MEMORY.md"
    tools = WriteTool(memories.roots), EditTool(memories.roots)
    facts = [
        await tools[0].facts(a_call("write"), WriteArguments(file_path=path, content="x"), scene),
        await tools[1].facts(a_call("edit"), EditArguments(file_path=path, old_string="old", new_string="new"), scene),
    ]
    assert [[fact.zone for fact in found.paths] for found in facts] == [[Zone.CONTROL], [Zone.CONTROL]]
    await play(ReadTool(memories.roots, no_blob), scene, file_path=path)
    with pytest.raises(ToolFailedError, match="is a control file, which no tool writes"):
        await play(WriteTool(memories.roots), scene, file_path=path, content="x", mode="append")


def cut_off(*planned: FileChange) -> CallState:
    return CallState(
        call=a_call("memory_write", scope="workspace", content="x"),
        started=CallStarted(at=NOW, call_id=CallId("1.1")),
        planned=tuple(WritePlanned(at=NOW, call_id=CallId("1.1"), change=change) for change in planned),
    )


async def test_what_is_known_of_a_note_that_was_cut_off(memories: Memories) -> None:
    path = memories.here / "MEMORY.md"
    change = FileChange(path=str(path), before=blob_hash(b"old\n"), after=blob_hash(b"new\n"))
    tool, scene = memories.write, memories.scene()
    found = [await tool.recover(cut_off(), scene)]
    for data in (b"old\n", b"new\n", b"other\n"):
        put(path, data)
        found.append(await tool.recover(cut_off(change), scene))
    statuses = [result.status for result in found if result]
    assert statuses == [ResultStatus.ERROR, ResultStatus.ERROR, ResultStatus.OK, ResultStatus.UNKNOWN]
    assert found[2]
    assert found[2].changes == (change,)
