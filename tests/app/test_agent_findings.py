"""What an examination says of subagents and of plugins."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path

import pytest

from kova_auto.app.agent_findings import of_agents
from kova_auto.app.agents import agents_of, warn_of
from kova_auto.app.doctor import examine
from kova_auto.app.finding import Mark
from kova_auto.app.serving import serve
from kova_auto.core.job import Outcome
from kova_auto.settings.load import load_settings
from tests.app.houses import Home
from tests.support import ALONE, a_job, at

AGENT = "---\nname: {name}\ndescription: Looks.\ntools: Read\n---\nLook.\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


def environ_of(home: Home) -> dict[str, str]:
    return {"HOME": str(home.path), "PATH": os.defpath, **ALONE}


async def found(home: Home) -> list[tuple[str, Mark, str]]:
    settings = load_settings(None, environ_of(home))
    examined = examine(settings, environ_of(home), at("07:00:00"), offline=True)
    home_is = f"{home.path}/"
    return [
        (one.name.replace(home_is, ""), one.mark, one.text.replace(home_is, ""))
        async for one in examined
        if one.check in ("agent", "plugin")
    ]


def put(folder: Path, name: str, **lines: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    more = "".join(f"{key}: {value}\n" for key, value in lines.items())
    (folder / f"{name}.md").write_text(AGENT.format(name=name).replace("tools:", f"{more}tools:"))


def a_plugin(home: Home, name: str, **content: object) -> Path:
    root = home.path / ".kova" / "plugins" / name
    (root / ".kova-plugin").mkdir(parents=True)
    (root / ".kova-plugin" / "plugin.json").write_text(json.dumps({"name": name, **content}))
    return root


async def test_where_nothing_but_the_built_in_ones_is_there_nothing_is_said(home: Home) -> None:
    home.job("look")
    assert await found(home) == []


async def test_what_takes_the_place_of_another_is_said_once(home: Home) -> None:
    home.job("one")
    home.job("two")
    put(home.path / ".kova" / "subagents", "explorer")
    put(home.workspace / ".kova" / "subagents", "fixer")
    put(home.workspace / ".claude" / "agents", "free")
    place = home.workspace.relative_to(home.path)
    assert await found(home) == [
        ("user:explorer", Mark.OK, "replaces the built-in one (.kova/subagents/explorer.md)"),
        (
            "workspace:fixer",
            Mark.WARN,
            f"shadowed by built-in:fixer; a job has it as workspace:fixer ({place}/.kova/subagents/fixer.md)",
        ),
    ]


async def test_a_broken_definition_is_named_with_its_place(home: Home) -> None:
    home.job("look")
    put(home.path / ".kova" / "subagents", "mine", maxTurns="0")
    assert await found(home) == [
        (
            "user:mine",
            Mark.WARN,
            "cannot be used: .kova/subagents/mine.md:4: maxTurns: wanted a whole number from 1 to 1000, found 0",
        )
    ]


async def test_what_a_plugin_brings_is_counted_and_what_is_not_used_is_named(home: Home) -> None:
    root = a_plugin(home, "kit", version="1.0")
    put(root / "agents", "scribe")
    (root / "skills").mkdir()
    (root / "hooks").mkdir()
    home.settings('[plugins]\nenabled = ["kit", "gone"]\n')
    assert await found(home) == [
        (
            "kit",
            Mark.OK,
            ".kova/plugins/kit 1.0 brings 1 subagent, 1 folder of skills, 0 files of MCP servers",
        ),
        ("kit", Mark.WARN, ".kova/plugins/kit: hooks is not used: nothing is run before or after a call"),
        ("gone", Mark.FAIL, "is not used: .kova/plugins/gone: wanted the folder of a plugin, found nothing"),
    ]


def test_a_broken_plugin_is_named_in_the_log(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    a_plugin(home, "kit", commands="./commands")
    home.settings('[plugins]\nenabled = ["gone", "kit"]\n')
    environ = environ_of(home)
    with caplog.at_level(logging.WARNING):
        warn_of(agents_of(load_settings(None, environ), environ).plugins)
    manifest = ".kova/plugins/kit/.kova-plugin/plugin.json"
    assert [message.replace(f"{home.path}/", "") for message in caplog.messages] == [
        "plugin gone is not used: .kova/plugins/gone: wanted the folder of a plugin, found nothing",
        f"plugin kit: {manifest}: commands: is not used: commands are for a person's session",
    ]


def test_what_a_job_names_and_does_not_get_is_said_of_the_job(home: Home) -> None:
    home.workspace.mkdir()
    put(home.workspace / ".claude" / "agents", "scribe", model="sonnet")
    job = a_job(name="look", workspace=str(home.workspace), agents={"allow": ["*", "scrib", "scribe"]})
    environ = environ_of(home)
    said = [
        (finding.name, finding.mark, finding.text.replace(f"{home.workspace}/", ""))
        for finding in of_agents(agents_of(load_settings(None, environ), environ), [job])
    ]
    hint = 'models = { sonnet = "provider/model" } of [agents] in the settings names another'
    assert said == [
        (
            "look",
            Mark.FAIL,
            "agents.allow: scrib: nobody defines a subagent of this name (did you mean scribe?)",
        ),
        (
            "look",
            Mark.WARN,
            f".claude/agents/scribe.md:4: model: `sonnet` names no provider: it has its parent's model ({hint})",
        ),
    ]


async def test_a_skill_that_a_subagent_names_and_that_is_not_there_is_said_of_the_job(home: Home) -> None:
    home.job("look", '[agents]\nallow = ["scribe", "reader", "none"]\n')
    place = home.workspace / ".claude" / "agents"
    put(place, "scribe", skills="gone", disallowedTools="Bash")
    (place / "scribe.md").write_text((place / "scribe.md").read_text().replace("tools: Read", "tools: Read, Skill"))
    put(place, "reader", skills="gone")  # It has no tool to load one.
    (place / "none.md").write_text(AGENT.format(name="none").replace("tools: Read", "skills: []"))

    why = "wanted skills that are there, found no gone (there are: none)"
    assert [one for one in await found(home) if one[1] is Mark.FAIL] == [
        ("look", Mark.FAIL, f"agents.allow: scribe: skills of work/.claude/agents/scribe.md: {why}")
    ]


async def test_a_service_with_a_broken_plugin_runs_its_jobs(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    home.job("look")
    home.settings('[plugins]\nenabled = ["gone"]\n')
    async with home.house() as house:
        stop = asyncio.Event()
        serving = asyncio.create_task(serve(house, stop))
        row = await house.control.request(home.ask("look"))
        while row.outcome is None:
            await house.control.events(row.run_id, 10**6, 1)
            row = await house.control.find(row.run_id)
        stop.set()
        await serving
    assert row.outcome is Outcome.DONE
    assert any(message.startswith("plugin gone is not used:") for message in caplog.messages)
