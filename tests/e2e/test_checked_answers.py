"""An answer that a command checks, and a service that is killed with SIGKILL under the check."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.e2e.scenes import ASLEEP, UNCONFINED, Scene, endpoint, receiving
from tests.e2e.test_approvals import READY, facts, serving

ANSWERS = '[[turns]]\ntext = "It is made."\n'
SLOW = "echo $$ >> ran; test -e second || { touch second; echo > asleep; read _ < never; }"
"""The first time it never ends: nobody writes into the pipe that it reads."""
CHECKING = ("checks_started", "checks_finished", "run_finished")
CHECKED = f"""{UNCONFINED}
[output]
checks = [{json.dumps(SLOW)}]
[[notify]]
endpoint = "ci"
"""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    scene = Scene(tmp_path)
    scene.scripted("make", ANSWERS, CHECKED)
    scene.secret()
    for pipe in (ASLEEP, "never"):
        os.mkfifo(scene.workspace / pipe)
    return scene


def test_killed_while_a_check_runs_it_is_checked_again_by_the_next_service(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        killed_under_the_check(scene)
        [first] = pids(scene)
        was_there, told_before = is_there(first), len(receiver.received)
        with serving(scene) as service:
            service.says(r"run make\+\S+: done")
            service.says("delivery to ci: delivered")
        told = [received.verified for received in receiver.received]

    assert (was_there, told_before, is_there(first), len(pids(scene))) == (True, 0, False, 2)
    assert told == [True]
    kinds = [fact["kind"] for fact in facts(scene)]
    assert [kind for kind in kinds if kind in CHECKING] == [CHECKING[0], *CHECKING]
    shown = json.loads(scene.run("runs", "show", "last", "--json").stdout)
    assert (shown["run"]["outcome"], shown["answer"], shown["run"]["iterations"]) == ("done", "It is made.", 1)
    assert [(row["status"], row["attempts"]) for row in shown["deliveries"]] == [("delivered", 1)]


def killed_under_the_check(scene: Scene) -> None:
    """Let a service run the job until its check sleeps, and kill it there."""
    program = scene.start("serve")
    program.says(READY)
    client = scene.start("run", "make")
    scene.falls_asleep()
    for one in (program, client):
        one.signal(signal.SIGKILL)
        one.ends()


def pids(scene: Scene) -> list[int]:
    """Return the processes of the check, each as the shell that it was."""
    return [int(line) for line in (scene.workspace / "ran").read_text().split()]


def is_there(pid: int) -> bool:
    """Say whether a process still runs; one that has ended and was not waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
