"""Where MCP servers are configured: whose file counts, and which is not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.mcp.roster import Shelf
from kova_auto.core.mcp.server import Layer
from kova_auto.knowledge.mcp import PluginFile, ServerFiles
from tests.app.mcp_homes import configure


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def workspace(home: Path) -> Path:
    (home / "app").mkdir()
    return home / "app"


def plugin(home: Path, name: str = "kit") -> PluginFile:
    root = home / "plugins" / name
    return PluginFile(name, root, configure(root, "more/servers.json", lint={"command": "lint"}))


def shelves(home: Path, workspace: Path, *plugins: PluginFile) -> list[Shelf]:
    return list(ServerFiles(home, plugins).shelves(workspace))


def test_files_count_in_their_order(home: Path, workspace: Path) -> None:
    for folder, name in ((home, ".kova/mcp.json"), (workspace, ".kova/mcp.json"), (workspace, ".mcp.json")):
        configure(folder, name, db={"command": "run"})
    found = shelves(home, workspace, plugin(home))
    assert [(shelf.layer, shelf.plugin, Path(shelf.path).relative_to(home).as_posix()) for shelf in found] == [
        (Layer.USER, "", ".kova/mcp.json"),
        (Layer.PLUGIN, "kit", "plugins/kit/more/servers.json"),
        (Layer.WORKSPACE, "", "app/.kova/mcp.json"),
        (Layer.WORKSPACE, "", "app/.mcp.json"),
    ]
    assert [server.address for shelf in found for server in shelf.servers] == [
        "db",
        "kit:lint",
        "workspace:db",
        "workspace:db",
    ]


def test_no_file_is_nothing(home: Path, workspace: Path) -> None:
    assert shelves(home, workspace) == []


def test_in_the_home_directory_the_users_own_file_is_the_users_own(home: Path) -> None:
    configure(home, db={"command": "run"})
    configure(home, ".mcp.json", other={"command": "run"})
    assert [shelf.layer for shelf in shelves(home, home)] == [Layer.USER, Layer.WORKSPACE]


def test_the_users_own_file_may_lie_elsewhere(home: Path, workspace: Path) -> None:
    real = configure(home, "dotfiles/mcp.json", db={"command": "run"})
    (home / ".kova").mkdir()
    (home / ".kova" / "mcp.json").symlink_to(real)
    assert [server.name for server in shelves(home, workspace)[0].servers] == ["db"]


def test_a_link_in_a_workspace_is_not_followed(home: Path, workspace: Path) -> None:
    real = configure(home, "elsewhere.json", db={"command": "run"})
    (workspace / ".mcp.json").symlink_to(real)
    (found,) = shelves(home, workspace)
    assert found.servers == ()
    assert found.problems


def test_a_file_that_everybody_may_write_does_not_count(home: Path, workspace: Path) -> None:
    configure(home, db={"command": "run"}).chmod(0o666)
    (found,) = shelves(home, workspace)
    assert found.servers == ()
    assert "chmod o-w" in found.problems[0].sentence


@pytest.mark.parametrize("name", ["workspace", "user", "a__b"])
def test_a_plugin_whose_servers_could_be_taken_for_others_brings_none(home: Path, workspace: Path, name: str) -> None:
    (found,) = shelves(home, workspace, plugin(home, name))
    assert found.servers == ()
    assert "rename the plugin" in found.problems[0].sentence


def test_what_is_no_text_is_named(home: Path, workspace: Path) -> None:
    configure(workspace, ".mcp.json").write_bytes(b"\xff\xfe")
    assert "wanted text in UTF-8" in shelves(home, workspace)[0].problems[0].sentence
