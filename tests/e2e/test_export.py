"""`kova-auto runs export`: a whole run, in each form, in files that nobody else reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kova_auto.core.ids import blob_hash
from tests.e2e.scenes import READS, WRITES, Scene, endpoint, receiving


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    """Have one run behind it that wrote a file."""
    scene = Scene(tmp_path)
    scene.scripted("make", WRITES, 'automation = "workspace-write"\n')
    scene.run("run", "make")
    return scene


def test_json_holds_the_run_and_is_the_same_each_time(made: Scene) -> None:
    first, second = (made.run("runs", "export", "last").stdout for _ in range(2))
    whole = json.loads(first)
    tail = [json.loads(line) for line in made.run("runs", "tail", "last", "--json").stdout.splitlines()]

    assert first == second
    assert whole["facts"] == tail
    assert whole["loop"] == json.loads(made.run("runs", "loop", "last", "--json").stdout)
    assert whole["run"] == json.loads(made.run("runs", "list", "--json").stdout)[0]
    assert [said["what"] for said in whole["transcript"]] == ["system", "prompt", "reply", "result", "reply"]
    assert (whole["answer"], whole["requests"]) == ("It is written.", [])
    assert [(ref["use"], ref["size"]) for ref in whole["blobs"]] == [("after", 5)]


def test_contents_are_written_under_their_hashes(made: Scene) -> None:
    place = made.path / "out" / "blobs"
    for _ in range(2):  # What is there already is the same.
        assert made.run("runs", "export", "last", "--blobs", f"{place}").exit_code == 0
    (blob,) = place.iterdir()
    assert (blob.name, blob.read_bytes()) == (blob_hash(b"made\n"), b"made\n")
    assert (blob.stat().st_mode & 0o777, place.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_file_is_new_and_for_its_owner_alone(made: Scene) -> None:
    target = made.path / "run.md"
    assert made.run("runs", "export", "last", "--format", "md", "-o", f"{target}").stdout == ""
    text = target.read_text()
    assert (text.startswith("# Run `make"), target.stat().st_mode & 0o777) == (True, 0o600)

    again = made.run("runs", "export", "last", "--format", "md", "-o", f"{target}")
    assert (again.exit_code, "wanted a new file, found one that is there already" in again.stderr) == (2, True)
    assert target.read_text() == text


def test_a_file_that_cannot_be_written_is_named(made: Scene) -> None:
    (made.path / "plain").write_text("")
    result = made.run("runs", "export", "last", "-o", f"{made.path / 'plain' / 'run.json'}")
    assert (result.exit_code, "plain/run.json: wanted to write it" in result.stderr) == (2, True)


def test_traces_are_one_line_without_what_was_said_unless_asked_for(made: Scene) -> None:
    plain = made.run("runs", "export", "last", "--format", "otlp").stdout
    whole = made.run("runs", "export", "last", "--format", "otlp", "--content").stdout
    assert (plain.count("\n"), whole.count("\n")) == (1, 1)
    assert ["It is written." in text for text in (plain, whole)] == [False, True]
    ids = [[span["spanId"] for span in _spans(text)] for text in (plain, whole)]
    assert ids[0] == ids[1]


def test_what_was_said_is_asked_for_with_traces_alone(made: Scene) -> None:
    result = made.run("runs", "export", "last", "--content")
    assert (result.exit_code, "--content: wanted --format otlp with it, found json" in result.stderr) == (2, True)


def test_a_script_was_sent_nothing_and_that_is_said(made: Scene) -> None:
    result = made.run("runs", "export", "last", "--format", "md", "--requests", f"{made.path / 'requests'}")
    assert (result.exit_code, "no body is on record" in result.stderr) == (0, True)


def test_a_run_that_failed_at_its_start_can_be_had_whole(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.scripted("look", READS, 'isolation = "worktree"\n')
    assert scene.run("run", "look").exit_code == 1

    for command in ("show", "loop"):
        assert "wants a git repository, found none" in scene.run("runs", command, "last").stdout
    whole = json.loads(scene.run("runs", "export", "last").stdout)
    assert (whole["run"]["outcome"], whole["transcript"], len(whole["facts"]) > 1) == ("failed", [], True)
    assert [span["name"] for span in _spans(scene.run("runs", "export", "last", "--format", "otlp").stdout)] == [
        "invoke_agent look"
    ]
    assert "wants a git repository" in scene.run("runs", "export", "last", "--format", "md").stdout


def _spans(text: str) -> list[dict[str, str]]:
    (resource,) = json.loads(text)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    spans: list[dict[str, str]] = scope["spans"]
    return spans


def test_who_was_told_of_a_run_finds_the_same_run_here(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.scripted("look", READS, '[[notify]]\nendpoint = "ci"\n')
    scene.secret()
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        scene.run("run", "look")
    (told,) = receiver.received
    run_id = json.loads(told.body)["data"]["run_id"]

    assert [row["run_id"] for row in json.loads(scene.run("runs", "list", "--json").stdout)] == [run_id]
    whole = json.loads(scene.run("runs", "export", run_id).stdout)
    assert (whole["run"]["run_id"], whole["answer"]) == (run_id, "It says: first line")
    assert [row["status"] for row in whole["deliveries"]] == ["delivered"]
    assert "run_finished" in [placed["event"]["kind"] for placed in whole["facts"]]
