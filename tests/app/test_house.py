"""A house that cannot be built says why, and lets go of what it had taken."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from kova_auto.core.approval.levels import Effect, Mode
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Agents, Mcp
from kova_auto.core.skill_facts import USE_SKILL, OfferedSkill
from kova_auto.core.tool_names import LOOKS, MCP, TOOL_NAMES
from tests.app.houses import Home
from tests.tools.tool_scenes import a_scene


async def test_a_cache_that_cannot_be_made_is_said_with_what_to_do(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.job("look")
    (tmp_path / ".cache").write_text("in the way")
    with pytest.raises(ConfigError, match="set XDG_CACHE_HOME"):
        async with home.house():
            pass

    (tmp_path / ".cache").unlink()
    async with home.house() as house:
        assert (await house.control.request(home.ask("look"))).execution == "queued"


@pytest.mark.parametrize(("settings", "level"), [("", 2), ('sqlite_synchronous = "normal"\n', 1)])
async def test_a_commit_waits_for_the_disk_unless_the_settings_say_otherwise(
    tmp_path: Path, settings: str, level: int
) -> None:
    home = Home(tmp_path)
    home.settings(settings)
    async with home.house() as house:
        pragma = text("PRAGMA synchronous")
        assert await house.store.database.write(lambda found: found.execute(pragma).scalar_one()) == level


async def test_the_tools_are_those_that_a_job_file_may_name(tmp_path: Path) -> None:
    home = Home(tmp_path)
    async with home.house() as house:
        scene = replace(a_scene(tmp_path), skills=(OfferedSkill(name="notes", folder=str(tmp_path)),))
        scene = replace(scene, job=scene.job.but(agents=Agents(allow=("*",)), mcp=Mcp(servers=("db",))))
        offered = {spec.name for mode in Mode for spec in house.tooling.toolbox.specs(scene, mode)}
        assert offered == {*TOOL_NAMES}


async def test_the_tools_that_only_look_are_known_by_name(tmp_path: Path) -> None:
    async with Home(tmp_path).house() as house:
        toolbox = house.tooling.toolbox
        looks = {name for name in TOOL_NAMES if toolbox._tools[name].effect in (Effect.READ, Effect.WEB_READ)}
        # What is loaded may narrow what comes after it; which calls of servers only look is found out for each.
        assert looks == {*LOOKS, USE_SKILL, MCP}
        assert all(toolbox.replay_safe(name) for name in LOOKS)
