"""The tool that reaches servers: what it shows, how its calls are judged, and how long servers live."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue

from kova_auto.core.approval.levels import Effect, Mode
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.mcp.server import Layer
from kova_auto.core.message import ResultStatus, ToolCall
from kova_auto.core.run import CallState
from tests.tools.mcp_scenes import FAST, Desk, a_desk, server

OK, ERROR, UNKNOWN = ResultStatus.OK, ResultStatus.ERROR, ResultStatus.UNKNOWN


async def where(desk: Desk) -> dict[str, JsonValue]:
    found = await desk.call("where")
    assert found.result.status is OK, found.text
    answer: dict[str, JsonValue] = json.loads(found.text)
    return answer


def is_alive(pid: JsonValue) -> bool:
    try:
        os.kill(int(str(pid)), 0)
    except ProcessLookupError:
        return False
    return True


async def gone(pid: JsonValue) -> bool:
    """Wait until a process has ended, for a while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(60):
            while is_alive(pid):  # noqa: ASYNC110  # it is no child of ours
                await asyncio.sleep(0.01)
    return not is_alive(pid)


async def test_a_tool_is_found_described_and_called(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server(description="The database")) as desk:
        found = await desk.do("search", query="again")
        shown = await desk.do("describe", server="db", tool="echo")
        done = await desk.call("echo", text="hi")
    assert found.text == "[1 of 1 tools that were found, 3 in all]\n- server=db tool=echo: Say it again"
    assert '{"type":"object","properties":{"text":{"type":"string"}}}' in shown.text
    assert (done.result.status, done.text) == (OK, "echo: hi")


async def test_a_server_that_knows_only_the_newer_way_is_spoken_to_that_way(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("modern")) as desk:
        found = await desk.call()
    assert (found.result.status, found.text) == (OK, "spoken the newer way")


async def test_an_answer_taints_the_run_and_a_search_does_not(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk:
        assert (await desk.do("search")).result.taints == ""
        assert (await desk.call()).result.taints == "an answer of the MCP server db"


async def test_only_a_run_that_has_servers_is_told_of_the_tool(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk, a_desk(tmp_path) as bare:
        for mode in Mode:
            assert [spec.name for spec in desk.toolbox.specs(desk.scene, mode)] == ["mcp"]
            assert desk.toolbox.specs(bare.scene, mode) == ()


async def test_a_call_is_judged_under_the_full_name_of_its_tool_as_one_that_changes_things(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server(), server(name="own", layer=Layer.WORKSPACE)) as desk:
        found = await desk.facts(server="db", tool="look")
        other = await desk.facts(server="own", tool="look")
    assert (found.call.tool, found.effect) == ("mcp__db__look", Effect.OUTWARD)
    assert (other.call.tool, other.effect) == ("mcp__workspace:own__look", Effect.OUTWARD)


@pytest.mark.parametrize("action", ["search", "describe"])
async def test_to_look_only_reads(tmp_path: Path, action: str) -> None:
    async with a_desk(tmp_path, server()) as desk:
        found = await desk.facts(action, server="db", tool="look")
    assert (found.call.tool, found.effect) == ("mcp", Effect.READ)


@pytest.mark.parametrize(
    ("tool", "trusted", "effect"),
    [("look", True, Effect.READ), ("echo", True, Effect.OUTWARD), ("look", False, Effect.OUTWARD)],
)
async def test_a_hint_of_the_server_counts_where_the_user_says_so(
    tmp_path: Path, tool: str, trusted: bool, effect: Effect
) -> None:
    async with a_desk(tmp_path, server(trust_read_only_hint=trusted)) as desk:
        assert (await desk.facts(server="db", tool=tool)).effect is Effect.OUTWARD  # nothing is known of it yet
        await desk.do("search")
        assert (await desk.facts(server="db", tool=tool)).effect is effect


async def test_to_judge_a_call_starts_no_server(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with a_desk(tmp_path, server("stubborn", str(log))) as desk:
        await desk.facts(server="db", tool="echo")
    assert not log.exists()


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"server": "dbb", "tool": "echo"}, "this run has no MCP server 'dbb'; there are: db"),
        ({"server": "db", "tool": "e\nx"}, "wanted the name of a tool of db, found 'e\\\\nx'"),
        ({"server": "db"}, "wanted the name of a tool of db, found ''"),
        ({"server": "db", "tool": "echo", "arguments": "no json"}, "arguments"),
        ({"server": "db", "tool": "echo", "args": {}}, "args is unknown, did you mean"),
    ],
)
async def test_a_call_that_means_nothing_is_answered_and_not_judged(
    tmp_path: Path, args: dict[str, JsonValue], said: str
) -> None:
    async with a_desk(tmp_path, server()) as desk:
        assert said in (await desk.facts(**args)).problem  # type: ignore[arg-type]  # its own arguments


