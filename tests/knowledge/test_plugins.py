"""What a plugin's folder brings, that nothing leads out of it, and that a broken one is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.subagents.roster import definitions_for
from kova_auto.knowledge.plugins import MOST_PLUGINS, Plugin, place_of, read_plugin, read_plugins
from kova_auto.knowledge.subagents import Definitions, definitions_of

AGENT = "---\nname: {name}\ndescription: Looks.\ntools: Read\n---\nLook.\n"


def a_plugin(root: Path, **content: object) -> Path:
    return a_manifest(root / ".claude-plugin", content)


def a_manifest(folder: Path, content: Mapping[str, object]) -> Path:
    path = folder / "plugin.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"name": "kit", **content}))
    return folder.parent


def an_agent(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(AGENT.format(name=path.stem))


def said(plugin: Plugin) -> list[str]:
    return [problem.sentence.replace(f"{plugin.root}", "kit") for problem in plugin.problems]


def agents_of(plugin: Plugin, home: Path) -> list[str]:
    layers = Definitions(home, (plugin.agents,) if plugin.agents else ()).of(None)
    return [offered.agent.address for offered in definitions_for(["*"], layers).available if offered.agent.plugin]


def test_a_plugin_brings_what_lies_in_its_usual_places(tmp_path: Path) -> None:
    root = a_plugin(tmp_path / "kit", version="1.2", description="A kit.").resolve()
    an_agent(root / "agents" / "scribe.md")
    (root / "skills" / "notes").mkdir(parents=True)
    (root / ".mcp.json").write_text("{}")
    found = read_plugin(tmp_path / "kit")
    assert (found.name, found.version, found.description, found.root) == ("kit", "1.2", "A kit.", root)
    assert (found.skills, found.servers, found.problems) == ((root / "skills",), (root / ".mcp.json",), ())
    assert agents_of(found, tmp_path) == ["kit:scribe"]


def test_a_plugin_may_bring_nothing(tmp_path: Path) -> None:
    found = read_plugin(a_plugin(tmp_path / "kit"))
    assert (found.skills, found.agents, found.servers, found.problems) == ((), None, (), ())


def test_a_manifest_adds_further_places(tmp_path: Path) -> None:
    content = {"agents": ["./reviewer.md", "./more", "agents/"], "skills": "./", "mcpServers": "conf/servers.json"}
    root = a_plugin(tmp_path / "kit", **content).resolve()
    for path in ("reviewer.md", "unnamed.md", "more/other.md", "agents/usual.md"):
        an_agent(root / path)
    (root / "conf").mkdir()
    (root / "conf" / "servers.json").write_text("{}")
    found = read_plugin(root)
    assert agents_of(found, tmp_path) == ["kit:other", "kit:reviewer", "kit:usual"]
    assert (found.skills, found.servers) == ((root,), (root / "conf" / "servers.json",))
    assert found.problems == ()


def test_a_file_that_lies_where_it_is_read_anyway_may_be_named_as_well(tmp_path: Path) -> None:
    root = a_plugin(tmp_path / "kit", agents=["./agents/scribe.md", "./agents"]).resolve()
    an_agent(root / "agents" / "scribe.md")
    plugin = read_plugin(root)
    assert plugin.agents
    shelf = definitions_of(plugin.agents)
    assert ([one.agent.name for one in shelf.defined], shelf.problems) == (["scribe"], ())


def test_what_is_not_used_is_named_once(tmp_path: Path) -> None:
    root = a_plugin(tmp_path / "kit", hooks="./hooks/hooks.json")
    for name in ("hooks", "commands"):
        (root / name).mkdir()
    assert said(read_plugin(root)) == [
        "kit/.claude-plugin/plugin.json: hooks: is not used: nothing is run before or after a call",
        "kit: commands is not used: commands are for a person's session",
    ]


def test_kovas_own_manifest_is_read_before_another_systems(tmp_path: Path) -> None:
    root = a_plugin(tmp_path / "kit", name="theirs")
    a_manifest(root / ".kova-plugin", {"name": "ours"})
    assert read_plugin(root).name == "ours"


@pytest.mark.parametrize(
    "place", ["../outside", "./agents/../../outside", "/etc", "~/outside", "a\\..\\b", "${HOME}/outside", "", "a\0b"]
)
@pytest.mark.parametrize("key", ["skills", "agents", "mcpServers"])
def test_no_place_of_a_manifest_leads_out_of_the_plugin(tmp_path: Path, key: str, place: str) -> None:
    an_agent(tmp_path / "outside" / "secret.md")
    found = read_plugin(a_plugin(tmp_path / "kit", **{key: place}))
    assert (found.skills, found.agents, found.servers) == ((), None, ())
    (sentence,) = said(found)
    assert f"plugin.json: {key}: " in sentence
    assert "leads out of the plugin" in sentence or "found no path" in sentence


@pytest.mark.parametrize("key", ["skills", "agents", "mcpServers"])
def test_no_link_in_a_plugin_is_followed(tmp_path: Path, key: str) -> None:
    an_agent(tmp_path / "outside" / "secret.md")
    root = a_plugin(tmp_path / "kit", **{key: ["./door", "./door/secret.md"]})
    for name in ("door", "skills", "agents", ".mcp.json"):
        (root / name).symlink_to(tmp_path / "outside")
    found = read_plugin(root)
    assert (found.skills, found.agents, found.servers) == ((), None, ())
    assert len(said(found)) == 5
    assert all("a link is on the way" in sentence for sentence in said(found))


def test_a_link_among_its_subagents_is_not_followed(tmp_path: Path) -> None:
    an_agent(tmp_path / "outside" / "secret.md")
    root = a_plugin(tmp_path / "kit")
    (root / "agents").mkdir()
    (root / "agents" / "secret.md").symlink_to(tmp_path / "outside" / "secret.md")
    found = read_plugin(root)
    assert agents_of(found, tmp_path) == []


def test_a_manifest_behind_a_link_is_none(tmp_path: Path) -> None:
    a_plugin(tmp_path / "other")
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / ".kova-plugin").symlink_to(tmp_path / "other" / ".claude-plugin")
    with pytest.raises(ConfigError, match="wanted a file that can be read"):
        read_plugin(tmp_path / "kit")


def test_a_place_where_nothing_or_another_thing_lies_is_named(tmp_path: Path) -> None:
    root = a_plugin(tmp_path / "kit", agents="./gone", skills="./file", mcpServers="./folder")
    (root / "file").write_text("")
    (root / "folder").mkdir()
    assert said(read_plugin(root)) == [
        "kit/.claude-plugin/plugin.json: skills: `./file` is not used: there is something else there",
        "kit/.claude-plugin/plugin.json: agents: `./gone` is not used: there is nothing there",
        "kit/.claude-plugin/plugin.json: mcpServers: `./folder` is not used: there is something else there",
    ]


def test_what_would_run_is_named_and_never_used(tmp_path: Path) -> None:
    root = a_plugin(tmp_path / "kit")
    (root / "commands").mkdir()
    (root / "hooks").mkdir()
    (root / "hooks" / "hooks.json").write_text('{"hooks": {"SessionStart": [{"command": "touch /tmp/ran"}]}}')
    assert said(read_plugin(root)) == [
        "kit: commands is not used: commands are for a person's session",
        "kit: hooks is not used: nothing is run before or after a call",
    ]


def test_entries_of_the_settings_mean_folders(tmp_path: Path) -> None:
    assert place_of("kit", tmp_path) == tmp_path / ".kova" / "plugins" / "kit"
    assert place_of("~/kits/kit", tmp_path) == tmp_path / "kits" / "kit"
    assert place_of("/opt/kit", tmp_path) == Path("/opt/kit")


def test_a_broken_plugin_is_named_and_the_others_count(tmp_path: Path) -> None:
    a_plugin(tmp_path / ".kova" / "plugins" / "good", name="good")
    a_plugin(tmp_path / "twin", name="good")
    (tmp_path / "empty").mkdir()
    found = read_plugins(["good", "~/empty", "gone", str(tmp_path / "twin"), "good"], tmp_path)
    assert [plugin.name for plugin in found.enabled] == ["good"]
    assert [(broken.entry, broken.problem.message) for broken in found.broken] == [
        (
            "~/empty",
            "wanted the folder of a plugin, found no .kova-plugin/plugin.json or .claude-plugin/plugin.json in it",
        ),
        ("gone", "wanted the folder of a plugin, found nothing"),
        (
            str(tmp_path / "twin"),
            f"a plugin named good is enabled already: {tmp_path.resolve()}/.kova/plugins/good",
        ),
    ]


def test_only_so_many_plugins_are_read(tmp_path: Path) -> None:
    names = [f"p{number}" for number in range(MOST_PLUGINS + 1)]
    for name in names:
        a_plugin(tmp_path / ".kova" / "plugins" / name, name=name)
    found = read_plugins(names, tmp_path)
    assert (len(found.enabled), [broken.entry for broken in found.broken]) == (MOST_PLUGINS, names[-1:])


def test_what_plugins_bring_is_gathered_by_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        root = a_plugin(tmp_path / ".kova" / "plugins" / name, name=name)
        (root / "skills").mkdir()
        (root / ".mcp.json").write_text("{}")
        an_agent(root / "agents" / "scribe.md")
    found = read_plugins(["two", "one"], tmp_path.resolve())
    base = tmp_path.resolve() / ".kova" / "plugins"
    assert found.skills == (("two", base / "two" / "skills"), ("one", base / "one" / "skills"))
    assert found.servers == (("two", base / "two" / ".mcp.json"), ("one", base / "one" / ".mcp.json"))
    layers = Definitions(tmp_path, found.agents).of(None)
    named = [(offered.name, offered.agent.address) for offered in definitions_for(["*"], layers).available]
    assert ("scribe", "two:scribe") in named
    assert ("one:scribe", "one:scribe") in named
