"""Calls that wait for a person, across the death of the service: answered from elsewhere, each exactly once."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.scenes import COMMAND, WRITES, Program, Scene, endpoint, gone
from tests.support import ROOT

READY = r"jobs?, \d+ broken"
SUSPENDS = '[approval]\nwhen_needed = "suspend"\n'
TWO = """
[[turns]]
text = "I write both."
[[turns.calls]]
id = "one"
tool = "write"
args = { file_path = "one.txt", content = "one\\n", mode = "append" }
[[turns.calls]]
id = "two"
tool = "write"
args = { file_path = "two.txt", content = "two\\n", mode = "append" }
[[turns]]
text = "one: {{ results.one.status }}, two: {{ results.two.status }}; {{ results.two.text }}"
"""
ASKS = """
[[turns]]
text = "I ask."
[[turns.calls]]
id = "asked"
tool = "question"
[[turns.calls.args.questions]]
title = "Which branch?"
options = [{ title = "main" }, { title = "next" }]
[[turns]]
text = "I was told: {{ results.asked.text }}"
"""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@contextmanager
def serving(scene: Scene) -> Iterator[Program]:
    program = scene.start("serve")
    program.says(READY)
    try:
        yield program
    finally:
        program.signal(signal.SIGTERM)
        program.ends()


def facts(scene: Scene) -> list[dict[str, str]]:
    lines = scene.run("runs", "tail", "last", "--json").stdout.splitlines()
    return [json.loads(line)["event"] for line in lines]


def started(scene: Scene) -> list[str]:
    return [fact["call_id"] for fact in facts(scene) if fact["kind"] == "call_started"]


def killed_while_it_waits(scene: Scene, job: str) -> None:
    """Let a service run a job until it waits for a person, and kill it there."""
    program = scene.start("serve")
    program.says(READY)
    assert scene.run("run", job).exit_code == 3
    program.signal(signal.SIGKILL)
    program.ends()


def test_two_calls_outlive_the_service_and_each_gets_its_own_answer(scene: Scene) -> None:
    scene.scripted("both", TWO, SUSPENDS)
    killed_while_it_waits(scene, "both")

    with serving(scene) as service:
        allowed = scene.run("approvals", "allow", "last", "1.1")
        denied = scene.run("approvals", "deny", "last", "1.2", "--reason", "one is enough")
        assert (allowed.exit_code, denied.exit_code) == (0, 0)
        service.says(r"run both\+\S+: done")

    assert (scene.workspace / "one.txt").read_text() == "one\n"
    assert not (scene.workspace / "two.txt").exists()
    assert started(scene) == ["1.1"]
    answer = json.loads(scene.run("runs", "show", "last", "--json").stdout)["answer"]
    assert answer.startswith("one: ok, two: denied; ")
    assert "refused this call: one is enough" in answer


def test_a_call_is_executed_as_the_person_has_edited_it(scene: Scene) -> None:
    scene.scripted("make", WRITES, SUSPENDS)
    killed_while_it_waits(scene, "make")

    with serving(scene) as service:
        assert scene.run("approvals", "allow", "last", "1.1", "--edit", '{"file_path": "other.txt"}').exit_code == 0
        service.says(r"run make\+\S+: done")

    assert (scene.workspace / "other.txt").read_text() == "made\n"
    assert not (scene.workspace / "made.txt").exists()
    assert started(scene) == ["1.1"]


def test_what_a_person_edits_is_judged_anew(scene: Scene) -> None:
    scene.scripted("make", WRITES, SUSPENDS)
    killed_while_it_waits(scene, "make")

    result = scene.run("approvals", "allow", "last", "1.1", "--edit", '{"file_path": ".git/config"}')

    assert (result.exit_code, started(scene)) == (0, [])
    assert "no tool call writes it, whoever approves" in result.stdout


def test_a_write_is_stale_where_its_file_has_changed_meanwhile(scene: Scene) -> None:
    scene.scripted("both", TWO, SUSPENDS)
    killed_while_it_waits(scene, "both")
    (scene.workspace / "one.txt").write_text("somebody was here\n")

    scene.run("approvals", "deny", "last", "1.2")
    result = scene.run("approvals", "allow", "last", "1.1")

    assert result.stdout.startswith("one: stale, two: denied")
    assert (scene.workspace / "one.txt").read_text() == "somebody was here\n"
    assert started(scene) == []


@pytest.mark.parametrize(
    ("on_timeout", "outcome", "reason"),
    [("deny", "done", ""), ("stop", "blocked", "nobody answered in time about write")],
)
def test_the_time_to_answer_ends_as_the_job_says(scene: Scene, on_timeout: str, outcome: str, reason: str) -> None:
    scene.scripted("make", WRITES, f'{SUSPENDS}timeout = "4s"\non_timeout = "{on_timeout}"\n')
    killed_while_it_waits(scene, "make")

    with serving(scene) as service:
        service.says(rf"run make\+\S+: {outcome}")

    shown = json.loads(scene.run("runs", "show", "last", "--json").stdout)
    assert (shown["run"]["outcome"], shown["run"]["reason"]) == (outcome, reason)
    late = scene.run("approvals", "allow", "last", "1.1")
    assert (late.exit_code, "timeout has answered already (deny, " in late.stderr) == (1, True)
    assert not (scene.workspace / "made.txt").exists()


def test_a_job_may_wait_for_ever(scene: Scene) -> None:
    scene.scripted("make", WRITES, f'{SUSPENDS}timeout = "1s"\non_timeout = "keep"\n')
    killed_while_it_waits(scene, "make")

    (waits,) = json.loads(scene.run("approvals", "list", "--json").stdout)
    assert (waits["expires_at"], waits["open"]) == (None, True)
    assert scene.run("approvals", "allow", "last", "1.1").exit_code == 0
    assert (scene.workspace / "made.txt").read_text() == "made\n"


def test_of_two_people_who_answer_at_once_one_is_first_and_the_other_is_told(scene: Scene) -> None:
    scene.scripted("make", WRITES, SUSPENDS)
    with serving(scene) as service:
        assert scene.run("run", "make").exit_code == 3
        answers = [scene.start("approvals", word, "last", "1.1") for word in ("allow", "deny")]
        codes = [program.ends() for program in answers]
        service.says(r"run make\+\S+: done")

    assert sorted(codes) == [0, 1]
    loser = answers[codes.index(1)]
    assert "has answered already (" in loser.notes
    assert (scene.workspace / "made.txt").exists() == (codes[0] == 0)
    assert len(started(scene)) == (codes[0] == 0)


def test_a_request_that_reaches_nobody_is_refused_at_once_and_another_endpoint_hears(scene: Scene) -> None:
    scene.scripted(
        "make",
        WRITES,
        f'{SUSPENDS}notify = ["ci"]\n[[notify]]\nendpoint = "other"\n',
    )
    scene.secret()
    with gone() as url:
        scene.settings(endpoint(url) + endpoint(url).replace("endpoints.ci", "endpoints.other"))
        result = scene.run("run", "make")

    assert (result.exit_code, "nobody could be asked: ci: " in result.stdout) == (0, True), result.stderr
    rows = json.loads(scene.run("deliveries", "list", "--json").stdout)
    assert {(row["endpoint"], row["cause"]) for row in rows} == {
        ("ci", "approval"),
        ("other", "unreached"),
        ("other", "outcome"),
    }


def test_a_question_is_answered_by_an_options_number(scene: Scene) -> None:
    scene.scripted("ask", ASKS, '[approval]\nquestions = "suspend"\n')
    killed_while_it_waits(scene, "ask")

    (listed,) = json.loads(scene.run("questions", "list", "--json").stdout)
    assert listed["questions"][0]["title"] == "Which branch?"
    assert "  2. next\n" in scene.run("questions", "show", "last", "1.1").stdout
    wrong = scene.run("questions", "answer", "last", "1.1", "3")
    assert (wrong.exit_code, "wanted an option from 1 to 2, found 3" in wrong.stderr) == (2, True)

    result = scene.run("questions", "answer", "last", "1.1", "2")
    assert (result.exit_code, result.stdout.partition("\n\n")[0]) == (0, "I was told: Which branch?\nAnswer: next")


def test_a_job_that_does_not_wait_for_answers_is_told_to_assume(scene: Scene) -> None:
    scene.scripted("ask", ASKS)

    assert "Nobody is there to answer this question." in scene.run("run", "ask").stdout


def test_an_attended_run_wants_a_terminal(scene: Scene) -> None:
    scene.scripted("make", WRITES)
    done = subprocess.run(
        [*COMMAND, "run", "make", "--attended"],
        cwd=ROOT,
        env=scene.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "--attended asks in the terminal: wanted one on standard input and output, found none" in done.stderr
