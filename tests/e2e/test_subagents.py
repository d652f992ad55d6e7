"""Subagents as a person meets them: the job that comes along, a call that waits, a service that is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.scenes import Scene, endpoint, gone
from tests.e2e.test_answering import DISPATCHES
from tests.e2e.test_approvals import serving
from tests.support import ROOT

SUSPENDS = 'approval = { when_needed = "suspend" }\nagents = { allow = ["fixer"] }\n'


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_the_job_that_comes_along_puts_two_reports_together(scene: Scene) -> None:
    result = scene.run("run", str(ROOT / "jobs" / "survey.toml"))
    assert result.exit_code == 0
    assert result.stdout.startswith("# Survey\n")
    assert " explorer: completed]\nKova Auto: Runs agent jobs" in result.stdout
    assert " code-reviewer: completed]\n" in result.stdout

    loop = json.loads(scene.run("runs", "loop", "last", "--json").stdout)
    nested = [call["subagent"] for call in loop["iterations"][0]["calls"]]
    assert [(one["agent"], one["outcome"]) for one in nested] == [("explorer", "done"), ("code-reviewer", "done")]


def waiting(scene: Scene) -> str:
    """Have a run whose subagent waits for a person, and return its id."""
    scene.scripted("make", DISPATCHES, SUSPENDS)
    assert scene.run("run", "make").exit_code == 3
    (row,) = json.loads(scene.run("runs", "list", "--json").stdout)
    return str(row["run_id"])


def test_a_call_of_a_subagent_stands_in_the_inbox_under_its_name(scene: Scene) -> None:
    run_id = waiting(scene)
    head, row = scene.run("approvals", "list").stdout.splitlines()
    assert head.split()[:3] == ["RUN", "SUBAGENT", "CALL"]
    assert row.split()[:4] == [f"{run_id}~1.1", "fixer", "1.1", "write"]
    shown = scene.run("approvals", "show", "last~1.1", "1.1").stdout.splitlines()
    assert shown[:3] == [
        f"call 1.1 of run {run_id}~1.1",
        f"asked by: subagent fixer, run {run_id}~1.1",
        f"dispatched by: run {run_id} of make",
    ]


def test_an_answer_without_a_service_sees_the_whole_family_through(scene: Scene) -> None:
    run_id = waiting(scene)
    allowed = scene.run("approvals", "allow", f"{run_id}~1.1", "1.1")
    assert (allowed.exit_code, allowed.stdout.partition("\n")[0]) == (0, "It is there.")
    assert (scene.workspace / "made.txt").exists()


def test_an_answer_is_taken_by_a_live_service_which_goes_on_with_the_family(scene: Scene) -> None:
    scene.scripted("make", DISPATCHES, SUSPENDS)
    with serving(scene) as service:
        told = scene.run("run", "make")
        assert told.exit_code == 3
        assert "subagent fixer waits for a person:" in told.stderr
        service.says(r"run make\+[^~\s]+: waits for 1 subagent$")
        assert scene.run("approvals", "deny", "last~1.1", "1.1", "--reason", "not today").exit_code == 0
        service.says(r"run make\+[^~\s]+: done")
    assert not (scene.workspace / "made.txt").exists()


def test_a_call_of_a_subagent_that_reaches_nobody_is_refused_at_once_and_another_endpoint_hears(scene: Scene) -> None:
    asks = '[approval]\nwhen_needed = "suspend"\nnotify = ["ci"]\n[agents]\nallow = ["fixer"]\n'
    scene.scripted("make", DISPATCHES, f'{asks}[[notify]]\nendpoint = "other"\n')
    scene.secret()
    with gone() as url:
        scene.settings(endpoint(url) + endpoint(url).replace("endpoints.ci", "endpoints.other"))
        assert scene.run("run", "make").exit_code == 0
    (child,) = json.loads(scene.run("runs", "show", "last", "--json").stdout)["subagents"]
    rows = json.loads(scene.run("deliveries", "list", "--json").stdout)
    told = {(row["run_id"], row["endpoint"], row["cause"]) for row in rows}
    parent, _, _ = child["run_id"].partition("~")
    assert told == {
        (child["run_id"], "ci", "approval"),
        (child["run_id"], "other", "unreached"),
        (parent, "other", "outcome"),
    }


def test_a_subagent_that_is_cancelled_is_told_to_its_parent_which_goes_on(scene: Scene) -> None:
    run_id = waiting(scene)
    cancelled = scene.run("runs", "cancel", "last~1.1")
    assert cancelled.exit_code == 0
    assert f"run {run_id}, which dispatched it, is told and goes on with kova-auto serve\n" in cancelled.stderr
    with serving(scene) as service:
        service.says(r"run make\+[^~\s]+: done")
    (child,) = json.loads(scene.run("runs", "show", "last", "--json").stdout)["subagents"]
    assert (child["agent"], child["outcome"]) == ("fixer", "cancelled")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("runs", "retry", "last~1.1"), "only a run that nobody dispatched can be begun again"),
        (("runs", "apply", "last~1.1"), "is settled with that run's changes"),
        (("runs", "continue", "last~1.1", "And now?"), "which is the one to go on with"),
    ],
    ids=lambda words: words[1] if isinstance(words, tuple) else "",
)
def test_what_is_done_to_whole_runs_alone_is_refused_for_a_subagent(
    scene: Scene, words: tuple[str, ...], why: str
) -> None:
    waiting(scene)
    refused = scene.run(*words)
    assert (refused.exit_code, why in refused.stderr) == (1, True)


def test_a_list_shows_subagents_beneath_their_run_where_they_are_wanted(scene: Scene) -> None:
    run_id = waiting(scene)
    _, row = scene.run("runs", "list").stdout.splitlines()
    assert "1 subagent" in row
    _, row, child = scene.run("runs", "list", "--children").stdout.splitlines()
    assert child.startswith(f"  {run_id}~1.1 ")
    assert [one["agent"] for one in json.loads(scene.run("runs", "list", "--children", "--json").stdout)] == [
        "",
        "fixer",
    ]


def test_a_family_is_replayed_run_by_run(scene: Scene) -> None:
    scene.run("run", str(ROOT / "jobs" / "survey.toml"))
    for run in ("last", "last~1.1", "last~1.2"):
        replayed = scene.run("runs", "replay", run)
        assert (run, replayed.exit_code, "no difference" in replayed.stdout) == (run, 0, True)


def test_a_family_that_was_recorded_is_played_again(scene: Scene) -> None:
    job = scene.path / "again.toml"
    script = scene.path / "again.script.toml"
    first = scene.run("run", str(ROOT / "jobs" / "survey.toml"), "--record", str(script))
    job.write_text(
        f'prompt = "Again."\nworkspace = "{ROOT}"\nscript = "again.script.toml"\n'
        '[agents]\nallow = ["explorer", "code-reviewer"]\n'
    )
    again = scene.run("run", str(job))
    assert again.exit_code == 0
    assert again.stdout.splitlines()[:1] == first.stdout.splitlines()[:1]
    assert "· 2 subagents ·" in again.stderr


def test_an_export_holds_the_family_in_each_form(scene: Scene) -> None:
    scene.run("run", str(ROOT / "jobs" / "survey.toml"))
    whole = json.loads(scene.run("runs", "export", "last").stdout)
    assert [one["run"]["agent"] for one in whole["subagents"]] == ["explorer", "code-reviewer"]
    transcript = scene.run("runs", "export", "last", "--format", "md").stdout
    assert [line.endswith(("~1.1`", "~1.2`")) for line in transcript.splitlines() if line.startswith("# Run ")] == [
        False,
        True,
        True,
    ]
    spans = scene.run("runs", "export", "last", "--format", "otlp").stdout
    assert spans.count('"name": "invoke_agent ') == 3


def test_a_run_that_is_followed_later_is_shown_with_its_subagents(scene: Scene) -> None:
    scene.run("run", str(ROOT / "jobs" / "survey.toml"))
    shown = scene.run("runs", "tail", "last").stderr
    assert "  explorer 1.1 │ iteration 1" in shown
    assert "explorer 1.1 (what it is) done: " in shown
