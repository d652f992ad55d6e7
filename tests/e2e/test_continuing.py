"""`kova-auto runs continue`: a session that goes on, in this process and through a live service."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.scenes import READS, Program, Scene

READY = r"jobs?, \d+ broken"
GOES_ON = """
[[turns]]
text = "The second says more."
[[turns]]
text = "There is no third."
"""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Have one run behind it."""
    scene = Scene(tmp_path)
    scene.scripted("look", READS + GOES_ON)
    assert scene.run("run", "look").exit_code == 0
    return scene


@contextmanager
def serving(scene: Scene) -> Iterator[Program]:
    program = scene.start("serve")
    program.says(READY)
    try:
        yield program
    finally:
        program.signal(signal.SIGTERM)
        program.ends()


def facts(scene: Scene, run: str = "last") -> dict[str, dict[str, Any]]:
    """Return the facts of a run by their kinds; of each kind the first."""
    events = [json.loads(line)["event"] for line in scene.run("runs", "tail", run, "--json").stdout.splitlines()]
    return {event["kind"]: event for event in reversed(events)}


def ids(scene: Scene) -> list[str]:
    """Return the runs, oldest first."""
    return [row["run_id"] for row in reversed(json.loads(scene.run("runs", "list", "--json").stdout))]


def said(fact: dict[str, Any]) -> list[tuple[str, str]]:
    """Return what was said before a run began, each with who said it."""
    spoken = []
    for message in fact["history"]:
        text = message.get("text") or "\n".join(part.get("text", "") for part in message.get("parts", ()))
        spoken.append((message["role"], text))
    return spoken


def test_the_next_run_has_all_before_its_eyes_that_was_said(scene: Scene) -> None:
    assert scene.run("runs", "continue", "last", "And the second line?").exit_code == 0
    [first, second] = ids(scene)
    known = facts(scene, second)

    assert known["run_requested"]["continues"] == first
    assert known["run_requested"]["job"]["prompt"] == "And the second line?"
    assert [role for role, _ in said(known["context_assembled"])] == ["user", "assistant", "tool", "assistant"]
    assert said(known["context_assembled"])[-1][1] == "It says: first line"
    assert known["context_assembled"]["prompt"][0]["text"] == "And the second line?"


def test_a_chain_of_runs_is_one_session(scene: Scene) -> None:
    scene.run("runs", "continue", "last", "And the second line?")
    scene.run("runs", "continue", "last", "And the third?")
    [_, second, third] = ids(scene)
    known = facts(scene, third)

    assert known["run_requested"]["continues"] == second
    texts = [text for role, text in said(known["context_assembled"]) if role == "user"]
    assert texts == ["Look.", "And the second line?"]
    assert f"  continues   {second}\n" in scene.run("runs", "show", third).stdout


def test_what_the_file_says_by_now_changes_nothing(scene: Scene) -> None:
    job = scene.jobs / "look.toml"
    job.write_text("prompt = ")
    assert scene.run("runs", "continue", "last", "And the second line?").exit_code == 0


def test_a_run_that_is_not_there_is_said(scene: Scene) -> None:
    done = scene.run("runs", "continue", "nothing", "More.")
    assert (done.exit_code, "nothing" in done.stderr) == (2, True)


def test_a_blank_prompt_is_refused(scene: Scene) -> None:
    done = scene.run("runs", "continue", "last", " ")
    assert (done.exit_code, "wanted what the model is asked next" in done.stderr) == (2, True)


def test_a_live_service_goes_on_with_a_session(scene: Scene) -> None:
    with serving(scene) as service:
        done = scene.run("runs", "continue", "last", "And the second line?")
        assert done.exit_code == 0, done.stderr
        service.says(r"run look\+\S+: done")
    [first, second] = ids(scene)
    assert facts(scene, second)["run_requested"]["continues"] == first
