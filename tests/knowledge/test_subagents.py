"""Reading the layers of subagents: whose files count, which are passed over, and that no link leads elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kova_auto.core.errors import ConfigError
from kova_auto.core.subagents.definition import Layer
from kova_auto.core.subagents.roster import Layers, Shelf, definitions_for
from kova_auto.knowledge.subagents import MOST_FILES, Definitions, PluginAgents, definitions_at

TEXT = "---\nname: {name}\ndescription: {says}\ntools: Read\n---\nLook.\n"


def put(folder: Path, name: str, says: str = "Looks.", file: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (file or f"{name}.md")
    path.write_text(TEXT.format(name=name, says=says))
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return (tmp_path / "home").resolve()


@pytest.fixture
def workspace(home: Path) -> Path:
    place = home / "src" / "app"
    place.mkdir(parents=True)
    return place


def shelf(layers: Layers, layer: Layer) -> Shelf:
    (found,) = (one for one in layers.shelves if one.layer is layer)
    return found


def names(found: Shelf) -> list[str]:
    return [one.agent.name for one in found.defined]


def said(found: Shelf) -> list[str]:
    return [problem.sentence for problem in (*found.problems, *(broken.problem for broken in found.broken))]


def test_without_files_there_are_the_built_in_ones(home: Path, workspace: Path) -> None:
    layers = Definitions(home).of(workspace)
    assert [names(found) for found in layers.shelves] == [["code-reviewer", "explorer", "fixer", "test-runner"], [], []]
    assert [said(found) for found in layers.shelves] == [[], [], []]


def test_each_layer_has_its_place(home: Path, workspace: Path, tmp_path: Path) -> None:
    put(home / ".kova" / "subagents", "mine")
    put(workspace / ".kova" / "subagents", "theirs")
    put(workspace / ".claude" / "agents", "elsewhere")
    put(tmp_path / "kit" / "agents", "brought")
    layers = Definitions(home, (PluginAgents("kit", tmp_path / "kit"),)).of(workspace)
    assert names(shelf(layers, Layer.USER)) == ["mine"]
    assert names(shelf(layers, Layer.WORKSPACE)) == ["elsewhere", "theirs"]
    assert [one.agent.address for one in shelf(layers, Layer.PLUGIN).defined] == ["kit:brought"]


def test_the_users_definitions_for_another_system_are_not_read(home: Path, workspace: Path) -> None:
    put(home / ".claude" / "agents", "theirs")
    assert names(shelf(Definitions(home).of(workspace), Layer.USER)) == []


def test_in_the_users_home_the_users_own_are_no_workspaces(home: Path, workspace: Path) -> None:
    put(home / ".kova" / "subagents", "mine")
    layers = Definitions(workspace.parents[1]).of(home)
    assert (names(shelf(layers, Layer.USER)), names(shelf(layers, Layer.WORKSPACE))) == (["mine"], [])


def test_only_files_directly_in_a_folder_that_are_definitions_are_read(home: Path, workspace: Path) -> None:
    folder = home / ".kova" / "subagents"
    put(folder, "mine")
    put(folder / "below", "deeper")
    put(folder, "hidden", file=".hidden.md")
    (folder / "README.md").write_text("# What lies here\n")
    (folder / "notes.txt").write_text("no definition")
    (folder / "empty").mkdir()
    found = shelf(Definitions(home).of(workspace), Layer.USER)
    assert (names(found), said(found)) == (
        ["mine"],
        [f"{folder}/below: is not read: definitions lie directly in the folder above it; move them there"],
    )


def test_a_file_in_another_programs_form_is_named(home: Path, workspace: Path) -> None:
    folder = home / ".kova" / "subagents"
    put(folder, "mine")
    (folder / "role.toml").write_text('name = "role"\n')
    put(workspace / ".claude" / "agents", "late", file="late.yml")
    layers = Definitions(home).of(workspace)
    assert said(shelf(layers, Layer.USER)) == [
        f"{folder}/role.toml: is not read: definitions here end in .yml, .yaml, .md"
    ]
    assert said(shelf(layers, Layer.WORKSPACE)) == [
        f"{workspace}/.claude/agents/late.yml: is not read: definitions here end in .md"
    ]


@pytest.mark.parametrize("stem", ["security", "gemini", "Agents", "claude"])
def test_a_definition_may_have_the_name_of_a_page(home: Path, workspace: Path, stem: str) -> None:
    put(home / ".kova" / "subagents", "auditor", file=f"{stem}.md")
    (workspace / ".claude" / "agents").mkdir(parents=True)
    (workspace / ".claude" / "agents" / f"{stem}.md").write_text("# What agents are told here\n")
    layers = Definitions(home).of(workspace)
    assert names(shelf(layers, Layer.USER)) == ["auditor"]
    assert (names(shelf(layers, Layer.WORKSPACE)), said(shelf(layers, Layer.WORKSPACE))) == ([], [])


def test_one_name_in_two_files_is_the_first_ones(home: Path, workspace: Path) -> None:
    first = put(workspace / ".kova" / "subagents", "twin", "From the first.")
    second = put(workspace / ".claude" / "agents", "twin", "From the second.")
    found = shelf(Definitions(home).of(workspace), Layer.WORKSPACE)
    assert [one.agent.description for one in found.defined] == ["From the first."]
    assert said(found) == [f"{second}: twin is defined in {first} already: this one does not count"]


def test_only_so_many_files_of_a_layer_are_read(home: Path, workspace: Path) -> None:
    for number in range(MOST_FILES + 2):
        put(workspace / ".kova" / "subagents", f"a{number:02}")
    put(workspace / ".claude" / "agents", "late")
    found = shelf(Definitions(home).of(workspace), Layer.WORKSPACE)
    assert names(found) == [f"a{number:02}" for number in range(MOST_FILES)]
    (sentence,) = said(found)
    assert sentence.endswith("a32.md: is not read, as are all after it: wanted at most 32 definitions, found 35")


def test_a_file_that_is_too_large_is_not_read(home: Path, workspace: Path) -> None:
    path = put(home / ".kova" / "subagents", "huge")
    path.write_text(path.read_text() + "x" * 300_000)
    (sentence,) = said(shelf(Definitions(home).of(workspace), Layer.USER))
    assert "wanted at most 256 KiB, found more" in sentence


def test_the_users_own_may_be_links_to_a_repository_of_theirs(home: Path, workspace: Path) -> None:
    put(home / "dotfiles", "mine")
    folder = home / ".kova" / "subagents"
    folder.mkdir(parents=True)
    (folder / "mine.md").symlink_to(home / "dotfiles" / "mine.md")
    assert names(shelf(Definitions(home).of(workspace), Layer.USER)) == ["mine"]


def test_a_file_of_the_users_that_everybody_may_write_is_not_read(home: Path, workspace: Path) -> None:
    put(home / ".kova" / "subagents", "mine").chmod(0o666)
    (sentence,) = said(shelf(Definitions(home).of(workspace), Layer.USER))
    assert "wanted a file that not everybody may write" in sentence


@pytest.mark.parametrize("parts", [(".kova", "subagents"), (".claude", "agents")])
def test_no_link_of_a_workspace_is_followed(home: Path, workspace: Path, parts: tuple[str, ...]) -> None:
    secret = put(home / "private", "secret")
    folder = workspace.joinpath(*parts)
    folder.mkdir(parents=True)
    (folder / "secret.md").symlink_to(secret)
    os.link(secret, folder / "second.md")
    found = shelf(Definitions(home).of(workspace), Layer.WORKSPACE)
    assert names(found) == []
    assert [one.name for one in found.broken] == ["second", "secret"]
    assert "found a symbolic link: none is followed here (copy the file)" in said(found)[1]


def test_a_folder_of_a_workspace_that_is_a_link_is_not_read(home: Path, workspace: Path) -> None:
    put(home / "private", "secret")
    (workspace / ".kova").mkdir()
    (workspace / ".kova" / "subagents").symlink_to(home / "private")
    (workspace / ".claude").symlink_to(home)
    found = shelf(Definitions(home).of(workspace), Layer.WORKSPACE)
    assert (names(found), len(said(found))) == ([], 2)


def test_a_pipe_does_not_hold_anybody_up(home: Path, workspace: Path) -> None:
    folder = workspace / ".kova" / "subagents"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe.md")
    (sentence,) = said(shelf(Definitions(home).of(workspace), Layer.WORKSPACE))
    assert "wanted an ordinary file" in sentence


def test_a_broken_file_of_the_users_keeps_the_name_that_it_says(home: Path, workspace: Path) -> None:
    path = put(home / ".kova" / "subagents", "explorer", file="my-own.md")
    path.write_text(path.read_text().replace("tools: Read", "tools: [Read"))
    roster = definitions_for(["explorer"], Definitions(home).of(workspace))
    assert roster.available == ()
    assert "my-own.md:" in roster.missing[0].sentence


def test_a_plugin_may_name_single_files(home: Path, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        put(tmp_path / "kit", name)
    put(tmp_path / "kit" / "more", "four")
    layers = Definitions(home, (PluginAgents("kit", tmp_path / "kit", ("two.md", "one.md", "more")),)).of(None)
    assert names(shelf(layers, Layer.PLUGIN)) == ["four", "one", "two"]


def test_a_file_that_a_person_names_is_read_through_links(tmp_path: Path) -> None:
    put(tmp_path / "real", "named")
    link = tmp_path / "named.md"
    link.symlink_to(tmp_path / "real" / "named.md")
    assert names(definitions_at(link)) == names(definitions_at(tmp_path / "real")) == ["named"]


@pytest.mark.parametrize(("name", "why"), [("a.md", "there is no such file"), ("a.txt", "wanted a file that ends in")])
def test_a_file_that_is_none_is_an_error(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        definitions_at(tmp_path / name)


pieces = st.sampled_from(
    [
        *("---\n", "---", "name: a\n", "description: b\n", "tools: Read\n", "tools:\n", "  - Bash\n", "- x\n"),
        *("prompt: |\n", "  text\n", "\t", "&a ", "*a\n", "!!python/name:os.system\n", "{", "[", ": ", "#", "'", '"'),
        *("maxTurns: 3\n", "mcpServers: {a: }\n", "permission: {'*': deny}\n", "\r\n", "\x00", "\u2028", "%YAML 1.1\n"),
    ]
)


@given(st.lists(pieces | st.text(max_size=6), max_size=14), st.sampled_from([".md", ".yml"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_text_is_a_definition_or_is_named_as_none(tmp_path: Path, parts: list[str], ending: str) -> None:
    path = tmp_path / f"any{ending}"
    path.write_bytes("".join(parts).encode("utf-8", "surrogatepass"))
    found = definitions_at(path)
    assert len(found.defined) + len(found.broken) == 1
    assert all(broken.problem.sentence for broken in found.broken)
