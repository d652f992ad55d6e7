"""`kova-auto deliveries` and `endpoints`, told to a real receiver."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kova_auto.cli.endpoint_rows import health_json
from kova_auto.core.delivery.alert import alert
from kova_auto.core.delivery.notice import ScheduleNotice
from kova_auto.core.view import DeliveryRow
from kova_auto.store.store import open_store
from tests.e2e.scenes import READS, SPELLED, Scene, endpoint, receiving

NOTIFIES = '[[notify]]\nendpoint = "ci"\n'


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Have one job that tells an endpoint whose secret is there."""
    scene = Scene(tmp_path)
    scene.scripted("look", READS, NOTIFIES)
    scene.secret()
    return scene


def test_what_was_delivered_is_listed(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        scene.run("run", "look")
    _, row = scene.run("deliveries", "list").stdout.splitlines()
    assert row.split()[1:4] == ["ci", "delivered", "1"]
    (listed,) = json.loads(scene.run("deliveries", "list", "--json").stdout)
    assert (list(listed), listed["http_status"]) == (list(DeliveryRow.model_fields), 204)
    assert scene.run("deliveries", "list", "--status", "dead").stdout == "No delivery is dead.\n"


def test_what_could_not_be_delivered_is_said_and_delivered_once_it_can(scene: Scene) -> None:
    (scene.config / "secret").unlink()
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        result = scene.run("run", "look")
        assert (result.exit_code, "serve tries again at " in result.stderr) == (0, True)
        scene.secret()
        (row,) = json.loads(scene.run("deliveries", "list", "--status", "waiting", "--json").stdout)
        again = scene.run("deliveries", "retry", row["delivery_id"])
    first, second = again.stderr.splitlines()
    assert (again.exit_code, first.partition(" by ")[0]) == (0, "delivery to ci: asked for again")
    assert second == "delivery to ci: delivered (attempt 2): the receiver answered 204 (No Content)"
    assert [received.headers["webhook-id"] for received in receiver.received] == [row["delivery_id"]]


def test_all_that_were_given_up_are_taken_up_together(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url.replace("127.0.0.1", "localhost"), allow_http="true"))
        scene.run("run", "look")
        scene.run("run", "look")
        assert len(json.loads(scene.run("deliveries", "list", "--status", "dead", "--json").stdout)) == 2
        failing = scene.run("deliveries", "retry", "--all-dead")
        scene.settings(endpoint(receiver.url))
        again = scene.run("deliveries", "retry", "--all-dead", "--endpoint", "ci")
    assert (failing.exit_code, again.exit_code) == (1, 0)
    assert [received.verified for received in receiver.received] == [True, True]
    assert scene.run("deliveries", "retry", "--all-dead").stdout == "No delivery is dead.\n"


def test_what_was_delivered_is_not_sent_again(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        scene.run("run", "look")
        (row,) = json.loads(scene.run("deliveries", "list", "--json").stdout)
        assert scene.run("deliveries", "retry", row["delivery_id"]).exit_code == 1
    assert len(receiver.received) == 1


def test_a_retry_wants_one_thing_to_retry(scene: Scene) -> None:
    assert scene.run("deliveries", "retry").exit_code == 2
    assert scene.run("deliveries", "retry", "msg_x", "--all-dead").exit_code == 2
    assert scene.run("deliveries", "retry", "msg_x", "--endpoint", "ci").exit_code == 2
    unknown = scene.run("deliveries", "retry", "msg_x")
    assert (unknown.exit_code, "there is no delivery msg_x" in unknown.stderr) == (2, True)


def test_all_that_is_on_record_of_a_delivery_is_shown(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url.replace("127.0.0.1", "localhost"), allow_http="true"))
        scene.run("run", "look")
        (row,) = json.loads(scene.run("deliveries", "list", "--json").stdout)
        scene.settings(endpoint(receiver.url))
        scene.run("deliveries", "retry", row["delivery_id"])
    told = scene.run("deliveries", "show", row["delivery_id"]).stdout
    story = json.loads(scene.run("deliveries", "show", row["delivery_id"], "--json").stdout)

    assert [(one["attempt"], one["result"], one["http_status"]) for one in story["tries"]] == [
        (1, "policy_block", None),
        (2, "delivered", 204),
    ]
    attempts = [line.partition("attempt ")[2].partition(",")[0] for line in told.splitlines() if "attempt " in line]
    assert attempts == ["1: policy block", "2: delivered"]
    assert ("asked for it again" in told, "next       nothing: the receiver has it" in told) == (True, True)
    assert receiver.received[0].headers["webhook-replayed"] == "true"


def test_a_delivery_that_nobody_knows_cannot_be_shown(scene: Scene) -> None:
    result = scene.run("deliveries", "show", "msg_none")
    assert (result.exit_code, "there is no delivery msg_none" in result.stderr) == (2, True)


def test_what_failed_since_an_instant_is_taken_up_together(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url.replace("127.0.0.1", "localhost"), allow_http="true"))
        scene.run("run", "look")
        scene.settings(endpoint(receiver.url))
        none = scene.run("deliveries", "retry", "--since", "2999-01-01")
        again = scene.run("deliveries", "retry", "--since", "2h", "--endpoint", "ci")
        bad = scene.run("deliveries", "retry", "--since", "yesterday-ish")
    assert (none.stdout, again.exit_code, len(receiver.received)) == ("No delivery is dead.\n", 0, 1)
    assert (bad.exit_code, "--since" in bad.stderr) == (2, True)


