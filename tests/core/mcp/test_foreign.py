"""Files as people publish them for other clients: each key is obeyed, or it is said what to write instead."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.mcp.document import parse_servers
from kova_auto.core.mcp.listing import listed
from kova_auto.core.mcp.server import Layer
from tests.core.mcp.shelves import PATH, complaint, server, shelf


@pytest.mark.parametrize("kind", ["stdio", "local"])
def test_other_clients_words_for_a_server_on_this_machine_are_known(kind: str) -> None:
    assert server(type=kind).command == "run"


@pytest.mark.parametrize("kind", ["http", "streamable-http", "streamableHttp", "remote"])
def test_other_clients_words_for_a_server_over_http_are_known(kind: str) -> None:
    (found,) = shelf(db={"type": kind, "url": "https://x.test/mcp"}).servers
    assert found.url == "https://x.test/mcp"


@pytest.mark.parametrize("keys", [{"enabled": False}, {"disabled": True}, {"enabled": True, "disabled": True}])
def test_a_server_that_is_switched_off_is_off(keys: dict[str, JsonValue]) -> None:
    assert server(Layer.USER, **keys).disabled


def test_a_server_that_is_switched_on_is_on() -> None:
    assert not server(enabled=True).disabled


@pytest.mark.parametrize("key", ["disabledTools", "excludeTools"])
def test_tools_that_are_switched_off_are_not_there(key: str) -> None:
    assert names_of({key: ["rm", "drop_*"]}) == ["get", "put"]


@pytest.mark.parametrize("key", ["enabledTools", "includeTools", "tools"])
def test_of_tools_that_are_chosen_there_are_no_others(key: str) -> None:
    assert names_of({key: ["get", "rm"]}) == ["get", "rm"]
    assert names_of({key: ["*"]}) == ["get", "put", "rm", "drop_all"]


def test_what_is_switched_off_stays_so_where_it_is_chosen_too() -> None:
    assert names_of({"includeTools": ["get", "rm"], "excludeTools": ["rm"]}) == ["get"]


def test_what_a_workspace_switches_off_counts_as_well() -> None:
    (found,) = shelf(Layer.WORKSPACE, db={"command": "run", "disabledTools": ["rm"]}).servers
    assert found.without_tools == ("rm",)


def names_of(keys: dict[str, JsonValue]) -> list[str]:
    """Return the tools that count of a server that is configured so."""
    found = server(Layer.USER, **keys)
    tools: list[JsonValue] = [{"name": name} for name in ("get", "put", "rm", "drop_all")]
    return [tool.name for tool in listed(tools, found.max_tools, found.offers).tools]


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("autoApprove", ["x"], "write approveTools"),
        ("alwaysAllow", ["x"], "write approveTools"),
        ("trust", True, "write approveTools"),
        ("envFile", ".env", '{ "file": "path" }'),
        ("oauth", {}, "give a token as a header"),
        ("auth", {}, "give a token as a header"),
        ("headersHelper", "/bin/x", "give a token as a header"),
        ("startup_timeout_sec", 5, "write timeout"),
        ("tool_timeout_sec", 5, "write tool_timeout"),
    ],
)
def test_what_is_not_obeyed_is_said_with_what_to_write(key: str, value: JsonValue, said: str) -> None:
    (problem,) = shelf(db={"command": "run", key: value}).problems
    assert problem.key == f"mcpServers.db.{key}"
    assert said in problem.sentence


@pytest.mark.parametrize("key", ["name", "icon", "gallery", "version", "dev"])
def test_what_others_note_for_themselves_is_passed_over(key: str) -> None:
    assert shelf(db={"command": "run", key: "x"}).problems == ()


@pytest.mark.parametrize("key", ["httpUrl", "serverUrl"])
def test_an_address_under_another_name_is_said_to_be_a_url(key: str) -> None:
    assert f"mcpServers.db.{key}: is called url here" in complaint(Layer.USER, **{key: "https://x.test"})


def test_milliseconds_are_taken_for_what_they_are() -> None:
    assert "found 30000 (seconds, not milliseconds: 30)" in complaint(command="run", timeout=30000)


def test_a_file_of_another_form_is_said_to_be_one() -> None:
    text = json.dumps({"inputs": [], "servers": {"a": {"command": "x"}}, "mcpServers": {}})
    first, second = parse_servers(text, PATH, Layer.USER).problems
    assert "nobody is there to be asked" in first.sentence
    assert "is called mcpServers here" in second.sentence


@pytest.mark.parametrize(
    ("layer", "said"),
    [(Layer.USER, '{ "env": "API_TOKEN" }'), (Layer.WORKSPACE, "name API_TOKEN in [env] of the job")],
)
def test_a_secret_that_is_written_out_is_named_and_not_repeated(layer: Layer, said: str) -> None:
    found = shelf(layer, db={"command": "run", "env": {"API_TOKEN": "hunter2-hunter2", "MODE": "rw"}})
    (problem,) = found.problems
    assert problem.key == "mcpServers.db.env.API_TOKEN"
    assert said in problem.sentence
    assert "hunter2" not in problem.sentence


@pytest.mark.parametrize("value", ["${API_TOKEN}", "Bearer ${API_TOKEN}", "", "on"])
def test_what_is_no_secret_itself_is_not_taken_for_one(value: str) -> None:
    assert shelf(db={"command": "run", "env": {"API_TOKEN": value}}).problems == ()
