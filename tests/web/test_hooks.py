"""Requests to hooks: what is accepted is kept before it is answered, once; everything else gets the same short no."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from tests.app.houses import Home
from tests.core.inbound.senders import SECRETS
from tests.doubles.clock import HandClock
from tests.web.outside import PUSH, Outside, Reply, a_home, a_hook, outside

BODY = json.dumps(PUSH).encode()
NO = Reply(401, {}, '{"error": "unauthorized"}\n')


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = a_home(tmp_path)
    a_hook(home)
    return home


@pytest.fixture
async def sender(home: Home) -> AsyncIterator[Outside]:
    async with home.house(HandClock()) as house, outside(house) as found:
        yield found


async def test_a_request_is_kept_and_then_accepted(sender: Outside) -> None:
    reply = await sender.send(BODY)
    (row,) = await sender.rows()

    assert (reply.status, reply.json) == (202, {"id": row.hook_id, "status": "accepted"})
    assert (row.job, row.source, row.delivery_id, row.event, row.actor) == ("deploy", "github", "id-1", "push", "ada")
    assert (row.status, row.given) == ("accepted", (("branch", "refs/heads/main"),))
    assert (row.received_at, len(sender.rung)) == (sender.house.clock.now(), 1)
    assert reply.headers["cache-control"] == "no-store"
    assert "server" not in reply.headers


async def test_the_same_request_again_starts_nothing(sender: Outside) -> None:
    first, again = await sender.send(BODY), await sender.send(BODY)

    assert (again.status, again.json) == (200, {"id": first.json["id"], "status": "duplicate"})
    assert (len(await sender.rows()), len(sender.rung)) == (1, 1)


async def test_of_two_at_once_one_is_accepted(sender: Outside) -> None:
    replies = await asyncio.gather(*(sender.send(BODY) for _ in range(8)))

    assert sorted(reply.status for reply in replies) == [200] * 7 + [202]
    assert len({reply.json["id"] for reply in replies}) == 1
    assert (len(await sender.rows()), len(sender.rung)) == (1, 1)


async def test_an_id_that_comes_with_another_body_is_a_conflict_and_is_said(
    sender: Outside, caplog: pytest.LogCaptureFixture
) -> None:
    await sender.send(BODY)
    with caplog.at_level(logging.WARNING):
        reply = await sender.send(b'{"ref": "other"}')

    assert (reply.status, len(await sender.rows()), len(sender.rung)) == (409, 1, 1)
    assert "came again with another body" in caplog.text


async def test_a_body_that_was_recorded_is_not_believed_again_under_a_new_id(sender: Outside) -> None:
    await sender.send(BODY)
    replayed = await sender.send(BODY, sender.signed(BODY, msg_id="id-2"))

    assert (replayed.status, replayed.json["status"], len(await sender.rows())) == (200, "duplicate", 1)


async def test_two_requests_of_one_instant_have_instants_of_their_own(sender: Outside) -> None:
    for number in range(3):
        data = b'{"ref": "%d"}' % number
        await sender.send(data, sender.signed(data, msg_id=f"id-{number}"))
    now = sender.house.clock.now()

    assert [row.received_at - now for row in await sender.rows()] == [timedelta(microseconds=n) for n in range(3)]


@pytest.mark.parametrize(("off", "status"), [(-299, 202), (-301, 401), (299, 202), (301, 401)])
@pytest.mark.parametrize("source", ["slack", "standard", "stripe"])
async def test_a_request_may_be_five_minutes_old(tmp_path: Path, source: str, off: int, status: int) -> None:
    home = a_home(tmp_path)
    a_hook(home, source)
    async with home.house(HandClock()) as house, outside(house) as sender:
        reply = await sender.send(BODY, sender.signed(BODY, source, now=sender.now + off))

    assert reply.status == status


@pytest.mark.parametrize("source", [*SECRETS])
async def test_every_sender_starts_a_job_once(tmp_path: Path, source: str) -> None:
    home = a_home(tmp_path)
    a_hook(home, source)
    async with home.house(HandClock()) as house, outside(house) as sender:
        replies = [await sender.send(BODY, sender.signed(BODY, source)) for _ in range(2)]
        rows = await sender.rows()

    assert ([reply.status for reply in replies], [row.source for row in rows]) == ([202, 200], [source])


async def test_a_command_in_slack_is_answered_as_slack_shows_it(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    a_hook(home, "slack", 'events = ["/deploy"]\n')
    replies = []
    async with home.house(HandClock()) as house, outside(house) as sender:
        for number, command in enumerate(("%2Fdeploy", "%2Fother")):
            data = f"command={command}&user_id=U1&trigger_id={number}".encode()
            kind = "application/x-www-form-urlencoded"
            replies.append(await sender.send(data, sender.signed(data, "slack"), kind=kind))
        rows = await sender.rows()

    assert [(reply.status, reply.json) for reply in replies] == [
        (200, {"response_type": "ephemeral", "text": f"accepted, {rows[0].hook_id}"}),
        (200, {"response_type": "ephemeral", "text": f"ignored, {rows[1].why}, {rows[1].hook_id}"}),
    ]
    assert [(row.event, row.actor) for row in rows] == [("/deploy", "U1"), ("/other", "U1")]


async def test_who_only_tries_it_out_is_greeted_once_he_is_believed(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    a_hook(home)
    a_hook(home, "slack", name="chat")
    challenge = b'{"type": "url_verification", "challenge": "3eZbrw1a"}'
    async with home.house(HandClock()) as house, outside(house) as sender:
        ping = await sender.send(b"{}", sender.signed(b"{}", event="ping"))
        chat = await sender.send(challenge, sender.signed(challenge, "slack"), path="/hooks/chat")
        unproven = await sender.send(challenge, (), path="/hooks/chat")
        assert await sender.rows() == []

    assert [(ping.status, ping.json), (chat.status, chat.json)] == [
        (200, {"status": "pong"}),
        (200, {"challenge": "3eZbrw1a"}),
    ]
    assert unproven.text == NO.text


async def test_github_may_send_a_form(sender: Outside) -> None:
    data = b"payload=%7B%22ref%22%3A%20%22refs%2Fheads%2Fmain%22%7D"
    reply = await sender.send(data, kind="application/x-www-form-urlencoded")

    assert (reply.status, (await sender.rows())[0].given) == (202, (("branch", "refs/heads/main"),))


async def test_what_the_job_does_not_want_is_on_record_and_starts_nothing(tmp_path: Path) -> None:
    home = a_home(tmp_path)
    a_hook(home, more='events = ["release"]\nactors = ["ada"]\n')
    async with home.house(HandClock()) as house, outside(house) as sender:
        reply = await sender.send(BODY)
        (row,) = await sender.rows()
        again = await sender.send(BODY)

    why = "event 'push' is not in schedule.webhook.events"
    assert (reply.status, reply.json) == (202, {"id": row.hook_id, "status": "ignored", "why": why})
    assert (row.status, row.why, row.given, sender.rung) == ("ignored", why, (), [])
    assert again.json["status"] == "duplicate"


async def test_a_job_that_is_read_anew_ten_times_has_one_hook(home: Home) -> None:
    async with home.house(HandClock()) as house, outside(house) as sender:
        for number in range(10):
            a_hook(home, more=f"max_bytes = {2000 + number}\n")
            sender.book.refresh()
        assert (await sender.send(BODY)).status == 202
        (home.jobs / "deploy.toml").unlink()
        sender.book.refresh()
        assert (await sender.send(BODY)).status == 404
        assert len(await sender.rows()) == 1


async def test_a_hook_whose_secret_cannot_be_had_believes_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = Home(tmp_path)
    a_hook(home)
    async with home.house(HandClock()) as house, outside(house) as sender:
        reply = await sender.send(BODY)

    assert (reply.status, reply.headers["retry-after"]) == (503, "10")
    assert "wanted a secret in env GITHUB_SECRET" in caplog.text


async def test_a_secret_in_a_request_is_kept_nowhere(home: Home) -> None:
    data = json.dumps({**PUSH, "ref": SECRETS["github"], "sender": {"login": SECRETS["github"]}}).encode()
    async with home.house(HandClock()) as house, outside(house) as sender:
        await sender.send(data)
        (row,) = await sender.rows()

    assert SECRETS["github"] not in row.model_dump_json()
    assert "[redacted:" in row.inputs
