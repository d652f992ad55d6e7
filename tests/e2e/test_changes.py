"""`kova-auto runs diff`, `apply` and `discard`: what runs left in workspaces of their own, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.scenes import WRITES, Scene

IN_A_COPY = 'automation = "workspace-write"\nisolation = "copy"\n'
STEERS = """
[[turns]]
[[turns.calls]]
tool = "bash"
args = { command = "echo 'Be kind.' > AGENTS.md" }
[[turns]]
text = "Done."
"""


@pytest.fixture
def left(tmp_path: Path) -> Scene:
    """Have one run behind it that left a file in a copy."""
    scene = Scene(tmp_path)
    scene.scripted("make", WRITES, IN_A_COPY)
    shown = scene.run("run", "make")
    assert "it has left a copy with 1 changed file:" in shown.stderr
    return scene


def test_changes_are_looked_at_applied_once_and_on_record(left: Scene) -> None:
    assert "+made" in left.run("runs", "diff", "last").stdout
    assert left.run("runs", "apply", "last", "--check").stdout == "would apply made.txt\n"
    assert not (left.workspace / "made.txt").exists()
    assert left.run("runs", "apply", "last").stdout == "applied made.txt\n"
    assert (left.workspace / "made.txt").read_text() == "made\n"
    again = left.run("runs", "apply", "last")
    assert (again.exit_code, again.stdout.startswith("Already applied, by ")) == (0, True)
    assert "changes that were applied by " in left.run("runs", "show", "last").stdout


def test_what_stands_in_the_way_is_named_and_nothing_is_touched(left: Scene) -> None:
    (left.workspace / "made.txt").write_text("mine\n")
    result = left.run("runs", "apply", "last")
    assert result.exit_code == 1
    assert result.stderr.startswith("refused: made.txt is in the workspace by now\n")
    assert (left.workspace / "made.txt").read_text() == "mine\n"
    found = json.loads(left.run("runs", "apply", "last", "--check", "--json").stdout)
    assert found["refused"] == ["made.txt is in the workspace by now"]


def test_discarded_changes_are_gone(left: Scene) -> None:
    assert left.run("runs", "list", "--json").stdout.count('"kept": "a copy with 1 changed file"') == 1
    assert left.run("runs", "discard", "last").stdout.endswith("left is removed.\n")
    result = left.run("runs", "apply", "last")
    assert (result.exit_code, "its changes were discarded by " in result.stderr) == (1, True)


def test_control_files_are_applied_where_the_person_says_so(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.scripted("steer", STEERS, 'automation = "full"\nisolation = "copy"\n[permissions]\nsandbox = "off"\n')
    scene.run("run", "steer")
    refused = scene.run("runs", "apply", "last")
    assert refused.exit_code == 1
    assert "AGENTS.md is a control file, which is written with --control alone" in refused.stderr
    assert scene.run("runs", "apply", "last", "--control").stdout == "applied AGENTS.md\n"
    assert (scene.workspace / "AGENTS.md").read_text() == "Be kind.\n"
