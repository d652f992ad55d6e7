"""Reading the file that all clients share: what counts, what does not, and what is said of it."""

from __future__ import annotations

import json

import pytest
from pydantic import JsonValue

from kova_auto.core.mcp.document import parse_servers
from kova_auto.core.mcp.server import Layer, Server
from kova_auto.core.secret import SecretRef
from tests.core.mcp.shelves import PATH, complaint, server, shelf


def test_a_server_on_this_machine_is_read() -> None:
    found = server(
        args=["--fast"],
        env={"TOKEN": {"env": "DB_TOKEN"}, "MODE": "rw"},
        cwd="/srv",
        description="The\n  database",
        timeout=2.5,
        tool_timeout=30,
        max_result_bytes=4096,
        max_tools=100,
        approveTools=["get*"],
        trustReadOnlyHint=True,
    )
    assert found == Server(
        name="db",
        layer=Layer.USER,
        path=PATH,
        description="The database",
        command="run",
        args=("--fast",),
        env={"TOKEN": SecretRef(env="DB_TOKEN"), "MODE": "rw"},
        cwd="/srv",
        timeout_s=2.5,
        tool_timeout_s=30,
        max_result_bytes=4096,
        max_tools=100,
        approve_tools=("get*",),
        trust_read_only_hint=True,
    )


@pytest.mark.parametrize("kind", [{}, {"type": "http"}, {"type": "streamable-http"}])
def test_a_server_over_http_is_read(kind: dict[str, JsonValue]) -> None:
    (found,) = shelf(db={**kind, "url": "https://x.test/mcp", "headers": {"Authorization": "Bearer ${T}"}}).servers
    assert (found.url, found.headers, found.command) == ("https://x.test/mcp", {"Authorization": "Bearer ${T}"}, "")


def test_who_brought_a_server_is_part_of_its_address() -> None:
    assert [server(layer).address for layer in (Layer.USER, Layer.WORKSPACE)] == ["db", "workspace:db"]
    assert shelf(Layer.PLUGIN, "kit", db={"command": "run"}).servers[0].address == "kit:db"


def test_another_configuration_has_another_digest() -> None:
    assert server().digest == server().digest
    assert len({found.digest for found in (server(), server(args=["x"]), server(Layer.WORKSPACE))}) == 3


def test_what_the_user_approves_is_a_pattern_of_full_names() -> None:
    assert server(approveTools=["get*", "mcp__db__put"]).exempt == ("mcp__db__get*", "mcp__db__put")


@pytest.mark.parametrize("layer", [Layer.WORKSPACE, Layer.PLUGIN])
@pytest.mark.parametrize("key", ["approveTools", "trustReadOnlyHint"])
def test_only_the_users_own_file_says_what_needs_nobody(layer: Layer, key: str) -> None:
    found = shelf(layer, "kit", db={"command": "run", key: ["*"]})
    assert (found.servers[0].exempt, found.servers[0].trust_read_only_hint) == ((), False)
    assert [problem.key for problem in found.problems] == [f"mcpServers.db.{key}"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({}, "mcpServers.db.command: wanted a program to start"),
        ({"type": "sse", "url": "https://x.test"}, "mcpServers.db.type: the transport sse is not spoken here"),
        ({"type": "ws"}, 'mcpServers.db.type: wanted "stdio" or "http", found \'ws\''),
        ({"type": "http"}, "mcpServers.db.url: wanted an address"),
        ({"command": "run", "type": "http", "url": "https://x.test"}, "mcpServers.db.command: is for a server"),
        ({"command": "run", "headers": {}}, "mcpServers.db.headers: is for a server"),
        ({"command": "./run"}, "mcpServers.db.command: a relative path would start"),
        ({"command": 1}, "mcpServers.db.command: wanted a text, found a number"),
        ({"command": "a\0b"}, "without NUL"),
        ({"command": "run", "args": "x"}, "mcpServers.db.args: wanted a list"),
        ({"command": "run", "args": ["x", 1]}, "mcpServers.db.args[1]: wanted a text, found a number"),
        ({"command": "run", "env": {"a b": "x"}}, "mcpServers.db.env.a b: cannot be given"),
        ({"command": "run", "env": {"A": 1}}, "mcpServers.db.env.A: wanted a text, or where a secret is"),
        ({"command": "run", "env": {"A": {"value": "x"}}}, "mcpServers.db.env.A: wanted a text, or where a secret is"),
        ({"url": "https://x.test", "headers": {"Host": "y"}}, "mcpServers.db.headers.Host: cannot be given"),
        ({"url": "https://x.test", "headers": {"A": "b\r\nC: d"}}, "mcpServers.db.headers.A: wanted printable ASCII"),
        ({"command": "run", "timeout": 30000}, "mcpServers.db.timeout: wanted seconds, from 0.1 to 600, found 30000"),
        ({"command": "run", "timeout": True}, "mcpServers.db.timeout: wanted seconds"),
        ({"command": "run", "tool_timeout": "1m"}, "mcpServers.db.tool_timeout: wanted seconds"),
        ({"command": "run", "max_result_bytes": 1}, "mcpServers.db.max_result_bytes: wanted bytes"),
        ({"command": "run", "disabled": "yes"}, "mcpServers.db.disabled: wanted true or false, found 'yes'"),
    ],
)
def test_what_is_wrong_is_said_with_its_key(keys: dict[str, JsonValue], said: str) -> None:
    found = complaint(Layer.USER, **keys)
    assert found.startswith(f"{PATH}: ")
    assert said in found


