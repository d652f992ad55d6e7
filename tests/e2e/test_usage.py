"""What runs cost, as the commands tell it: sums, the day's ceiling, and the pause after a key was refused."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.models import ModelServer, a_model
from tests.e2e.scenes import Scene, endpoint, receiving
from tests.postgres import PostgresServer

TOLD = '[[notify]]\nendpoint = "ci"\nwhen = []\n'
LOCKED = 'api_key = { file = "key" }\n'
PRICE = "0.1400 USD"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """Give a model that answers."""
    with a_model() as model:
        yield model


def asks(scene: Scene, name: str, more: str = "") -> None:
    """Write a job that asks the model."""
    scene.workspace.mkdir(exist_ok=True)
    scene.job(name, f'prompt = "Look."\nworkspace = "{scene.workspace}"\n{more}')


def test_what_runs_used_is_summed_up_by_what_is_asked_for(scene: Scene, model: ModelServer) -> None:
    scene.settings(model.settings())
    for name in ("look", "watch"):
        asks(scene, name)
    for name in ("look", "look", "watch"):
        assert scene.run("run", name).exit_code == 0

    assert scene.run("usage", "--by", "job").stdout.splitlines() == [
        "JOB    CALLS  FAILED  INPUT   CACHED  WRITTEN  OUTPUT  REASONING  COST",
        "look   2      0       20,000  0       0        4,000   0          0.2800 USD",
        "watch  1      0       10,000  0       0        2,000   0          0.1400 USD",
        "total  3      0       30,000  0       0        6,000   0          0.4200 USD",
    ]
    one = json.loads(scene.run("usage", "--by", "model,iteration", "--run", "last", "--json").stdout)
    assert [(row["model"], row["iteration"], row["calls"]) for row in one["rows"]] == [("house/small", 1, 1)]
    (today,) = json.loads(scene.run("usage", "--job", "look", "--since", "2d", "--json").stdout)["rows"]
    assert (today["day"] is not None, today["calls"]) == (True, 2)
    shown = scene.run("runs", "show", "last").stdout
    assert f"usage\n  1  house/small  10,000 in, 2,000 out · {PRICE}\n" in shown
    assert f"· 10,000 in, 2,000 out · {PRICE}" in scene.run("runs", "loop", "last").stdout


def test_what_cannot_be_summed_up_is_said(scene: Scene) -> None:
    assert scene.run("usage", "--since", "2099-01-01").stdout == "No model was called since 2099-01-01 00:00.\n"
    assert scene.run("usage", "--run", "last").stderr == "error: no run has been made yet\n"
    wrong = [scene.run("usage", *said) for said in (("--by", "week"), ("--since", "someday"))]
    assert [result.exit_code for result in wrong] == [2, 2]
    assert wrong[0].stderr == (
        "error: --by: wanted day, job, run, agent, model, iteration, "
        "or several of them with commas between, found 'week'\n"
    )
    assert wrong[1].stderr.startswith("error: --since: wanted ")


def test_a_job_that_has_spent_its_day_is_not_run_by_hand_either(scene: Scene, model: ModelServer) -> None:
    scene.settings(model.settings())
    asks(scene, "look", "[limits]\ncost_usd_per_day = 0.25\n")
    codes = [scene.run("run", "look").exit_code for _ in range(2)]
    refused = scene.run("run", "look")

    assert (codes, model.asked) == ([0, 0], 2)
    assert refused.exit_code == 2
    assert "look.toml: 0.2800 USD were spent today (limits.cost_usd_per_day = 0.25)" in refused.stderr


def test_a_job_whose_key_is_refused_time_and_again_is_paused_with_one_alert(scene: Scene, model: ModelServer) -> None:
    model.is_open = False
    with receiving() as receiver:
        scene.settings(model.settings(LOCKED) + endpoint(receiver.url))
        scene.secret()
        (scene.config / "key").write_text("k-12345678")
        asks(scene, "look", f'schedule.every = "5s"\n{TOLD}')
        by_hand = [scene.run("run", "look").exit_code for _ in range(2)]
        service = scene.start("serve")
        service.says(r"look for .*: ran")
        service.says(r"look for .*: skipped \(paused\)")
        listed = json.loads(scene.run("jobs", "list", "--json").stdout)
        resumed = scene.run("jobs", "resume", "look").stdout
        service.signal(signal.SIGTERM)
        assert service.ends() == 0
        (told,) = receiver.received

    data = json.loads(told.body)["data"]
    assert (by_hand, model.asked, data["outcome"]) == ([1, 1], 3, "failed")
    assert data["pauses"].startswith("3 runs in a row met the same at the provider: ")
    assert (listed[0]["next_at"], listed[0]["paused"]["by"]) == (None, f"run {data['run_id']}")
    assert listed[0]["paused"]["reason"] == data["pauses"]
    assert resumed.startswith("look goes on; it was paused since ")


def test_a_job_on_postgresql_is_paused_as_well(scene: Scene, postgres: PostgresServer) -> None:
    scene.settings('database = { file = "place" }\n')
    (scene.config / "place").write_text(postgres.new_database())
    scene.scripted("look", "[[turns]]\ntext = 'Hello.'\n", 'schedule.cron = "0 7 * * *"\n')
    scene.run("jobs", "pause", "look", "--note", "not now")

    (listed,) = json.loads(scene.run("jobs", "list", "--json").stdout)
    assert (listed["next_at"], listed["paused"]["reason"]) == (None, "not now")
    assert scene.run("jobs", "resume", "look").exit_code == 0
    assert scene.run("usage", "--run", "last").stderr == "error: no run has been made yet\n"


def test_a_journal_that_cannot_be_read_leaves_the_list_of_jobs(scene: Scene) -> None:
    scene.scripted("look", "[[turns]]\ntext = 'Hello.'\n")
    scene.database.parent.mkdir(parents=True)
    scene.database.write_text("no database, but long enough for its header to be looked at " * 20)
    result = scene.run("jobs", "list")

    assert (result.exit_code, result.stdout.splitlines()[1].split()[:3]) == (0, ["look", "by", "hand"])
    assert result.stderr.startswith("note: whether schedules rest is not known: the journal ")


def test_a_job_is_paused_by_hand_whatever_is_wrong_with_its_file(scene: Scene) -> None:
    scene.scripted("look", "[[turns]]\ntext = 'Hello.'\n", 'schedule.cron = "0 7 * * *"\n')
    broken = scene.job("broken", "prompt = 7\n")
    said = scene.run("jobs", "pause", "look", "--reason", "The KEY is being changed").stdout
    scene.run("jobs", "pause", "broken")
    rows = {row["name"]: row for row in json.loads(scene.run("jobs", "list", "--json").stdout)}

    assert said == "look is paused: its instants are skipped until kova-auto jobs resume look\n"
    assert rows["look"]["paused"]["reason"] == "The KEY is being changed"
    assert (rows["broken"]["paused"]["reason"], rows["broken"]["path"]) == ("", str(broken))
    shown = scene.run("jobs", "show", "look").stdout
    assert ": The KEY is being changed; kova-auto jobs resume look\n" in shown
    assert "# Next: paused since " in shown
    (line,) = (line for line in scene.run("jobs", "list").stdout.splitlines() if line.startswith("look"))
    assert " paused " in line
    assert line.endswith(": The KEY is being changed")
    assert scene.run("run", "look").exit_code == 0
    assert scene.run("jobs", "resume", "look").exit_code == 0
    assert scene.run("jobs", "resume", "look").stdout == "look was not paused.\n"
