"""Goal mode as a whole: a command that judges, a service that is killed under it, and a person who agrees."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.scenes import ASLEEP, UNCONFINED, Scene
from tests.e2e.test_approvals import READY, facts, serving
from tests.support import ROOT

GOAL = 'mode = "goal"\n'
JUDGED = """
[[turns]]
text = "I make it."
[[turns.calls]]
id = "made"
tool = "write"
args = { file_path = "made.txt", content = "made\\n" }
[[turns]]
text = "It is made."
[[turns]]
expect = ["The goal is not reached yet: that was turn 1 of 30.", "c1: the command"]
text = "It is."
[[turns.calls]]
id = "complete"
tool = "goal_complete"
args = { summary = "It is made.", results = [{ id = "c1", met = true }] }
[[turns]]
text = "complete: {{ results.complete.status }}"
"""
SLOW = "test -e made.txt && { test -e second || { touch second; echo > asleep; sleep 600; }; }"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def shown(scene: Scene) -> dict[str, object]:
    found: dict[str, object] = json.loads(scene.run("runs", "show", "last", "--json").stdout)
    return found


def judged_by(command: str) -> str:
    return f"{GOAL}goal = {{ criteria = [{{ command = {json.dumps(command)} }}] }}\n{UNCONFINED}"


def test_a_goal_is_reached_where_the_command_says_so(scene: Scene) -> None:
    scene.scripted("make", JUDGED, judged_by("grep -c made made.txt"))

    result = scene.run("run", "make")

    assert result.exit_code == 0
    assert shown(scene)["answer"] == "complete: ok"
    assert shown(scene)["goal"] == {
        "objective": "Look.",
        "status": "complete",
        "phase": "confirmed",
        "author": "job",
        "turn": 2,
        "turns": 30,
        "criteria": [
            {
                "id": "c1",
                "text": "",
                "command": "grep -c made made.txt",
                "met": True,
                "evidence": "the command `grep -c made made.txt`: exit code 0\n1",
            }
        ],
        "summary": "It is made.",
        "blocker": "",
    }


def test_the_example_that_comes_along_reaches_its_goal_in_two_turns(scene: Scene) -> None:
    result = scene.run("run", str(ROOT / "jobs" / "open-marks.toml"))

    goal = shown(scene)["goal"]
    assert isinstance(goal, dict)
    assert (result.exit_code, goal["status"], goal["turn"]) == (0, "complete", 2)
    assert result.stdout.startswith("# Marks of unfinished work\n")


def test_a_goal_whose_command_fails_ends_in_no_success(scene: Scene) -> None:
    scene.scripted("make", JUDGED, judged_by("false"))

    assert scene.run("run", "make").exit_code == 1
    row = shown(scene)["run"]
    assert isinstance(row, dict)
    assert row["outcome"] == "failed"


def test_killed_while_a_command_judges_it_is_judged_again_by_the_next_service(scene: Scene) -> None:
    scene.scripted("make", JUDGED, judged_by(SLOW))
    os.mkfifo(scene.workspace / ASLEEP)
    program = scene.start("serve")
    program.says(READY)
    client = scene.start("run", "make")
    scene.falls_asleep()
    for one in (program, client):
        one.signal(signal.SIGKILL)
        one.ends()

    with serving(scene) as service:
        service.says(r"run make\+\S+: done")

    told = facts(scene)
    judging = [fact for fact in told if fact.get("call_id") == "3.1"]
    assert [fact["kind"] for fact in judging] == [
        "call_adjudicated",
        "call_started",
        "process_started",
        "call_started",
        "process_started",
        "call_finished",
    ]
    assert not _is_there(int(judging[2]["pid"]))
    assert shown(scene)["answer"] == "complete: ok"


def _is_there(pid: int) -> bool:
    """Say whether a command that judges still sleeps."""
    try:
        return "sleep 600" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False
