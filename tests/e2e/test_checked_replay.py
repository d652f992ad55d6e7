"""A run whose answer was checked is replayed: nothing is run, and it comes to the same."""

from __future__ import annotations

import json
from pathlib import Path

from tests.e2e.scenes import Scene

CHECKED = """
[[turns]]
text = "Not yet."
[[turns]]
text = "I write."
[[turns.calls]]
tool = "write"
args = { file_path = "report.md", content = "made\\n" }
[[turns]]
text = "Made."
"""
MORE = """
automation = "full"
[permissions]
sandbox = "off"
[output]
checks = ["test -s report.md", "echo x >> ran"]
"""


def test_a_replay_runs_no_check_and_comes_to_the_same(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.scripted("make", CHECKED, MORE)
    assert scene.run("run", "make").exit_code == 0
    assert (scene.workspace / "ran").read_text() == "x\nx\n"
    done = scene.run("runs", "replay", "last", "--json")

    replay = json.loads(done.stdout)
    assert (done.exit_code, replay["ended"], replay["outcome_now"], replay["differs"]) == (0, "finished", "done", False)
    assert (scene.workspace / "ran").read_text() == "x\nx\n"
