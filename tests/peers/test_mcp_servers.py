"""MCP servers by others, as the registry has them, driven through whole runs: on this machine and over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import JsonValue

from kova_auto.core.event import CallFinished
from kova_auto.core.job import Outcome
from kova_auto.core.message import ImagePart, ResultStatus
from kova_auto.core.run import RunState
from tests.app.houses import Home, id_of
from tests.app.mcp_homes import FULL, a_script, configure, ran, rules, texts
from tests.peers.servers import BIN, NODE_MODULES, SET_UP, served
from tests.support.ports import free_port

pytestmark = pytest.mark.slow

OK, ERROR, DENIED = ResultStatus.OK, ResultStatus.ERROR, ResultStatus.DENIED
PACKAGES = NODE_MODULES / "@modelcontextprotocol"
FILESYSTEM = PACKAGES / "server-filesystem" / "dist" / "index.js"
EVERYTHING = PACKAGES / "server-everything" / "dist" / "index.js"


def node(program: Path, *args: str, **keys: JsonValue) -> dict[str, JsonValue]:
    """Return the configuration of a server that Node runs."""
    assert program.exists(), SET_UP
    return {"command": str(BIN / "node"), "args": [str(program), *args], "timeout": 60, **keys}


def call(tool: str, server: str = "it", **arguments: JsonValue) -> dict[str, JsonValue]:
    return {"action": "call", "server": server, "tool": tool, "arguments": arguments}


def statuses(state: RunState) -> list[ResultStatus | None]:
    return [one.result.status if one.result else None for one in state.calls.values()]


IT = '[mcp]\nservers = ["it"]\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path.resolve())
    found.workspace.mkdir()
    return found


async def test_a_server_for_files_is_looked_through_and_writes_what_it_may(home: Home) -> None:
    place = home.workspace  # The root that we name takes the place of the one that it is started with.
    (place / "a.txt").write_text("one\ntwo\n")
    configure(home.path, it=node(FILESYSTEM, str(place), trustReadOnlyHint=True))
    script = a_script(
        {"action": "search", "query": "write file"},
        {"action": "describe", "server": "it", "tool": "write_file"},
        call("write_file", path=str(place / "b.txt"), content="three\n"),
        call("read_text_file", path=str(place / "a.txt")),
        call("read_text_file", path="/etc/hostname"),
        call("write_file", path=str(place / "c.txt"), content="four\n"),
        call("no_such_tool"),
    )
    async with home.house() as house:
        state = await ran(home, house, FULL + IT, script)
        events = await house.store.journal.events(id_of("look"))
    assert statuses(state) == [OK, OK, OK, OK, ERROR, DENIED, DENIED]
    said = texts(state)
    assert "- server=it tool=write_file: " in said[0]
    assert '"content"' in said[1]
    assert (place / "b.txt").read_text() == "three\n"
    assert said[3] == "one\ntwo\n"
    assert "Access denied" in said[4]
    assert rules(state)[5:] == ["taint", "taint"]
    assert not (place / "c.txt").exists()
    assert sum(isinstance(event, CallFinished) for _, event in events) == 7
    assert state.finished
    assert state.finished.outcome is Outcome.DONE


@contextmanager
def over_http(log: Path) -> Iterator[str]:
    port = free_port()
    command = (BIN / "node", EVERYTHING, "streamableHttp")
    with served(command, f"http://127.0.0.1:{port}/", log, {"PORT": str(port)}):
        yield f"http://127.0.0.1:{port}/mcp"


CALLS = (
    {"action": "search", "query": "sum"},
    call("get-sum", a=2, b=3),
    call("echo", message="héllo"),
    call("get-tiny-image"),
    call("get-structured-content", location="Chicago"),
    call("get-resource-links", count=2),
    call("trigger-long-running-operation", duration=1, steps=3),
    call("trigger-long-running-operation", duration=60, steps=3),
    call("get-sum", a="two", b=3),
)


def check(state: RunState) -> None:
    """Hold what the server's calls came to."""
    said = texts(state)
    assert statuses(state) == [OK, OK, OK, OK, OK, OK, OK, ERROR, ERROR], said
    assert "- server=it tool=get-sum: " in said[0]
    assert "5" in said[1]
    assert "héllo" in said[2]
    (image,) = [part for one in state.calls.values() if one.result for part in one.result.parts if _is_image(part)]
    assert isinstance(image, ImagePart)
    assert image.media_type == "image/png"
    assert "temperature" in said[4]
    assert "it is not fetched" in said[5]
    assert "ompleted" in said[6]
    assert "it did not answer to trigger-long-running-operation within 10 s, and was ended" in said[7]
    assert state.finished
    assert state.finished.outcome is Outcome.DONE


def _is_image(part: object) -> bool:
    return isinstance(part, ImagePart)


async def test_a_server_over_http_shows_all_that_there_is(home: Home, tmp_path: Path) -> None:
    with over_http(tmp_path / "server.log") as url:
        said: dict[str, JsonValue] = {"type": "http", "url": url, "allow_private": True, "timeout": 60}
        configure(home.path, it={**said, "trustReadOnlyHint": True, "tool_timeout": 10})
        async with home.house() as house:
            state = await ran(home, house, FULL + IT, a_script(*CALLS))
    check(state)


async def test_the_same_server_on_this_machine_shows_the_same(home: Home) -> None:
    configure(home.path, it=node(EVERYTHING, trustReadOnlyHint=True, tool_timeout=10))
    async with home.house() as house:
        state = await ran(home, house, FULL + IT, a_script(*CALLS))
    check(state)


async def test_a_server_that_shows_its_environment_has_none_of_ours(home: Home) -> None:
    configure(home.path, it=node(EVERYTHING, trustReadOnlyHint=True, env={"GIVEN": "for-the-server"}))
    script = a_script({"action": "search"}, call("get-env"), call("get-roots-list"))
    async with Home(home.path, {"API_KEY": "the-key-of-a-provider"}).house() as house:
        state = await ran(home, house, FULL + IT, script)
    _, env, roots = texts(state)
    assert "for-the-server" in env
    assert "API_KEY" not in env
    assert f"file://{home.workspace}" in roots


async def test_a_private_address_is_refused_before_a_model_is_asked(home: Home, tmp_path: Path) -> None:
    with over_http(tmp_path / "server.log") as url:
        configure(home.path, it={"type": "http", "url": url})
        async with home.house() as house:
            state = await ran(home, house, FULL + IT, a_script(*CALLS))
    assert state.finished
    assert (state.finished.outcome, state.model_calls) == (Outcome.BLOCKED, 0)
    assert "plain http is not allowed here" in state.finished.reason
