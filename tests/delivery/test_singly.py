"""What starts something is started once for each result, for nothing else, and whatever is not sent is on record."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import pytest

from kova_auto.core.delivery.needs import NEEDS, options_of
from kova_auto.core.delivery.target import FormatName, OptionValue, Target
from kova_auto.core.ids import EndpointName
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import FailureKind, HttpFailure, HttpResponse
from tests.delivery.desks import Desk
from tests.delivery.test_alerts import late

MADE = HttpResponse(201, body=b'{"id": 1}')
PIPELINE = {"project": "acme/app", "ref": "main"}
EVENT = {"repository": "acme/app"}


@dataclass
class Starting(Desk):
    """Be a desk whose endpoints start something."""

    options: dict[str, dict[str, OptionValue]] = field(default_factory=dict)

    def target(self, name: EndpointName) -> Target:
        kind = self.formats.get(name, FormatName.STANDARD)
        if kind is FormatName.STANDARD:
            return super().target(name)
        options = options_of(NEEDS[kind], self.options[name])
        return Target(name, kind, f"https://{name}.example.org/", token="sesame", options=options)


@pytest.fixture
def desk() -> Starting:
    formats = {"gitlab": FormatName.GITLAB, "github": FormatName.GITHUB}
    return Starting(formats=formats, options={"gitlab": {**PIPELINE}, "github": {**EVENT}}, answers={"gitlab": MADE})


async def test_an_outcome_starts_a_pipeline_and_an_event(desk: Starting) -> None:
    await desk.owes("gitlab", "github")
    await desk.courier().deliver_due()

    assert await desk.statuses() == {"gitlab": "delivered", "github": "delivered"}
    bodies = {name: request.body for name, request in zip(desk.sent, desk.requests, strict=True)}
    assert parse_qs(bodies["gitlab"].decode())["variables[KOVA_OUTCOME]"] == ["done"]
    assert json.loads(bodies["github"])["client_payload"]["outcome"] == "done"


async def test_a_request_that_no_person_can_be_shown_is_dead_and_said_so(desk: Starting) -> None:
    state = await desk.asks("github")
    await desk.courier().deliver_due()

    (row,) = await desk.rows()
    assert (row.status, row.attempts, desk.sent) == ("dead", 1, [])
    assert row.detail == "it starts something, and puts no question to a person: on = outcome"
    after = await desk.journal.load(state.run_id)
    assert all(owed.failed for owed in after.deliveries.values())  # so that `on_unreachable` applies


async def test_a_late_job_starts_nothing_and_its_alert_is_expired_not_delivered(desk: Starting) -> None:
    await late(desk, "gitlab", "ci")
    await desk.courier().deliver_due()

    assert desk.sent == ["ci"]
    assert await desk.statuses() == {"gitlab": "expired", "ci": "delivered"}
    assert [row.detail for row in await desk.rows() if row.endpoint == "gitlab"] == [
        "not sent: this endpoint starts nothing for an alert: on = outcome"
    ]


async def test_what_is_asked_for_is_started_for_an_alert_too(desk: Starting) -> None:
    desk.options["gitlab"]["on"] = "outcome, alert"
    await late(desk, "gitlab")
    await desk.courier().deliver_due()

    assert await desk.statuses() == {"gitlab": "delivered"}


async def test_a_pipeline_in_doubt_is_unknown_and_not_started_again(desk: Starting) -> None:
    desk.answers["gitlab"] = HttpFailure(FailureKind.DEADLINE, written=True, detail="no answer")
    await desk.owes("gitlab")
    for _ in range(3):
        await desk.courier().deliver_due()
        desk.clock.later(3600)

    assert (desk.sent, await desk.statuses()) == (["gitlab"], {"gitlab": "unknown"})


async def test_a_status_in_doubt_is_set_again(desk: Starting) -> None:
    desk.options["github"] |= {"send": "commit-status", "sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e"}
    desk.answers["github"] = HttpFailure(FailureKind.DEADLINE, written=True, detail="no answer")
    await desk.owes("github")
    await desk.courier().deliver_due()
    desk.answers["github"] = MADE
    desk.clock.later(3600)
    await desk.courier().deliver_due()

    assert (desk.sent, await desk.statuses()) == (["github", "github"], {"github": "delivered"})


async def test_thirty_results_are_thirty_pipelines_and_never_one_of_many(desk: Starting) -> None:
    desk.answers["gitlab"] = HttpResponse(429)
    for number in range(30):
        await desk.owes("gitlab", name=f"nightly-{number}@1")
    await desk.courier().deliver_due()
    desk.answers["gitlab"] = MADE
    courier = desk.courier()
    for _ in range(200):
        desk.clock.later(60)
        await courier.deliver_due()

    runs = {parse_qs(request.body.decode())["variables[KOVA_RUN_ID]"][0] for request in desk.requests}
    assert len(runs) == 30
    assert {row.status for row in await desk.rows()} == {"delivered"}


async def test_a_test_is_made_whatever_starts_it_otherwise_and_says_that_it_is_one(desk: Starting) -> None:
    desk.options["gitlab"]["on"] = "alert"
    courier = desk.courier()
    plain = await courier.test(EndpointName("gitlab"))
    failed = await courier.test(EndpointName("gitlab"), Outcome.FAILED)

    assert (plain.outcome, failed.outcome) == ("delivered", "delivered")
    first, second = (parse_qs(request.body.decode()) for request in desk.requests)
    assert first["variables[KOVA_TYPE]"] == ["kova.test"]
    assert second["variables[KOVA_RUN_ID]"] == ["endpoint-test"]


async def test_a_test_without_a_commit_is_not_sent_and_says_what_to_do(desk: Starting) -> None:
    desk.options["github"] |= {"send": "commit-status", "sha": "input:commit"}
    result = await desk.courier().test(EndpointName("github"), Outcome.DONE)

    assert (result.outcome, desk.sent) == ("policy_block", [])
    assert result.detail.endswith("a test has no inputs, so write the SHA into the settings to try it")
