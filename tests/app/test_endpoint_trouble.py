"""A whole service with an endpoint that is gone: its runs are as good as ever, another one hears, a person mends it."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.finding import Mark
from kova_auto.app.house import House
from kova_auto.app.post_findings import _of_endpoint
from kova_auto.app.serving import deliver_one
from kova_auto.core.delivery.signature import spell_secret
from kova_auto.core.ids import EndpointName
from tests.app.houses import Home, id_of
from tests.support.chaos import OK, Chaos, answers, chaos

SAYS = '[[turns]]\ntext = "Well."\n'
NOTIFIES = '[[notify]]\nendpoint = "ci"\n[[notify]]\nendpoint = "ops"\n[policy]\npause_after_failures = 1\n'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path, {"HOOK": spell_secret(b"h" * 32)})
    home.job("look", NOTIFIES, SAYS)
    return home


def endpoints(home: Home, receiver: Chaos) -> None:
    """Write settings with two endpoints at one receiver, each with its own path."""
    keys = 'secret = { env = "HOOK" }\nallow_http = true\nallow_cidrs = ["127.0.0.0/8"]\n'
    tables = [f'[endpoints.{name}]\nurl = "{receiver.url("/" + name)}"\n{keys}' for name in ("ci", "ops")]
    home.settings("discover = false\n" + "".join(tables))


async def ran(house: House, home: Home) -> None:
    await house.control.request(home.ask("look"))
    await drive_one(house, id_of("look"), asyncio.Event())
    await deliver_one(house, id_of("look"), patience=timedelta(0))


def told(receiver: Chaos, path: str) -> list[str]:
    return [json.loads(request.body)["type"] for request in receiver.requests if request.path == path]


async def test_an_endpoint_that_is_gone_is_disabled_told_of_and_enabled_by_a_test(home: Home) -> None:
    async with chaos(OK) as receiver:
        endpoints(home, receiver)
        receiver.script(answers(410, b"no longer here"), OK, path="/ci")
        async with home.house() as house:
            await ran(house, home)
            run = await house.control.find(id_of("look"))
            (gone,) = [one for one in await house.control.healths() if one.endpoint == "ci"]
            (owed,) = await house.control.deliveries("dead", "ci", 10)
            story = await house.control.delivery(owed.delivery_id)
            await house.courier.deliver_due()
            finding = _of_endpoint("ci", gone, 1, house.clock.now())

            assert (await house.control.test_endpoint("ci", None)).delivered
            await house.courier.deliver_due()
            (well,) = [one for one in await house.control.healths() if one.endpoint == "ci"]
            pauses = await house.control.pauses()

    assert (run.outcome, run.pauses, pauses) == ("done", "", ())
    assert (gone.gone, gone.disabled_why, gone.told) == (True, "the receiver answered 410 (Gone)", "ops")
    assert [(one.http_status, one.excerpt) for one in story.tries] == [(410, "no longer here")]
    assert finding is not None
    assert (finding.mark, "kova-auto endpoints test ci" in finding.text) == (Mark.FAIL, True)
    assert told(receiver, "/ops") == ["kova.run.completed", "kova.endpoint.disabled", "kova.endpoint.recovered"]
    assert (well.disabled_at, well.failures) == (None, 0)


async def test_what_is_known_of_an_endpoint_outlives_the_service_and_a_person_may_overrule_it(home: Home) -> None:
    async with chaos(OK) as receiver:
        endpoints(home, receiver)
        receiver.script(answers(410), OK, path="/ci")
        async with home.house() as house:
            await ran(house, home)
        async with home.house() as house:
            assert await house.courier.deliver_due() == 1  # that one is gone is told to the other
            before = await house.control.enable_endpoint(EndpointName("ci"))
            (owed,) = await house.control.deliveries("dead", "ci", 10)
            await house.control.requeue(owed.delivery_id, "ada")
            await house.courier.deliver_due()
            (row,) = await house.control.deliveries(None, "ci", 10)

    assert before.gone
    assert (row.status, row.attempts) == ("delivered", 2)
    asked = [request.header("webhook-id") for request in receiver.requests if request.path == "/ci"]
    assert asked == [row.delivery_id, row.delivery_id]
