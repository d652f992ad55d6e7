"""Children use the servers that both their parent and their definition name, and are judged as their parent is."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.app.families import FIRST, Part, call, child, driven, leads, played, state_of, task, text_of, turn
from tests.app.houses import UNCONFINED, Home
from tests.app.mcp_homes import configure, echo, rules, runs
from tests.app.test_skills_of_children import an_agent

TWO = '[mcp]\nservers = ["db", "other"]\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path.resolve())
    configure(found.path, db=runs(), other=runs())
    return found


def calls(args: dict[str, JsonValue]) -> Part:
    return turn("", {"tool": "mcp", "args": args})


def helped(home: Home, *turns: Part, more: str = "") -> None:
    leads(
        home,
        played([turn("", task("helper")), turn("", call("TaskWait")), turn("So.")], child(*turns, agent="helper")),
        UNCONFINED + TWO,
        '"helper"',
    )
    an_agent(home, "helper", "[read]", more)


async def test_a_child_calls_the_servers_that_its_definition_names(home: Home) -> None:
    helped(home, calls(echo("from a child")), turn("ok"), more="mcpServers: [db]\n")
    async with home.house() as house:
        parent = await driven(house, home)
        dispatched = await state_of(house, FIRST)
    assert dispatched.job.mcp.servers == ("db",)
    assert text_of(dispatched, "1.1") == "echo: from a child"
    assert rules(dispatched) == ["level.full.outward"]
    assert parent.finished
    assert parent.finished.outcome == "done"


async def test_a_child_calls_no_server_that_its_definition_does_not_name(home: Home) -> None:
    helped(home, calls(echo(server="other")), turn("ok"), more="mcpServers: [db]\n")
    async with home.house() as house:
        await driven(house, home)
        dispatched = await state_of(house, FIRST)
    assert rules(dispatched) == ["arguments"]


async def test_a_child_whose_definition_names_no_server_has_none(home: Home) -> None:
    helped(home, calls(echo()), turn("ok"))
    async with home.house() as house:
        await driven(house, home)
        dispatched = await state_of(house, FIRST)
    assert dispatched.context
    assert "mcp" not in [tool.name for tool in dispatched.context.tools]
    assert rules(dispatched) == ["floor.unknown_tool"]


async def test_what_a_child_was_told_by_a_server_taints_its_parent_too(home: Home) -> None:
    helped(home, calls(echo()), turn("ok"), more="mcpServers: [db]\n")
    async with home.house() as house:
        parent = await driven(house, home)
    assert "db" in parent.tainted_by