def test_how_an_endpoint_is_doing_is_listed_and_it_can_be_enabled(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        (before,) = json.loads(scene.run("endpoints", "list", "--json").stdout)
        scene.run("run", "look")
        (after,) = json.loads(scene.run("endpoints", "list", "--json").stdout)
    told = scene.run("endpoints", "enable", "ci", "--retry-dead")
    missing = scene.run("endpoints", "enable", "nobody")

    assert (before["state"], after["state"], after["failures"]) == ("unused", "ok", 0)
    assert told.stdout.startswith("ci: enabled; it was ok, last ")
    assert (missing.exit_code, "there is no endpoint nobody; the settings have ci" in missing.stderr) == (2, True)


def test_while_a_secret_is_replaced_both_sign_and_then_the_new_one_alone(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        told = scene.run("endpoints", "secret", "rotate", "ci")
        both = scene.run("endpoints", "test", "ci")
        again = scene.run("endpoints", "secret", "rotate", "ci")
        said = scene.run("doctor", "--offline", "--json").stdout
        dropped = scene.run("endpoints", "secret", "drop", "ci")
        alone = scene.run("endpoints", "test", "ci")
    signatures = [received.headers["webhook-signature"].split() for received in receiver.received]

    assert (told.exit_code, both.exit_code, again.exit_code, dropped.exit_code, alone.exit_code) == (0, 0, 2, 0, 1)
    assert [len(both) for both in signatures] == [2, 1]
    assert "the new secret is in " in told.stdout
    assert "the old one signs too until" in said
    assert SPELLED not in told.stdout + said + dropped.stdout


def test_endpoints_are_listed_without_their_urls_and_secrets(scene: Scene) -> None:
    scene.settings(endpoint("https://hooks.example.org/T0/B0/xyz", timeout='"5s"'))
    shown = scene.run("endpoints", "list")
    assert shown.stdout.splitlines()[1].split() == [
        *("ci", "standard", "settings", "file", "secret", "public", "https", "5", "s", "unused"),
    ]
    listed = scene.run("endpoints", "list", "--json").stdout
    assert json.loads(listed) == [
        {
            "name": "ci",
            "format": "standard",
            "url_from": "settings",
            "secret_from": "file secret",
            "allow_http": False,
            "allow_cidrs": [],
            "timeout_s": 5.0,
            "receipts": True,
            **health_json(None, datetime(2026, 12, 1, tzinfo=UTC)),
        }
    ]
    assert [word for word in ("example.org", "xyz", SPELLED) if word in shown.stdout + listed] == []


def test_a_test_message_is_sent_and_its_answer_told(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        plain = scene.run("endpoints", "test", "ci")
        report = scene.run("endpoints", "test", "ci", "--as", "failed")
    assert (plain.exit_code, plain.stdout) == (0, "ci: delivered: the receiver answered 204 (No Content)\n")
    assert report.exit_code == 0
    bodies = [json.loads(received.body) for received in receiver.received]
    assert [(body["type"], body["data"].get("outcome")) for body in bodies] == [
        ("kova.test", None),
        ("kova.run.failed", "failed"),
    ]
    assert "This is a test." in bodies[1]["data"]["answer"]
    assert scene.run("runs", "list").stdout.startswith("No runs.")


def test_a_test_message_that_is_not_taken_is_exit_code_1(scene: Scene) -> None:
    scene.settings(endpoint("http://localhost:60009/", allow_http="true"))
    result = scene.run("endpoints", "test", "ci")
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.startswith("ci: policy block: ")
    unknown = scene.run("endpoints", "test", "nobody")
    assert (unknown.exit_code, "there is no endpoint nobody; the settings have ci" in unknown.stderr) == (2, True)


async def a_late_job(scene: Scene) -> None:
    """Have the ledger owe the endpoint that a job is late."""
    store = open_store(scene.database, create=True)
    now = datetime(2026, 12, 1, 7, 15, tzinfo=UTC)
    fields = {"what": "late", "job": "look", "late_s": 0.0, "nominal_at": now, "expected_at": now, "noticed_at": now}
    await store.ledger.settle([], [], alerts=[alert(ScheduleNotice.model_validate(fields), ["ci"])])
    await store.close()


def test_what_was_told_of_a_schedule_is_listed_and_told_again_like_what_runs_tell(scene: Scene) -> None:
    with receiving() as receiver:
        scene.settings(endpoint(receiver.url))
        scene.run("run", "look")
        asyncio.run(a_late_job(scene))
        rows = json.loads(scene.run("deliveries", "list", "--status", "pending", "--json").stdout)
        again = scene.run("deliveries", "retry", rows[0]["delivery_id"])
    assert [(row["run_id"], row["cause"]) for row in rows] == [("look@20261201T071500Z/late", "alert")]
    assert (again.exit_code, again.stdout) == (
        0,
        "delivery to ci, look@20261201T071500Z/late: delivered: the receiver answered 204 (No Content)\n",
    )
    assert [json.loads(received.body)["type"] for received in receiver.received][1:] == ["kova.schedule.late"]
