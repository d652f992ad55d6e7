"""A run whose model fails and then answers: further attempts of one run, told once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.models import a_model
from tests.e2e.scenes import Scene, endpoint, receiving

PATIENT = """
[policy.retry]
attempts = 2
initial = "0.2s"
on = ["rate_limit", "failed"]
[[notify]]
endpoint = "ci"
"""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_run_that_fails_twice_and_then_answers_is_told_once_with_its_three_attempts(scene: Scene) -> None:
    with a_model() as model, receiving() as receiver:
        model.silent = 4
        scene.settings(model.settings() + endpoint(receiver.url))
        scene.secret()
        scene.workspace.mkdir()
        scene.job("look", f'prompt = "Look."\nworkspace = "{scene.workspace}"\n{PATIENT}')
        ran = scene.run("run", "look")
        (told,) = receiver.received

    data = json.loads(told.body)["data"]
    assert (ran.exit_code, model.asked) == (0, 5)
    assert (data["outcome"], data["attempts"], data["iterations"]) == ("done", 3, 1)
    why = "because attempt 1 ended as failed: the model ended its turn without a word, twice"
    assert why in ran.stderr
    assert why in scene.run("runs", "show", "last").stdout
    loop = scene.run("runs", "loop", "last").stdout.splitlines()
    assert [line[:12] for line in loop if line.startswith("──")] == ["── attempt 2", "── attempt 3"]
    for attempt in ("1", "2", "3"):
        assert scene.run("runs", "replay", "last", "--attempt", attempt).exit_code == 0
