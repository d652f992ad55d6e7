"""Which server a name means: nothing that comes with a repository takes the place of what the user has."""

from __future__ import annotations

import json

import pytest

from kova_auto.core.mcp.document import parse_servers
from kova_auto.core.mcp.roster import Shelf, choose, shadowed
from kova_auto.core.mcp.server import Layer
from tests.core.mcp.shelves import PATH, shelf

USER = shelf(Layer.USER, db={"command": "users"}, off={"command": "x", "disabled": True}, bad={"type": "sse"})
PLUGIN = shelf(Layer.PLUGIN, "kit", db={"command": "kits"}, lint={"command": "lint"})
WORKSPACE = shelf(
    Layer.WORKSPACE, db={"command": "here"}, lint={"command": "here"}, own={"command": "own"}, bad={"command": "x"}
)
ALL = (WORKSPACE, PLUGIN, USER)


def commands(*names: str, shelves: tuple[Shelf, ...] = ALL) -> list[str]:
    return [server.command for server in choose(names, shelves).servers]


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("db", "users"),
        ("user:db", "users"),
        ("kit:db", "kits"),
        ("workspace:db", "here"),
        ("lint", "lint"),
        ("own", "own"),
        ("workspace:own", "own"),
    ],
)
def test_a_name_means_the_user_then_a_plugin_then_the_workspace(name: str, command: str) -> None:
    assert commands(name) == [command]


def test_nothing_named_is_nothing_chosen() -> None:
    assert choose((), ALL).servers == ()


def test_a_server_that_is_named_twice_is_one() -> None:
    assert commands("db", "user:db", "db", "own", "workspace:own") == ["users", "own"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("dbb", "no file configures a server of this name; did you mean db"),
        ("user:own", "no file configures a server of this name"),
        ("off", f"{PATH} disables it"),
        ("bad", "it cannot be used: "),
    ],
)
def test_what_means_no_server_is_missing_with_its_reason(name: str, said: str) -> None:
    found = choose([name], ALL)
    assert found.servers == ()
    assert f"mcp.servers names {name!r}: {said}" in found.missing[0]


def test_a_file_that_is_none_is_named_where_a_server_is_missing() -> None:
    broken = parse_servers("{", PATH, Layer.USER)
    assert "wanted JSON" in choose(["db"], (broken,)).missing[0]


def test_a_run_has_so_many_servers() -> None:
    texts = [json.dumps({"mcpServers": {f"s{n}-{m}": {"command": "x"} for m in range(20)}}) for n in range(2)]
    shelves = [parse_servers(text, PATH, Layer.PLUGIN, f"p{n}") for n, text in enumerate(texts)]
    names = [server.name for one in shelves for server in one.servers]
    assert "a run has at most 32" in choose(names, shelves).missing[0]


def test_what_another_one_hides_is_told() -> None:
    assert dict(shadowed(ALL)) == {
        "kit:db": "user:db",
        "workspace:db": "user:db",
        "workspace:lint": "kit:lint",
        "workspace:bad": "user:bad",
    }


def test_a_run_finds_its_server_by_its_plain_name_where_that_is_plain() -> None:
    chosen = choose(["own", "db", "workspace:db"], ALL)
    found = {name: server.address if (server := chosen.find(name)) else "" for name in ("own", "db", "user:db", "x")}
    assert found == {"own": "workspace:own", "db": "db", "user:db": "", "x": ""}
