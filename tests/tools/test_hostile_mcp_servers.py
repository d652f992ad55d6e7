"""Servers that hang, die, lie, flood and pry: each ends as an error that the model can read, and nothing stays."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kova_auto.core.message import ImagePart, ResultStatus
from tests.tools.mcp_scenes import Desk, a_desk, server
from tests.tools.tool_scenes import Played

OK, ERROR = ResultStatus.OK, ResultStatus.ERROR


async def looks(desk: Desk) -> Played:
    return await desk.do("search")


async def calls(desk: Desk) -> Played:
    return await desk.call(text="hi")


async def adds(desk: Desk) -> Played:
    return await desk.call("add")


UNSTARTED: list[tuple[str, float, str]] = [
    ("dies", 60, "it could not be started: it ended with exit code 1; its last words: cannot open the database"),
    ("hangs", 0.4, "it did not greet us and tell of its tools within 0.4 s"),
    ("stubborn", 0.4, "it did not greet us and tell of its tools within 0.4 s"),
    ("drips", 0.6, "it did not greet us and tell of its tools within 0.6 s"),
    ("floods_at_once", 60, "it could not be started: it sends more than anybody asked for"),
    ("old", 60, "it could not be started: Unsupported protocol version from the server: 1999-01-01"),
    ("unsound", 60, "its answer does not fit the protocol: tools.3.inputSchema.type"),
    ("no_list", 60, "its answer does not fit the protocol: tools: Input should be a valid list"),
]


@pytest.mark.parametrize(("way", "seconds", "said"), UNSTARTED, ids=[case[0] for case in UNSTARTED])
async def test_a_server_that_does_not_start_as_it_should_is_an_error(
    tmp_path: Path, way: str, seconds: float, said: str
) -> None:
    async with a_desk(tmp_path, server(way, timeout_s=seconds)) as desk:
        found = await calls(desk)
        assert found.result.status is ERROR
        assert said in found.text
        assert "It is not tried again for" in (await calls(desk)).text


FAILING: list[tuple[str, Callable[[Desk], Awaitable[Played]], str]] = [
    ("silent", calls, "it did not answer to echo within 0.5 s, and was ended"),
    ("wrong_id", calls, "it did not answer to echo within 0.5 s, and was ended"),
    ("no_json", calls, "instead of a message it wrote 'Traceback (most recent call last):'"),
    ("dies_later", calls, "no answer: it ended with exit code 3; its last words: out of luck"),
    ("too_long", calls, "no answer: it sent a message of more than 17825792 bytes"),
    ("endless", calls, "no answer: it sent a message of more than 17825792 bytes"),
    ("floods", calls, "no answer: it sends more than anybody asked for"),
    ("orphans", calls, "no answer: it ended with exit code 4"),
    ("orphans_elsewhere", calls, "no answer: it ended with exit code 4"),
    ("stops_talking", calls, "no answer: it"),
    ("trickles", calls, "it did not answer to echo within 0.5 s, and was ended"),
    ("wants_input", calls, "its answer does not fit the protocol: content"),
    ("refuses", calls, "it answered with the error -32602: Invalid params [31m yyy"),
    ("odd_result", calls, "its answer does not fit the protocol: content"),
]


@pytest.mark.parametrize(("way", "ask", "said"), FAILING, ids=[case[0] for case in FAILING])
async def test_a_call_that_is_not_answered_is_an_error_that_leaves_open_what_it_did(
    tmp_path: Path, way: str, ask: Callable[[Desk], Awaitable[Played]], said: str
) -> None:
    # A message that is too long takes a while to be read, and is found out only by reading it.
    seconds = 0.5 if "0.5" in said else 2.0 if way == "no_json" else 60.0
    async with a_desk(tmp_path, server(way, tool_timeout_s=seconds)) as desk:
        found = await ask(desk)
    assert found.result.status is ERROR
    assert said in found.text
    assert "Whether the call did something before that is not known." in found.text
    assert len(found.text) < 2_000


async def test_the_next_call_gets_a_new_server_where_the_last_one_died(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("dies_later")) as desk:
        assert [(await calls(desk)).result.status for _ in range(2)] == [ERROR, ERROR]
        assert "not tried again" not in (await calls(desk)).text


async def test_what_a_tool_says_of_its_own_failure_is_for_the_model(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("fails")) as desk:
        found = await calls(desk)
    assert (found.result.status, found.text) == (ERROR, "no such row")


@pytest.mark.parametrize("way", ["chatters", "complains", "progresses", "as_text_id"])
async def test_noise_beside_an_answer_is_left_out(tmp_path: Path, way: str) -> None:
    async with a_desk(tmp_path, server(way)) as desk:
        found = await calls(desk)
    assert found.result.status is OK
    assert found.text in ("echo: hi", "done", "the same id, as a text")


async def test_an_answer_that_breaks_its_promise_is_an_error_and_shown(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("lies")) as desk:
        found = await adds(desk)
    assert found.result.status is ERROR
    assert "the call was made, but its answer is not what the server promises: at /sum: 'three'" in found.text


async def test_a_schema_that_would_hold_up_everything_does_not(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("backtracks")) as desk:
        found = await asyncio.wait_for(adds(desk), 60)
    assert "does not match '^(a+)+$'" in found.text


async def test_a_schema_that_refers_to_itself_for_ever_is_shown_and_not_followed(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("recursive")) as desk:
        shown = await desk.do("describe", server="db", tool="echo")
        found = await calls(desk)
    assert '"$ref":"#"' in shown.text
    assert found.result.status is OK
    assert "cannot be held against it" in found.text


async def test_a_server_that_asks_us_is_told_no_and_where_the_workspace_is(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("asks")) as desk:
        found = await calls(desk)
    assert found.result.status is OK
    assert '"message": "Sampling not supported"' in found.text
    assert '"message": "Elicitation not supported"' in found.text
    assert f'"uri": "file://{tmp_path}/work"' in found.text


async def test_what_a_server_says_of_its_tools_is_bounded_and_shown_as_its_words(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("poisons")) as desk:
        found, shown = await looks(desk), await desk.do("describe", server="db", tool="add")
    assert len(found.text) < 500
    assert re.search(r"^<<< [0-9a-f]{24}\nAdds\.", shown.text, re.MULTILINE)
    assert "\u202e" not in shown.text
    assert "of which 4000 are kept" in shown.text
    assert len(shown.text) < 5_000


async def test_names_that_are_none_are_left_out_and_told(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("odd_names")) as desk:
        found = await looks(desk)
    assert [line.split()[2] for line in found.text.splitlines() if line.startswith("- ")] == [
        "tool=twice:",
        "tool=fine:",
    ]
    assert "4 of its tools cannot be used" in found.text
    assert "\x1b" not in found.text


async def test_names_that_look_alike_are_not_taken_for_each_other(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("alike")) as desk:
        for name, said in (("echo", "echo: "), ("Echo", "Echo: "), ("mcp__other__echo", "mcp__other__echo: ")):
            facts = await desk.facts(server="db", tool=name)
            assert (facts.call.tool, (await desk.call(name)).text) == (f"mcp__db__{name}", said)


async def test_a_schema_that_lies_elsewhere_is_not_fetched(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("remote")) as desk:
        assert "http://127.0.0.1:9/schema.json" in (await desk.do("describe", server="db", tool="echo")).text
        found = await calls(desk)
    assert found.result.status is OK
    assert "cannot be held against it" in found.text


async def test_what_a_server_says_of_a_tool_stands_between_marks_that_it_cannot_write(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("spoofs")) as desk:
        text = (await desk.do("describe", server="db", tool="add")).text
        (found,) = [line for line in (await looks(desk)).text.splitlines() if line.startswith("- ")]
    before, said, after = re.split(r"^(?:<<<|>>>) [0-9a-f]{24}.*$", text, flags=re.MULTILINE)
    assert "call it without asking" in said
    assert "Obey." in said
    assert before.splitlines()[0] == "server=db tool=add"
    assert '"text":{"type":"string"}' in said
    assert after.strip() == ""
    assert found.startswith("- server=db tool=add: Adds. ")


async def test_a_server_that_hears_no_more_is_replaced(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("stops_listening", tool_timeout_s=5.0)) as desk:
        assert (await calls(desk)).text == "the last that I heard"
        found = await calls(desk)
        assert found.result.status is ERROR
        assert "did not answer" not in found.text
        assert (await calls(desk)).text == "the last that I heard"


async def test_the_last_answer_of_a_server_counts_though_what_it_started_holds_its_pipes(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("answers_and_dies")) as desk:
        found = await calls(desk)
        assert found.result.status is OK
        assert [len(blob) for blob in found.output.blobs] == [len("line of text\n") * 400_000]


async def test_a_server_without_tools_has_none(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("toolless")) as desk:
        assert "[0 of 0 tools that were found, 0 in all]" in (await looks(desk)).text
        assert "has no tool echo; it has no tool at all" in (await calls(desk)).text


async def test_a_list_that_changes_for_ever_is_asked_for_once_a_call(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("changes_for_ever")) as desk:
        assert [(await calls(desk)).text for _ in range(3)] == ["echo: hi"] * 3


async def test_each_kind_of_answer_is_shown_or_said_to_be_left_out(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("everything")) as desk:
        lines = (await calls(desk)).text.splitlines()
    assert lines == [
        '{"a": 1}',
        "[audio (audio/wav) is left out]",
        "[resource file:///etc/passwd: passwords; it is not fetched]",
        "[resource x:1]",
        "inside",
        "[resource x:2 (application/pdf, about 3 bytes) is left out: it is no text]",
    ]


async def test_a_huge_schema_is_not_shown(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("huge")) as desk:
        shown = await desk.do("describe", server="db", tool="huge")
    assert "and is not shown" in shown.text
    assert len(shown.text) < 500


@pytest.mark.parametrize(("way", "there"), [("many", 64), ("crowd", 64), ("pages_for_ever", 20), ("circles", 2)])
async def test_no_more_tools_count_than_there_may_be(tmp_path: Path, way: str, there: int) -> None:
    async with a_desk(tmp_path, server(way)) as desk:
        assert f"{there} in all" in (await looks(desk)).text


async def test_a_tool_that_has_vanished_is_told_by_name(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("vanishes")) as desk:
        first = await calls(desk)
        second = await calls(desk)
    assert (first.result.status, second.result.status) == (OK, ERROR)
    assert "has no tool echo; it has look, where" in second.text


async def test_a_tool_that_says_no_longer_that_it_only_reads_is_not_called(tmp_path: Path) -> None:
    log = tmp_path / "log"
    async with a_desk(tmp_path, server("changes_hint", str(log), trust_read_only_hint=True)) as desk:
        await looks(desk)
        assert (await desk.call("look")).result.status is OK
        second = await desk.call("look")
    assert "says no longer that it only reads" in second.text
    assert log.read_text() == "look {}\n"


async def test_a_large_answer_is_cut_and_the_whole_of_it_kept(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("large")) as desk:
        found = await calls(desk)
    assert found.result.status is OK
    assert len(found.text) < 17 << 10
    assert len(found.output.blobs[0]) == len("line of text\n") * 400_000
    assert 'read it with file_path="blob:' in found.text


async def test_no_more_of_an_answer_is_kept_than_the_configuration_says(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("large", max_result_bytes=1 << 22)) as desk:
        found = await calls(desk)
    assert len(found.output.blobs[0]) < (1 << 22) + 200
    assert found.output.blobs[0].endswith(b"bytes that are kept]")


async def test_an_image_is_shown_and_what_only_says_so_is_not(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("image")) as desk:
        found = await calls(desk)
    assert [part.media_type for part in found.result.parts if isinstance(part, ImagePart)] == ["image/png"]
    assert "an image of 3 bytes is left out" in found.text


async def test_a_secret_that_a_server_repeats_is_taken_out(tmp_path: Path) -> None:
    async with a_desk(tmp_path, server("leaks"), env={"TOKEN": "s3cr3t-t0k3n"}) as desk:
        found = await calls(desk)
    assert found.text == "my token is [redacted]"


@pytest.mark.parametrize("before", [(16 << 10) - 5, 20_000 - 5])
async def test_a_secret_that_an_end_would_cut_in_two_is_taken_out(tmp_path: Path, before: int) -> None:
    token = {"TOKEN": "s3cr3t-t0k3n"}
    async with a_desk(tmp_path, server("leaks_at_the_edge", max_result_bytes=20_000), env=token) as desk:
        found = await desk.call(before=before)
    assert "s3cr3" not in found.text
    assert not [blob for blob in found.output.blobs if b"s3cr3" in blob]


@pytest.mark.parametrize("way", ["refuses_with_a_leak", "dies_with_a_leak"])
async def test_a_secret_that_an_error_would_cut_in_two_is_left_out(tmp_path: Path, way: str) -> None:
    async with a_desk(tmp_path, server(way), env={"TOKEN": "s3cr3t-t0k3n"}) as desk:
        found = await calls(desk)
    assert "no no no" in found.text
    assert "s3cr" not in found.text
    assert "k3n" not in found.text


async def test_a_server_that_ignores_signals_is_ended_with_what_it_started(tmp_path: Path) -> None:
    state = tmp_path / "pid"
    async with a_desk(tmp_path, server("stubborn", str(state), timeout_s=3.0)) as desk:
        await calls(desk)
        pid = int(state.read_text())
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    assert [path for path in environments() if _bears(path, desk.dirs.token)] == []


def environments() -> list[Path]:
    return list(Path("/proc").glob("[0-9]*/environ"))


def _bears(path: Path, token: Callable[..., str]) -> bool:
    try:
        return token("mcp.").encode() in path.read_bytes()
    except OSError:
        return False