def test_a_file_that_others_wrote_names_no_secret_of_the_user() -> None:
    keys: dict[str, JsonValue] = {"command": "run", "env": {"A": {"file": "~/.ssh/id_rsa"}}}
    assert "only the user's own file says where a secret is" in complaint(Layer.WORKSPACE, **keys)


def test_a_literal_value_is_not_repeated_in_a_complaint() -> None:
    assert "hunter2" not in complaint(command="run", env={"A": {"value": "hunter2"}})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {\n  "a": }', ":2: wanted JSON: expecting value (column 8)"),
        ("[]", 'wanted an object {"mcpServers": {…}}'),
        ('{"mcpServers": []}', "mcpServers: wanted an object with a server for each name"),
        ("[" * 100_000, "nested so deep"),
        ('{"mcpServers": {"a": {"command": "x", "timeout": NaN}}}', "plain numbers"),
    ],
)
def test_a_file_that_is_none_is_named(text: str, said: str) -> None:
    found = parse_servers(text, PATH, Layer.USER)
    assert (found.servers, found.broken) == ((), ())
    assert said in found.problems[0].sentence


@pytest.mark.parametrize("text", ["", "  \n", "{}"])
def test_an_empty_file_configures_nothing(text: str) -> None:
    found = parse_servers(text, PATH, Layer.USER)
    assert (found.servers, found.problems) == ((), ())


def test_what_nobody_knows_is_named_and_the_rest_counts() -> None:
    a, b, c = '"a": {"command": "x", "comand": "y"}', '"b": {"command": "y"}', '"b": {"command": "z"}'
    text = f'{{"servers": {{}}, "mcpServers": {{{a}, {b}, {c}}}}}'
    found = parse_servers(text, PATH, Layer.USER)
    assert [(one.name, one.command) for one in found.servers] == [("a", "x"), ("b", "z")]
    assert [problem.key for problem in found.problems] == ["b", "servers", "mcpServers.a.comand"]
    assert "did you mean command" in found.problems[2].hint


def test_a_name_that_cannot_be_one_breaks_its_server_alone() -> None:
    found = shelf(a__b={"command": "x"}, fine={"command": "x"})
    assert [one.name for one in found.servers] == ["fine"]
    assert [one.name for one in found.broken] == ["a__b"]


def test_so_many_servers_of_a_file_count() -> None:
    servers = {f"s{number}": {"command": "x"} for number in range(40)}
    found = parse_servers(json.dumps({"mcpServers": servers}), PATH, Layer.USER)
    assert len(found.servers) == 32
    assert "holds 40 servers" in found.problems[0].sentence


def test_any_json_is_read_without_an_exception() -> None:
    odd: list[JsonValue] = [None, 1, "x", [], {"command": None}, {"command": ["x"]}, {"env": [], "command": "x"}]
    for value in odd:
        parse_servers(json.dumps({"mcpServers": {"a": value}}), PATH, Layer.WORKSPACE)
