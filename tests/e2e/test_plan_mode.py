"""Plan mode as a whole: looked, planned, asked, carried out; and what becomes of a plan where nobody decides."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.e2e.scenes import Scene
from tests.e2e.test_approvals import READY, SUSPENDS, killed_while_it_waits, serving

PLANS = r"""
[[turns]]
text = "I plan."
[[turns.calls]]
id = "early"
tool = "write"
args = { file_path = "made.txt", content = "too early" }
[[turns.calls]]
id = "plan"
tool = "plan_write"
args = { title = "Make it!", markdown = "# Plan\n\nWrite made.txt." }
[[turns]]
text = "It is complete."
[[turns.calls]]
id = "ready"
tool = "plan_exit"
args = { rationale = "one file" }
[[turns]]
text = "I carry it out."
[[turns.calls]]
id = "made"
tool = "write"
args = { file_path = "made.txt", content = "made\n" }
[[turns]]
text = "early: {{ results.early.status }}, ready: {{ results.ready.status }}, made: {{ results.made.status }}"
"""
PLANNING = 'mode = "plan"\nautomation = "workspace-write"\n'


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def shown(scene: Scene) -> dict[str, object]:
    found: dict[str, object] = json.loads(scene.run("runs", "show", "last", "--json").stdout)
    return found


def test_a_plan_that_is_let_through_after_a_restart_is_carried_out_by_the_same_run(scene: Scene) -> None:
    scene.scripted("make", PLANS, PLANNING + SUSPENDS)
    killed_while_it_waits(scene, "make")
    assert not (scene.workspace / "made.txt").exists()
    card = scene.run("approvals", "show", "last", "2.1").stdout
    assert "  | Write made.txt." in card

    with serving(scene) as service:
        assert scene.run("approvals", "allow", "last", "2.1").exit_code == 0
        service.says(r"run make\+\S+: done")

    assert (scene.workspace / "made.txt").read_text() == "made\n"
    assert shown(scene)["answer"] == "early: denied, ready: ok, made: ok"
    (plan,) = (scene.workspace / ".kova" / "plans").iterdir()
    assert plan.name.startswith("plan-make-it-make-")
    assert plan.read_text() == "# Plan\n\nWrite made.txt.\n"
    replayed = scene.run("runs", "replay", "last")
    assert (replayed.exit_code, "no difference: done" in replayed.stdout) == (0, True)


def test_a_plan_that_is_refused_leaves_the_run_in_plan_mode(scene: Scene) -> None:
    scene.scripted("make", PLANS, PLANNING + SUSPENDS)
    killed_while_it_waits(scene, "make")

    with serving(scene) as service:
        scene.run("approvals", "deny", "last", "2.1", "--reason", "name the tests")
        service.says(r"run make\+\S+: done")

    assert not (scene.workspace / "made.txt").exists()
    assert shown(scene)["answer"] == "early: denied, ready: denied, made: denied"


def test_where_nobody_decides_the_plan_is_the_result(scene: Scene) -> None:
    scene.scripted("make", PLANS, PLANNING)

    result = scene.run("run", "make")

    assert result.exit_code == 0
    assert result.stdout.startswith("# Plan\n\nWrite made.txt.\n")
    assert not (scene.workspace / "made.txt").exists()


def test_a_plan_nobody_has_judged_in_time_is_the_result(scene: Scene) -> None:
    scene.scripted("make", PLANS, f'{PLANNING}{SUSPENDS}timeout = "1s"\n')
    program = scene.start("serve")
    program.says(READY)
    scene.run("run", "make")
    program.says(r"run make\+\S+: done")
    program.signal(signal.SIGTERM)
    program.ends()

    assert shown(scene)["answer"] == "# Plan\n\nWrite made.txt.\n"


def test_a_question_that_wants_work_says_so(scene: Scene) -> None:
    asks = """
[[turns]]
text = "That needs work."
[[turns.calls]]
id = "work"
tool = "ask_needs_work"
args = { reason = "the file has to be made" }
[[turns]]
text = "Somebody has to make the file."
"""
    scene.scripted("ask", asks, 'mode = "ask"\n')

    result = scene.run("run", "ask", "--json")

    assert result.exit_code == 3
    assert shown(scene)["run"]["outcome"] == "needs_input"  # type: ignore[index]
