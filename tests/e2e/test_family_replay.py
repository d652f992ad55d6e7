"""`kova-auto runs replay` of a run that dispatched others: nobody is dispatched again, and it comes out as it did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kova_auto.core.replay import Replay
from tests.app.families import call, child, played, task, turn
from tests.e2e.scenes import UNCONFINED, Scene
from tests.e2e.test_replay import replay

SLEEPS = child(turn("", call("bash", command="sleep 600", timeout_s=600)), turn("never"), expect="sleep")
WRITES = child(turn("", call("write", file_path="a.txt", content="a")), turn("a is written"), expect="write")
READS = child(turn("", call("read", file_path="notes.txt")), turn("{{ results.read_1.lines[0] }}"), expect="read")
TWO = turn("I send two.", task(what="write a"), task(what="read it"))
DONE = turn("Done.")
ALLOWED = 'agents.allow = ["fixer"]\n'

CASES = {
    "waits for all": [TWO, turn("", call("TaskWait")), DONE],
    "waits for any": [TWO, turn("", call("TaskWait", mode="any")), turn("So."), DONE],
    "does not wait": [TWO, turn("So."), DONE],
    "looks at them": [TWO, turn("", call("TaskWait", timeout_s=0), call("TaskList")), turn("", call("TaskWait")), DONE],
    "gives up": [
        turn("", task(what="sleep")),
        turn("", call("TaskWait", timeout_s=0.5)),
        turn("", call("TaskStop", task="1.1")),
        DONE,
        DONE,
    ],
    "works meanwhile": [
        TWO,
        turn("", call("bash", command="sleep 1; echo mine > mine.txt")),
        turn("", call("TaskWait")),
        DONE,
    ],
    "is refused some": [
        turn("", task("nobody"), task(what="read it")),
        turn("", call("TaskWait", tasks=["9.9"])),
        turn("So."),
        DONE,
    ],
}


@pytest.mark.parametrize("turns", CASES.values(), ids=CASES)
def test_a_run_with_children_comes_out_as_it_did(tmp_path: Path, turns: list[dict[str, object]]) -> None:
    scene = Scene(tmp_path)
    scene.scripted("lead", played(turns, SLEEPS, WRITES, READS), ALLOWED + UNCONFINED)
    ran = scene.run("run", "lead")
    assert ran.exit_code == 0, ran.output
    result = replay(scene, "--json")
    found = Replay.model_validate(json.loads(result.stdout))
    assert not found.differs, result.stdout
    assert found.reason_now == found.reason_then


@pytest.mark.parametrize("args", [(), ("--model", "scripted")], ids=["as it was", "played again"])
def test_a_child_comes_out_as_it_did_too(tmp_path: Path, args: tuple[str, ...]) -> None:
    scene = Scene(tmp_path)
    scene.scripted("lead", played([TWO, turn("", call("TaskWait")), DONE], WRITES, READS), ALLOWED + UNCONFINED)
    assert scene.run("run", "lead").exit_code == 0
    lead = json.loads(scene.run("runs", "list", "--json").stdout)
    run_id = (lead["runs"] if isinstance(lead, dict) else lead)[0]["run_id"]
    for number in (1, 2):
        result = scene.run("runs", "replay", f"{run_id}~1.{number}", "--json", *args)
        assert result.exit_code == 0, result.output
        assert not Replay.model_validate(json.loads(result.stdout)).differs
