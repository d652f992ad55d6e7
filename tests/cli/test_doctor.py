"""`kova-auto doctor`: its lines, its JSON, its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kova_auto.app.zones import zone_rules
from tests.cli.command import Home

KEY = "sk-live-0123456789abcdef"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.settings('[providers.openai]\napi_key = { file = "key" }\n')
    key = home.config / "key"
    key.touch(mode=0o600)
    key.write_text(KEY)
    home.job("look", 'prompt = "Look."\nmodel = "openai/gpt-5"\n')
    return home


def test_each_thing_has_its_line(home: Home) -> None:
    result, rules = home.run("doctor", "--offline"), zone_rules()

    lines = [line for line in result.stdout.splitlines() if "sandbox" not in line]
    assert lines[:-1] == [
        f"ok    settings  {home.config / 'kova-auto.toml'}: is sound",
        "ok    secret    providers.openai.api_key: can be had from file key",
        f"ok    data      {home.path}/.local/share/kova-auto: holds no database yet: the first run makes it",
        f"ok    zones     {rules.place}: time zone rules {rules.edition}",
        "ok    job       look: asks openai/gpt-5",
        "ok    provider  openai: is at https://api.openai.com/v1; nobody asked it",
    ]
    assert (result.exit_code, lines[-1].startswith("0 failures")) == (0, True)
    assert KEY not in result.output


def test_a_failure_is_counted_and_ends_with_1(home: Home) -> None:
    (home.config / "key").unlink()
    result = home.run("doctor", "--offline")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1].startswith("3 failures")


def test_for_programs_there_is_json(home: Home) -> None:
    result = home.run("doctor", "--offline", "--json")
    found = json.loads(result.stdout)

    assert found[1] == {
        "check": "secret",
        "name": "providers.openai.api_key",
        "mark": "ok",
        "text": "can be had from file key",
    }
    assert {one["check"] for one in found} == {"settings", "secret", "data", "zones", "sandbox", "job", "provider"}


def test_settings_that_are_wrong_are_all_that_is_said(home: Home) -> None:
    home.settings("jobs_dr = 1\ntimezone = 2\n")
    result = home.run("doctor")

    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "2 failures, 0 warnings")
    assert "kova-auto.toml:1: jobs_dr: unknown key" in result.stdout
