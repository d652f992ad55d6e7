"""What an examination says of what is allowed for good."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from kova_auto.app.doctor import examine
from kova_auto.app.finding import Mark
from kova_auto.app.permissions import permissions_of
from kova_auto.core.consent import Standing
from kova_auto.settings.load import load_settings
from tests.app.houses import Home
from tests.support import ALONE, at


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


async def found(home: Home) -> list[tuple[str, Mark, str]]:
    environ = {"HOME": str(home.path), "PATH": os.defpath, **ALONE}
    settings = load_settings(None, environ)
    examined = examine(settings, environ, at("07:00:00"), offline=True)
    return [(one.name, one.mark, one.text) async for one in examined if one.check == "rules"]


def says(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


async def test_where_nothing_is_allowed_for_good_nothing_is_said(home: Home) -> None:
    home.job("look")
    assert await found(home) == []


async def test_what_counts_is_counted_once_for_each_file(home: Home) -> None:
    home.job("one")
    home.job("two")
    path = says(home.path / ".kova" / "permissions.json", {"allowCommands": ["make lint"], "allowMcpTools": ["a_b"]})
    environ = {"HOME": str(home.path), **ALONE}
    permissions_of(load_settings(None, environ), environ).remember(home.workspace, Standing(commands=("make test",)))
    assert await found(home) == [
        (str(path), Mark.OK, "1 rule, 0 write roots, 1 tool count everywhere"),
        (str(home.workspace), Mark.OK, "1 rule, 0 write roots, 0 tools count here"),
    ]


async def test_a_broken_file_of_the_user_is_said_without_any_job(home: Home) -> None:
    home.jobs.mkdir(parents=True)
    path = says(home.path / ".kova" / "permissions.json", "{")
    assert [(name, mark) for name, mark, _ in await found(home)] == [(str(path), Mark.OK), (str(path), Mark.WARN)]


async def test_what_is_wrong_in_a_workspace_is_said_under_its_name(home: Home) -> None:
    home.job("look")
    says(home.workspace / ".kova" / "permissions.json", {"allowCommand": []})
    says(home.workspace / ".kova" / "permissions.local.json", {})
    wrong = await found(home)
    assert [(name, mark) for name, mark, _ in wrong] == [(str(home.workspace), Mark.WARN)] * 2
    assert "did you mean allowCommands?" in wrong[0][2]
    assert "permissions.local.json is not read" in wrong[1][2]


async def test_rules_that_grant_arbitrary_code_are_said_whoever_wrote_them(home: Home) -> None:
    home.job("look", '[permissions]\nallow_commands = ["python3 *", "git log *"]\n')
    path = says(home.path / ".kova" / "permissions.json", {"allowCommands": ["node *"]})
    warned = [(name, text) for name, mark, text in await found(home) if mark is Mark.WARN]
    assert [name for name, _ in warned] == [str(path), "look"]
    assert ["grants arbitrary code" in text for _, text in warned] == [True, True]
