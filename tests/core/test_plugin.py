"""The manifest of a plugin: what of it counts, and what is said of the rest."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.errors import ConfigError
from kova_auto.core.plugin import Manifest, parse_manifest

PATH = "kit/.kova-plugin/plugin.json"


def read(**content: object) -> Manifest:
    return parse_manifest(json.dumps({"name": "kit", **content}), PATH)


def said(found: Manifest) -> list[str]:
    return [problem.sentence.removeprefix(f"{PATH}: ") for problem in found.problems]


def test_a_name_is_enough() -> None:
    assert read() == Manifest("kit")


def test_what_others_publish_is_understood() -> None:
    found = read(
        version="1.0.3",
        description="Subagents\nfor everyday work",
        author={"name": "Somebody", "url": "https://example.org"},
        repository="https://example.org/kit",
        license="MIT",
        keywords=["review"],
        agents=["./reviewer.md", "./more/"],
        skills="./abilities",
        mcpServers="./servers.json",
    )
    assert found == Manifest(
        "kit",
        "1.0.3",
        "Subagents for everyday work",
        skills=("./abilities",),
        agents=("./reviewer.md", "./more/"),
        servers=("./servers.json",),
    )


@pytest.mark.parametrize("name", ["", "Kit", "my kit", "../kit", "a" * 65, 3, None, ["kit"]])
def test_a_name_that_cannot_be_one_is_an_error(name: object) -> None:
    with pytest.raises(ConfigError, match="wanted a name of small letters"):
        read(name=name)


@pytest.mark.parametrize("name", ["workspace", "user", "built-in", "plugin"])
def test_the_name_of_a_layer_is_no_plugins(name: str) -> None:
    with pytest.raises(ConfigError, match="it names a layer"):
        read(name=name)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"commands": "./commands"}, "commands: is not used: commands are for a person's session"),
        ({"hooks": {"Stop": [1]}}, "hooks: is not used: nothing is run before or after a call"),
        ({"agent": "./a"}, "agent: this key is not known, and means nothing (did you mean agents?)"),
        ({"mcpServers": {"db": {"command": "sh"}}}, "mcpServers: servers that stand in the manifest are not started"),
        ({"agents": [3]}, "agents: wanted places in the plugin, found something else: it is passed over"),
        ({"version": 1}, "version: wanted text, found something else: it is passed over"),
        ({"skills": ["./s"] * 65}, "skills: wanted at most 64 places, found 65: the first count"),
    ],
)
def test_what_is_not_used_is_named(content: dict[str, object], sentence: str) -> None:
    (found,) = said(read(**content))
    assert found.startswith(sentence)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ":1: wanted JSON: expecting value (column 1)"),
        ('{"name": "kit",}', ":1: wanted JSON:"),
        ("[]", ": wanted an object with a name"),
        ("[" * 100_000, ": wanted JSON that is not nested so deep"),
        ('{"name": NaN}', ": wanted JSON that is not nested so deep and holds only plain numbers"),
    ],
)
def test_what_is_no_manifest_is_an_error_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_manifest(text, PATH)
    assert raised.value.sentence.startswith(f"{PATH}{sentence}")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["name", "version", "skills", "agents", "mcpServers", "hooks"]), values))
def test_any_object_is_a_manifest_or_one_error(content: dict[str, object]) -> None:
    try:
        found = parse_manifest(json.dumps(content), PATH)
    except ConfigError:
        return
    assert all(isinstance(place, str) for place in (*found.skills, *found.agents, *found.servers))