async def test_a_full_name_and_arguments_in_a_text_are_understood(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk:
        found = await desk.do("call", tool="mcp__db__echo", arguments='{"text": "hi"}')
    assert found.text == "echo: hi"


async def test_a_tool_that_a_server_does_not_have_is_told_with_those_that_it_has(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk:
        found = await desk.call("ecko")
    assert (found.result.status, found.text) == (ERROR, "the MCP server db has no tool ecko; it has echo")


async def test_one_server_that_is_broken_does_not_hide_the_others(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("dies", name="bad"), server()) as desk:
        found = await desk.do("search", query="echo")
    assert "- server=db tool=echo" in found.text
    assert "[bad: the MCP server bad: it could not be started" in found.text


async def test_a_server_runs_in_the_workspace_with_what_it_is_given_and_no_more(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server(), env={"TOKEN": "x"}) as desk:
        found = await where(desk)
    env = found["env"]
    assert isinstance(env, dict)
    assert found["cwd"] == str(tmp_path / "work")
    assert sorted(set(env) - {"LC_CTYPE", "PWD", "SHLVL", "_"}) == ["KOVA_AUTO_CALL", "PATH", "TOKEN"]  # and bash's own


async def test_a_run_has_one_server_however_often_it_is_called(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk:
        pids = {str(found["pid"]) for found in await asyncio.gather(*(where(desk) for _ in range(5)))}
        assert len(pids) == 1


async def test_another_run_has_another_server(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk:
        mine = await where(desk)
        other = replace(desk, scene=replace(desk.scene, run_id=RunId("nightly@20250311T070000Z")))
        assert (await where(other))["pid"] != mine["pid"]
        await desk.toolbox.settle(other.scene)
        assert is_alive(mine["pid"])


async def test_a_run_that_settles_leaves_no_server(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk:
        pid = (await where(desk))["pid"]
        await desk.toolbox.settle(desk.scene)
        assert not is_alive(pid)
        assert list(desk.dirs.led()) == []
        await desk.toolbox.settle(desk.scene)


async def test_an_idle_server_is_ended_and_started_again_when_it_is_needed(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server(), limits=replace(FAST, idle_s=0.1)) as desk:
        first = (await where(desk))["pid"]
        assert await gone(first)
        assert (await where(desk))["pid"] != first


async def test_a_server_that_failed_to_start_is_tried_again_after_a_while(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("dies"), limits=replace(FAST, backoff_s=0.05)) as desk:
        await desk.call()
        await asyncio.sleep(0.1)
        assert "not tried again" not in (await desk.call()).text


async def test_what_a_killed_service_left_is_ended_before_the_next_server_starts(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as first:
        pid = (await where(first))["pid"]
        records = list(first.dirs.led())
        async with a_desk(tmp_path, server()) as second:  # the same run, in the service that comes after
            assert (await where(second))["pid"] != pid
            assert await gone(pid)
        assert len(records) == 1


async def test_the_record_of_a_server_is_there_before_it_runs(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk:
        pid = (await where(desk))["pid"]
        assert [leader.pid for _, leader in desk.dirs.led()] == [pid]


async def test_looking_again_starts_no_server_where_its_tools_are_known(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk:
        await desk.do("search")
    async with a_desk(tmp_path, server()) as desk:
        found = await desk.do("search", query="echo")
        assert "tool=echo" in found.text
        assert list(desk.dirs.led()) == []
        later = replace(desk.scene, now=desk.scene.now + timedelta(days=8))
        await replace(desk, scene=later).do("search")
        assert len(list(desk.dirs.led())) == 1


async def test_what_a_server_told_is_written_down_once_and_again_where_it_has_changed(tmp_path: Path) -> None:
    for way, times in (("good", 1), ("vanishes", 2)):
        async with a_desk(tmp_path / way, server(way)) as desk:
            await desk.call("look")
            (kept,) = (tmp_path / way / "tools").iterdir()
            first = kept.stat().st_ino
            await desk.call("look")
            assert (kept.stat().st_ino != first) == (times == 2)


async def test_another_configuration_is_asked_anew(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk:
        await desk.do("search")
    async with a_desk(tmp_path, server("poisons")) as desk:
        assert "tool=add" in (await desk.do("search")).text


async def test_tools_that_cannot_be_read_back_are_asked_for(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server()) as desk:
        await desk.do("search")
    for path in (tmp_path / "tools").iterdir():
        path.write_text('{"at": "now"')
    async with a_desk(tmp_path, server()) as desk:
        assert "tool=echo" in (await desk.do("search")).text


def cut_off(action: str) -> CallState:
    args: dict[str, JsonValue] = {"action": action, "server": "db", "tool": "echo"}
    return CallState(call=ToolCall(id=CallId("1.1"), tool="mcp", args=args))


async def test_a_call_that_was_cut_off_is_unknown_and_never_made_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with a_desk(tmp_path, server("good", str(log))) as desk:
        found = await desk.toolbox.recover(cut_off("call"), desk.scene)
    assert found.status is UNKNOWN
    assert not log.exists()
    assert not desk.toolbox.replay_safe("mcp")


@pytest.mark.parametrize(("action", "said"), [("search", "tool=echo"), ("describe", "server=db tool=echo")])
async def test_looking_that_was_cut_off_is_done_again(tmp_path: Path, action: str, said: str) -> None:
    async with a_desk(tmp_path, server()) as desk:
        found = await desk.toolbox.recover(cut_off(action), desk.scene)
    assert found.status is OK
    assert said in found.text


async def test_a_staged_run_calls_nothing_that_changes_things(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server(trust_read_only_hint=True)) as desk:
        staged = replace(desk, scene=replace(desk.scene, staged=True))
        await staged.do("search")
        assert "this run is staged" in (await staged.call("echo")).text
        assert (await staged.call("look")).result.status is OK


async def test_a_call_ends_with_the_time_of_its_run(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("silent", tool_timeout_s=60.0)) as desk:
        short = replace(desk, scene=replace(desk.scene, left_s=0.3))
        assert "within 0.3 s" in (await short.call()).text


async def test_a_caller_that_is_cancelled_leaves_a_server_that_can_be_settled(tmp_path: Path) -> None:
    called = tmp_path / "called"
    async with a_desk(tmp_path, server("deaf", str(called))) as desk:
        calling = asyncio.create_task(desk.call())
        async with asyncio.timeout(60):
            while not called.exists():  # noqa: ASYNC110  # another process makes it
                await asyncio.sleep(0.01)
        assert len(list(desk.dirs.led())) == 1
        calling.cancel()
        await asyncio.wait({calling})
        await desk.toolbox.settle(desk.scene)
        assert list(desk.dirs.led()) == []
