"""Other jobs' workspaces: hidden wherever they lie, from whoever does not work there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from kova_auto.tools.sandbox.others import others
from kova_auto.tools.sandbox.plan import Level, Method
from tests.tools.command_scenes import METHODS, a_workspace, bash, some_commands
from tests.tools.tool_scenes import a_job, a_scene


@pytest.mark.parametrize(
    ("workspace", "own", "hidden"),
    [
        ("/data/a", "/data/b", True),
        ("/data/a", "/data/a", False),
        ("/data/a/sub", "/data/a", False),
        ("/data", "/data/a", True),
        ("/data/a", "/data/ab", True),
        ("/", "/data/b", False),
        ("/etc", "/data/b", False),
        ("/usr/local/app", "/data/b", False),
        ("/opt/app", "/data/b", True),
    ],
)
def test_a_workspace_is_hidden_unless_it_is_ones_own_or_the_systems(workspace: str, own: str, hidden: bool) -> None:
    assert others([Path(workspace)], [Path(own)]) == ((Path(workspace),) if hidden else ())


def test_a_workspace_is_hidden_once_and_by_its_real_name(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert others([tmp_path / "link", tmp_path / "real"], [Path("/data/b")]) == (tmp_path.resolve() / "real",)


@pytest.fixture
def in_the_open() -> Iterator[Path]:
    """Give a directory that every command sees, if nobody hides it: no home, and no temporary directory."""
    tops = (Path(name) for name in ("/opt", "/var/cache", "/var/lib", "/var") if os.access(name, os.W_OK))
    if (top := next(tops, None)) is None:
        pytest.skip("this user may write in no such place")
    with TemporaryDirectory(dir=top) as name:
        yield Path(name)


@pytest.mark.parametrize("level", [Level.READING, Level.WORKSPACE])
@pytest.mark.parametrize("method", METHODS)
async def test_a_command_sees_no_workspace_but_its_own(in_the_open: Path, method: Method, level: Level) -> None:
    mine, theirs = a_workspace(in_the_open), in_the_open / "theirs"
    theirs.mkdir()
    (theirs / "plan").write_text("their plan")
    script, texts = f"cat {theirs}/plan; echo x > {theirs}/new; ls {theirs}", []
    for number, known in enumerate(((), (mine, theirs))):
        commands = some_commands(in_the_open, method=method, others=known)
        output = await bash(commands, a_scene(mine, call_id=f"{number}.1"), script, level=level)
        texts.append("their plan" in output.result.text)

    assert (texts, list(theirs.iterdir())) == ([True, False], [theirs / "plan"])


def test_a_run_in_a_copy_still_sees_its_jobs_own_workspace(tmp_path: Path) -> None:
    original, copy, theirs = (tmp_path.resolve() / name for name in ("original", "copy", "theirs"))
    for path in (original, copy, theirs):
        path.mkdir()
    scene = replace(a_scene(copy), job=a_job(original))
    commands = some_commands(tmp_path, others=(original, theirs))
    hidden = commands._confinement(commands.dirs(scene.run_id), scene, Level.WORKSPACE).hidden

    assert (original in hidden, theirs in hidden) == (False, True)
