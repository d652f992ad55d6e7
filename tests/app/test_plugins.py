"""A plugin that the settings enable, in a whole service: its subagents, skills and servers count, and nothing else."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.app.skills import ground_of, skills_of
from kova_auto.core.mcp.server import Layer
from kova_auto.engine.dispatch import Advanced
from kova_auto.settings.load import load_settings
from tests.app.houses import Home, id_of
from tests.support import ALONE, a_job

AGENT = "---\nname: {name}\ndescription: Looks.\ntools: Read\n---\nLook.\n"
SKILL = "---\nname: {name}\ndescription: Does one thing.\n---\nDo it.\n"
SERVERS = {"mcpServers": {"notes": {"command": "true"}}}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path.resolve())
    home.workspace.mkdir()
    return home


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def a_plugin(home: Home, name: str, **content: object) -> Path:
    root = home.path / ".kova" / "plugins" / name
    put(root / ".claude-plugin" / "plugin.json", json.dumps({"name": name, **content}))
    return root


def subagents(house: House, home: Home) -> list[str]:
    roster = house.agents.roster(a_job(workspace=str(home.workspace), agents={"allow": ["*"]}))
    return [offered.agent.address for offered in roster.available if offered.agent.plugin]


def skills(home: Home) -> list[str]:
    environ = {"HOME": str(home.path), **ALONE}
    with skills_of(load_settings(None, environ), environ) as found:
        return [skill.name for skill in found.shelf(ground_of(home.workspace)).skills]


def servers(house: House, home: Home) -> list[str]:
    shelves = house.tooling.servers.shelves(str(home.workspace))
    return [server.address for shelf in shelves if shelf.layer is Layer.PLUGIN for server in shelf.servers]


async def test_all_that_it_brings_counts(home: Home) -> None:
    root = a_plugin(home, "kit", agents=["./critic.md"])
    put(root / "agents" / "scribe.md", AGENT.format(name="scribe"))
    put(root / "critic.md", AGENT.format(name="critic"))
    put(root / "skills" / "audit" / "SKILL.md", SKILL.format(name="audit"))
    put(root / ".mcp.json", json.dumps(SERVERS))
    home.settings('[plugins]\nenabled = ["kit"]\n')
    async with home.house() as house:
        found = subagents(house, home), skills(home), servers(house, home)
    assert found == (["kit:critic", "kit:scribe"], ["audit"], ["kit:notes"])


async def test_one_that_is_not_enabled_brings_nothing(home: Home) -> None:
    root = a_plugin(home, "kit")
    put(root / "agents" / "scribe.md", AGENT.format(name="scribe"))
    put(root / "skills" / "audit" / "SKILL.md", SKILL.format(name="audit"))
    put(root / ".mcp.json", json.dumps(SERVERS))
    home.settings("")
    async with home.house() as house:
        assert (subagents(house, home), skills(home), servers(house, home)) == ([], [], [])


async def test_nothing_outside_its_folder_counts(home: Home) -> None:
    outside = home.path / "outside"
    put(outside / "scribe.md", AGENT.format(name="scribe"))
    put(outside / "audit" / "SKILL.md", SKILL.format(name="audit"))
    put(outside / "servers.json", json.dumps(SERVERS))
    away = "../../../outside"
    root = a_plugin(home, "kit", agents=[away, "./door"], skills=[away, "./door"], mcpServers=f"{away}/servers.json")
    (root / "door").symlink_to(outside)
    (root / "agents").mkdir()
    (root / "agents" / "scribe.md").symlink_to(outside / "scribe.md")
    (root / "skills").mkdir()
    (root / "skills" / "audit").symlink_to(outside / "audit")
    (root / ".mcp.json").symlink_to(outside / "servers.json")
    home.settings('[plugins]\nenabled = ["kit"]\n')
    async with home.house() as house:
        assert (subagents(house, home), skills(home), servers(house, home)) == ([], [], [])


async def test_what_would_run_elsewhere_is_not_run(home: Home) -> None:
    ran = home.path / "ran"
    hooks = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"touch {ran}"}]}]}}
    root = a_plugin(home, "kit", hooks=hooks)
    put(root / "hooks" / "hooks.json", json.dumps(hooks))
    put(root / "commands" / "go.md", f"!`touch {ran}`")
    put(root / "__init__.py", f"open({str(ran)!r}, 'w')")
    home.settings('[plugins]\nenabled = ["kit"]\n')
    home.job("look")
    async with home.house() as house:
        await house.control.request(home.ask("look"))
        ended = await drive_one(house, id_of("look"), asyncio.Event())
    assert (ended, ran.exists()) == (Advanced.DONE, False)
