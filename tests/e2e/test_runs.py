"""`kova-auto runs` and `approvals`: what became of runs that really ran."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kova_auto.app.asked import Asked
from kova_auto.core.view import RunRow
from tests.e2e.scenes import READS, WRITES, Scene

SUSPENDS = '[approval]\nwhen_needed = "suspend"\n'
MAY_WRITE = 'automation = "workspace-write"\n'
DIFF = "--- /dev/null\n+++ b/made.txt\n@@ -0,0 +1 @@\n+made\n"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.fixture
def looked(scene: Scene) -> Scene:
    """Have one run behind it."""
    scene.scripted("look", READS)
    scene.run("run", "look")
    return scene


@pytest.fixture
def made(scene: Scene) -> Scene:
    """Have one run behind it that wrote a file."""
    scene.scripted("make", WRITES, MAY_WRITE)
    scene.run("run", "make")
    return scene


@pytest.fixture
def waiting(scene: Scene) -> Scene:
    """Have one run that waits for a person."""
    scene.scripted("make", WRITES, SUSPENDS)
    assert scene.run("run", "make").exit_code == 3
    return scene


def test_a_fresh_home_has_no_runs(scene: Scene) -> None:
    assert scene.run("runs", "list").stdout == "No runs. kova-auto run JOB makes one.\n"
    assert json.loads(scene.run("runs", "list", "--json").stdout) == []


def test_runs_are_listed_newest_first(looked: Scene) -> None:
    looked.scripted("make", WRITES)
    looked.run("run", "make")
    head, *rows = looked.run("runs", "list").stdout.splitlines()
    assert head.split() == ["RUN", "ASKED", "FOR", "STATUS", "CALLS", "TOKENS", "ANSWER"]
    assert [row.partition("+")[0] for row in rows] == ["make", "look"]
    assert ["done, scripted" in row for row in rows] == [True, True]
    assert len(looked.run("runs", "list", "--job", "look").stdout.splitlines()) == 2
    _, *lines = looked.run("runs", "list", "--by-job").stdout.splitlines()
    assert [line.partition("+")[0] for line in lines] == ["make  1 run", "make", "look  1 run", "look"]
    assert looked.run("runs", "list", "--unfinished").stdout == "No runs. kova-auto run JOB makes one.\n"


def test_a_listing_for_programs_has_the_names_that_its_help_promises(looked: Scene) -> None:
    (row,) = json.loads(looked.run("runs", "list", "--json").stdout)
    assert list(row) == list(RunRow.model_fields)
    promised = " ".join(looked.run("runs", "list", "--help").stdout.split())
    assert ", ".join(RunRow.model_fields) in promised


def test_a_run_is_shown(looked: Scene) -> None:
    shown = looked.run("runs", "show", "last").stdout
    assert "  model       scripted/look (scripted: no model was called)\n" in shown
    assert shown.endswith("answer\nIt says: first line\n")
    body = json.loads(looked.run("runs", "show", "look", "--json").stdout)
    assert (body["run"]["outcome"], body["answer"], [call["tool"] for call in body["calls"]]) == (
        "done",
        "It says: first line",
        ["read"],
    )


def test_a_run_that_is_not_there_is_exit_code_2(looked: Scene) -> None:
    result = looked.run("runs", "show", "nobody")
    assert (result.exit_code, result.stderr) == (2, "error: no run's id begins with 'nobody'\n")


def test_a_finished_run_can_be_followed_to_its_end(looked: Scene) -> None:
    result = looked.run("runs", "tail", "last")
    assert (result.exit_code, result.stdout.partition("\n")[0]) == (0, "It says: first line")
    lines = looked.run("runs", "tail", "last", "--json").stdout.splitlines()
    assert json.loads(lines[-1])["event"]["kind"] == "run_finished"


def test_a_run_is_shown_as_a_loop(looked: Scene) -> None:
    lines = looked.run("runs", "loop", "last").stdout.splitlines()
    assert [re.sub(r"\d+\.\d s", "… s", line) for line in lines if line.startswith(("│    ", "└"))] == [
        "│    I look.",
        '│    → read {"file_path": "notes.txt"}',
        "│      allow: Reading in the workspace is allowed in this run.  level.read-only.read_inside",
        "│    ← ok, … s: 1 first line (+1 line)",
        "│    It says: first line",
        "└─ done: the model asked for nothing more and gave its answer",
    ]
    assert len(json.loads(looked.run("runs", "loop", "last", "--json").stdout)["iterations"]) == 2


def test_one_iteration_is_shown_alone_and_one_that_is_not_there_is_named(looked: Scene) -> None:
    shown = looked.run("runs", "loop", "last", "--iteration", "2")
    assert ("I look." in shown.stdout, "It says: first line" in shown.stdout) == (False, True)
    refused = looked.run("runs", "loop", "last", "--iteration", "3")
    assert (refused.exit_code, "wanted an iteration from 1 to 2, found 3" in refused.stderr) == (2, True)


def test_what_a_run_wrote_is_shown_and_taken_back(made: Scene) -> None:
    assert made.run("runs", "diff", "last").stdout == DIFF
    result = made.run("runs", "undo", "last")
    assert (result.exit_code, result.stdout) == (0, f"restored {made.workspace / 'made.txt'}\n")
    assert not (made.workspace / "made.txt").exists()


def test_what_has_changed_since_is_not_taken_back(made: Scene) -> None:
    (made.workspace / "made.txt").write_text("mine\n")
    result = made.run("runs", "undo", "last")
    assert (result.exit_code, (made.workspace / "made.txt").read_text()) == (1, "mine\n")
    assert result.stderr.startswith(f"refused: {made.workspace / 'made.txt'} has changed since the run wrote it")
    assert result.stderr.count("made.txt") == 1


def test_a_run_in_a_copy_has_nothing_to_take_back(made: Scene) -> None:
    made.run("run", "make", "--staged")
    result = made.run("runs", "undo", "last")
    assert (result.exit_code, "worked in a workspace of its own" in result.stderr) == (1, True)


def test_a_run_that_wrote_nothing_has_nothing_to_take_back(looked: Scene) -> None:
    assert looked.run("runs", "undo", "last").stdout == "There is nothing to restore: the run changed no file.\n"
    assert looked.run("runs", "diff", "last").stderr == "note: the run changed no file\n"


def test_a_finished_run_can_be_tried_again(looked: Scene) -> None:
    (looked.workspace / "notes.txt").write_text("other line\n")
    result = looked.run("runs", "retry", "last")
    assert (result.exit_code, result.stdout.partition("\n")[0]) == (0, "It says: other line")
    assert result.stderr.startswith("attempt 2, asked for by ")


def test_a_run_that_goes_on_cannot_be_tried_again(waiting: Scene) -> None:
    result = waiting.run("runs", "retry", "last")
    assert (result.exit_code, "has not finished; cancel it first" in result.stderr) == (1, True)


def test_a_waiting_run_can_be_ended(waiting: Scene) -> None:
    result = waiting.run("runs", "cancel", "last", "--reason", "not needed")
    assert (result.exit_code, "cancelled, partial: not needed" in result.stderr) == (0, True)
    again = waiting.run("runs", "cancel", "last")
    assert (again.exit_code, "has finished already: cancelled" in again.stderr) == (1, True)


def test_a_call_that_waits_is_listed_and_shown(waiting: Scene) -> None:
    _, row = waiting.run("approvals", "list").stdout.splitlines()
    assert row.split()[1:3] == ["1.1", "write"]
    (listed,) = json.loads(waiting.run("approvals", "list", "--json").stdout)
    assert (list(listed), listed["open"]) == (list(Asked.model_fields), True)
    shown = waiting.run("approvals", "show", "last", "1.1").stdout
    assert '  "file_path": "made.txt",\n' in shown
    body = json.loads(waiting.run("approvals", "show", "last", "1.1", "--json").stdout)
    assert (body["approval"], body["rule"]) == (listed, "level.read-only.write_inside")


def test_an_allowed_call_happens_and_the_run_goes_on_to_its_end(waiting: Scene) -> None:
    result = waiting.run("approvals", "allow", "last", "1.1", "--reason", "go on")
    assert (result.exit_code, result.stdout.partition("\n")[0]) == (0, "It is written.")
    assert (waiting.workspace / "made.txt").read_text() == "made\n"
    assert waiting.run("approvals", "list").stdout == "Nothing waits for a person.\n"
    (answered,) = json.loads(waiting.run("approvals", "list", "--all", "--json").stdout)
    assert (answered["decision"], answered["open"]) == ("once", False)


def test_a_refused_call_does_not_happen_and_the_model_is_told(waiting: Scene) -> None:
    result = waiting.run("approvals", "deny", "last", "1.1", "--reason", "not today")
    assert (result.exit_code, "refused this call: not today" in result.stdout) == (0, True)
    assert not (waiting.workspace / "made.txt").exists()


def test_a_call_that_waits_for_nobody_cannot_be_answered(looked: Scene) -> None:
    result = looked.run("approvals", "allow", "last", "1.1")
    assert (result.exit_code, result.stdout) == (1, "")
