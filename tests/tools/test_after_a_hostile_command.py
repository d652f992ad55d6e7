"""What our own tools do in a workspace that a confined command has made hostile: they are not confined themselves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kova_auto.core.errors import ToolError
from kova_auto.core.message import ResultStatus
from kova_auto.core.tool import Scene
from kova_auto.tools.edit import EditTool
from kova_auto.tools.glob import GlobTool
from kova_auto.tools.grep import GrepTool
from kova_auto.tools.ignore import Lister
from kova_auto.tools.read import ReadTool
from kova_auto.tools.roots import Roots
from kova_auto.tools.sandbox.plan import Level
from kova_auto.tools.search import own_engine
from kova_auto.tools.tool import Tool
from kova_auto.tools.write import WriteTool
from tests.tools.boundary_world import everything
from tests.tools.command_scenes import METHODS, a_workspace, bash, some_commands
from tests.tools.sandbox.breakout import git
from tests.tools.tool_scenes import a_scene, names, no_blob, play, some_roots

pytestmark = pytest.mark.skipif(not METHODS, reason="commands cannot be confined here")

PLANT = """
ln -s ../outside/secret notes.md
ln -s ../outside docs
ln -s /proc/self/root whole
ln -s ../outside/new.txt fresh.txt
mkdir -p real && rm -rf real && ln -s ../outside real
mkfifo report.md
ln -s . round
git init -q sub && git -C sub config core.fsmonitor 'touch ../../outside/owned' && rm -rf sub/.git/hooks
mkdir .git/objects/zz; echo 'ref: refs/heads/../../../../outside' > .git/HEAD || true
"""


@pytest.fixture
def roots() -> Iterator[Roots]:
    made = some_roots()
    yield made
    made.close()


@pytest.fixture
async def hostile(tmp_path: Path) -> Scene:
    """Give the scene of a call in a workspace in which a command has planted what it could."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("the secret")
    workspace = a_workspace(tmp_path)
    git(workspace, "init", "-q", "-b", "main", ".")
    (workspace / "plain.md").write_text("plain")
    scene = a_scene(workspace)
    output = await bash(some_commands(tmp_path), scene, PLANT, level=Level.WORKSPACE)
    assert "sub/.git" in output.result.text
    return scene


WRITES = ("notes.md", "docs/secret", "docs/new.txt", "whole/etc/owned", "fresh.txt", "real/new.txt", "report.md")


@pytest.mark.parametrize("name", WRITES)
async def test_nothing_is_written_through_what_a_command_planted(
    hostile: Scene, roots: Roots, tmp_path: Path, name: str
) -> None:
    before = everything(tmp_path / "outside")
    with pytest.raises(ToolError):
        await play(WriteTool(roots), hostile, file_path=name, content="new")
    with pytest.raises(ToolError):
        await play(WriteTool(roots), hostile, file_path=name, content="new", mode="append")

    assert everything(tmp_path / "outside") == before
    assert "owned" not in os.listdir("/etc")  # noqa: PTH208


@pytest.mark.parametrize("name", WRITES)
async def test_nothing_is_edited_or_read_through_it_either(
    hostile: Scene, roots: Roots, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ToolError):
        await play(EditTool(roots), hostile, file_path=name, old_string="the secret", new_string="x")
    with pytest.raises(ToolError):
        await play(ReadTool(roots, no_blob), hostile, file_path=name)

    assert (tmp_path / "outside/secret").read_text() == "the secret"


async def test_searching_goes_through_no_link_and_runs_nothing(hostile: Scene, roots: Roots, tmp_path: Path) -> None:
    lister = Lister(roots, shutil.which("git"))
    tools: tuple[tuple[Tool, dict[str, str]], ...] = (
        (GlobTool(roots, lister), {"pattern": "**/*"}),
        (GrepTool(roots, lister, own_engine()), {"pattern": "the secret"}),
    )
    texts = [(await play(tool, hostile, **args)).text for tool, args in tools]

    assert ("plain.md" in texts[0], "secret" in texts[0], "notes.md:" in texts[1]) == (True, False, False)
    assert names(tmp_path / "outside") == ["secret"]


async def test_a_harmless_write_beside_it_succeeds(hostile: Scene, roots: Roots) -> None:
    done = await play(WriteTool(roots), hostile, file_path="more/new.md", content="new")

    assert (done.result.status, (Path(hostile.workspace) / "more/new.md").read_text()) == (ResultStatus.OK, "new")
