"""A service that is killed while a run waits for its next attempt: none is lost, none is made twice, all count."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.models import ModelServer, a_model
from tests.e2e.scenes import Program, Scene, endpoint, receiving

RETRIED = """
[schedule]
on = "startup"
[policy.retry]
attempts = 3
initial = "4s"
max = "4s"
on = ["failed"]
[[notify]]
endpoint = "ci"
[limits]
cost_usd = 10.0
"""
ASKED_EACH = 2
"""A model that ends its turn without a word is asked once more, and then the attempt has failed."""


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with a_model() as model:
        yield model


def written(scene: Scene, model: ModelServer, url: str) -> None:
    """Write a job that runs when the service starts, and a service that may start again at once."""
    scene.settings(model.settings() + endpoint(url))
    scene.secret()
    scene.workspace.mkdir()
    scene.job("look", f'prompt = "Look."\nworkspace = "{scene.workspace}"\n{RETRIED}')


def killed(service: Program) -> None:
    """End a service as nothing else would, once it has said that the run waits."""
    service.says(r"run look@\S+: goes on at ")
    service.process.kill()
    service.ends()


@pytest.mark.parametrize(
    "deaths", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_a_run_that_waits_for_its_next_attempt_survives_every_kill(
    scene: Scene, model: ModelServer, deaths: int
) -> None:
    with receiving() as receiver:
        written(scene, model, receiver.url)
        model.silent = 3 * ASKED_EACH
        for attempts in range(1, deaths + 1):
            killed(scene.start("serve"))
            assert model.asked == attempts * ASKED_EACH
        service = scene.start("serve")
        service.says(r"run look@\S+: done")
        service.says("delivered")
        service.process.terminate()
        assert service.ends() == 0
        (told,) = receiver.received

    data = json.loads(told.body)["data"]
    assert (model.asked, data["outcome"], data["attempts"]) == (3 * ASKED_EACH + 1, "done", 4)
    loop = scene.run("runs", "loop", "last").stdout.splitlines()
    assert [line[3:12] for line in loop if line.startswith("──")] == ["attempt 2", "attempt 3", "attempt 4"]
    listed = scene.run("runs", "list").stdout.splitlines()
    assert len(listed) == 2


@pytest.mark.slow
def test_attempts_before_a_kill_count_against_those_that_the_policy_allows(scene: Scene, model: ModelServer) -> None:
    with receiving() as receiver:
        written(scene, model, receiver.url)
        model.silent = 100
        for _ in range(3):
            killed(scene.start("serve"))
        service = scene.start("serve")
        service.says(r"run look@\S+: failed")
        service.says("delivered")
        service.process.terminate()
        assert service.ends() == 0
        (told,) = receiver.received

    data = json.loads(told.body)["data"]
    assert (model.asked, data["outcome"], data["attempts"]) == (4 * ASKED_EACH, "failed", 4)
