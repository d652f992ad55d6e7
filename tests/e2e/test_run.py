"""`kova-auto run`, from a job file to what it delivered, in one process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.scenes import READS, UNCONFINED, WRITES, Scene, endpoint, receiving

SCRIPTED = "scripted: no model was called"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_the_answer_goes_to_standard_output_and_the_rest_beside_it(scene: Scene) -> None:
    scene.scripted("look", READS)
    result = scene.run("run", "look")
    assert (result.exit_code, result.stdout) == (0, f"It says: first line\n\n{SCRIPTED}\n")
    notes = result.stderr.splitlines()
    assert notes[0].startswith("run look+20260327T120000Z-")
    assert notes[1].startswith("iteration 1  +")
    assert notes[2:5] == [
        "  I look.",
        "  read file_path=notes.txt  allow level.read-only.read_inside",
        "    ok: 1 first line (+1 line)",
    ]
    assert notes[-1].endswith(f"2 iterations · 1 call · {SCRIPTED}")


def test_a_file_is_run_as_well_as_a_name(scene: Scene) -> None:
    scene.scripted("look", READS)
    assert scene.run("run", str(scene.jobs / "look.toml")).exit_code == 0


def test_a_program_gets_every_fact_as_a_line(scene: Scene) -> None:
    scene.scripted("look", READS)
    result = scene.run("run", "look", "--json")
    facts = [json.loads(line) for line in result.stdout.splitlines()]
    assert [fact["seq"] for fact in facts] == list(range(1, len(facts) + 1))
    assert [fact["event"]["kind"] for fact in facts] == [
        "run_requested",
        "run_acquired",
        "context_assembled",
        "model_call_started",
        "model_replied",
        "call_adjudicated",
        "call_started",
        "call_finished",
        "model_call_started",
        "model_replied",
        "run_finished",
    ]
    assert (result.exit_code, result.stderr) == (0, "")


def test_a_broken_job_file_is_named_before_anything_is_opened(scene: Scene) -> None:
    path = scene.job("broken", 'prompt = "x"\npromt = 3\n')
    result = scene.run("run", "broken")
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"error: {path}:2: promt" in result.stderr
    assert not scene.database.exists()


def test_inputs_reach_the_prompt(scene: Scene) -> None:
    more = "[inputs]\nbranch = {}\n"
    scene.scripted("look", '[[turns]]\ntext = "Asked: {{ prompt }}"\n', more)
    path = scene.jobs / "look.toml"
    path.write_text(path.read_text().replace('"Look."', '"Look at {{ inputs.branch }}."'))
    assert scene.run("run", "look", "--input", "branch=a=b").stdout.startswith("Asked: Look at a=b.\n")
    missing = scene.run("run", "look")
    assert (missing.exit_code, "--input branch=VALUE" in missing.stderr) == (2, True)
    assert scene.run("run", "look", "--input", "branch").exit_code == 2


def test_a_run_that_is_refused_too_often_is_blocked(scene: Scene) -> None:
    scene.scripted("make", WRITES, "[limits]\ndenials = 1\n")
    result = scene.run("run", "make")
    assert (result.exit_code, "refused  write file_path=made.txt" in result.stderr) == (3, True)


def test_a_run_whose_model_fails_has_failed(scene: Scene) -> None:
    scene.scripted("look", READS.partition('[[turns]]\ntext = "It')[0])
    result = scene.run("run", "look")
    assert (result.exit_code, "failed, partial: ScriptMismatch" in result.stderr) == (1, True)


def test_a_listener_gets_the_report_and_shows_it(scene: Scene) -> None:
    scene.scripted("look", READS)
    result = scene.run("run", "look", "--listen")
    assert result.exit_code == 0
    _, _, received = result.stderr.partition("received at http://127.0.0.1:")
    assert "  verified: the signature fits this id, this time and this body\n" in received
    body = json.loads(received[received.index("{") :])
    assert (body["type"], body["data"]["answer"]) == ("kova.run.completed", "It says: first line")
    assert body["data"]["note"] == SCRIPTED


def test_a_staged_run_shows_its_diff_and_changes_nothing(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        scene.secret()
        scene.scripted("make", WRITES, 'automation = "workspace-write"\n[[notify]]\nendpoint = "ci"\n')
        result = scene.run("run", "make", "--staged")
    assert result.stderr.splitlines()[-5:] == ["", "--- /dev/null", "+++ b/made.txt", "@@ -0,0 +1 @@", "+made"]
    assert (result.exit_code, receiver.received) == (0, [])
    assert [path.name for path in scene.workspace.iterdir()] == ["notes.txt"]


def test_a_staged_run_delivers_nothing_so_nothing_can_listen(scene: Scene) -> None:
    scene.scripted("look", READS)
    result = scene.run("run", "look", "--staged", "--listen")
    assert (result.exit_code, result.stderr.partition("\n")[0]) == (
        2,
        "error: wanted one of --staged and --listen, found both: a staged run delivers nothing",
    )


def test_a_recorded_run_can_be_played_again(scene: Scene, tmp_path: Path) -> None:
    scene.scripted("look", READS)
    assert scene.run("run", "look", "--record", str(tmp_path / "look.script.toml")).exit_code == 0
    (scene.workspace / "notes.txt").write_text("changed\n")
    scene.scripted("again", (tmp_path / "look.script.toml").read_text())
    assert scene.run("run", "again").stdout == f"It says: first line\n\n{SCRIPTED}\n"


def test_a_recording_with_nowhere_to_go_is_noticed_before_the_run(scene: Scene, tmp_path: Path) -> None:
    scene.scripted("look", READS)
    result = scene.run("run", "look", "--record", str(tmp_path / "no" / "where.toml"))
    assert (result.exit_code, scene.database.exists()) == (2, False)


def test_the_endpoints_of_a_job_are_told(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        scene.secret()
        scene.scripted("look", READS, '[[notify]]\nendpoint = "ci"\n')
        result = scene.run("run", "look")
    assert result.stderr.splitlines()[-1] == "delivery to ci: delivered: the receiver answered 204 (No Content)"
    assert [received.verified for received in receiver.received] == [True]


def test_a_command_may_run_unconfined_where_the_job_says_so(scene: Scene) -> None:
    read = 'tool = "read"\nargs = { file_path = "notes.txt" }'
    scene.scripted("look", READS.replace(read, 'tool = "bash"\nargs = { command = "cat notes.txt" }'), UNCONFINED)
    assert scene.run("run", "look").stdout.startswith("It says: first line\n")
