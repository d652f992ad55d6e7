"""Mail and the long tail: what Apprise carries over loopback, and what we make of its few words."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kova_auto.core.delivery.document import Status
from kova_auto.core.delivery.format import Form, Wish
from kova_auto.core.delivery.notice import EndpointTest, RunReport
from kova_auto.core.delivery.notifier import Note
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.target import FormatName, Target
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Outcome
from kova_auto.delivery.sender import send
from kova_auto.net.exchange import GuardedExchange
from kova_auto.net.notifier import AppriseNotifier
from kova_auto.threads import Threads
from tests.support.mailbox import Mailbox

# Apprise imports it on Python 3.11, where it warns of its end.
pytestmark = pytest.mark.filterwarnings("ignore:'imghdr' is deprecated:DeprecationWarning")
NOW = datetime(2026, 12, 1, 7, 0, tzinfo=UTC)
ID = "msg_abcdefghijklmnopqrstuvwxyz"
NOTE = Note(title="nightly: done", text="All is well.", status=Status.GOOD)
Is = AttemptOutcome


def report(answer: str) -> RunReport:
    return RunReport(
        run_id="nightly@20261201T070000Z",
        job="nightly",
        outcome=Outcome.DONE,
        scripted=True,
        model="scripted",
        level="read-only",
        workspace="/srv/app",
        finished_at=NOW,
        answer=answer,
    )


def target(url: str, name: FormatName = FormatName.EMAIL, timeout_s: float = 30.0) -> Target:
    return Target("post", name, url, timeout_s=timeout_s)


async def sent(there: Target, notice: RunReport | EndpointTest, form: Form = Form.RICH) -> AttemptResult:
    message = render(there.format, notice, Wish(ID, form))
    return await send(GuardedExchange(), there, message, delivery_id=ID, now=NOW, notifier=AppriseNotifier())


async def test_a_mail_arrives_as_html_with_the_same_as_text_beside_it() -> None:
    async with Mailbox() as there:
        result = await sent(target(there.url()), report("All **well**, says *日本*.\n\n```\na < b\n```"))

    assert (result.outcome, result.detail) == (Is.DELIVERED, "Apprise says that it was sent")
    assert there.receivers == ["ann@example.org"]
    (mail,) = there.mails
    assert mail["subject"] == "✅ nightly: done"
    text, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text
    assert html
    assert "<p>All <b>well</b>, says <i>日本</i>.</p>" in html.get_content()
    assert "<pre>a &lt; b</pre>" in html.get_content()
    assert "kova-auto runs show nightly@20261201T070000Z" in text.get_content()
    assert "All well, says 日本." in text.get_content()


async def test_the_plain_form_of_a_mail_is_text_alone() -> None:
    async with Mailbox() as there:
        await sent(target(there.url()), report("All **well**, <b>all</b>."), Form.PLAIN)

    (mail,) = there.mails
    assert mail.get_content_type() == "text/plain"
    assert "All well, <\u200bb>all<\u200b/b>." in mail.get_content()


HOSTILE = """\
<script>alert(1)</script> <img src="https://evil.example/x.png"> ![a](https://evil.example/y.png)
[click](javascript:alert(1)) [bank](https://evil.example/) <a href="https://evil.example">x</a> "quoted' &amp; <!--
"""


async def test_nothing_in_a_mail_is_fetched_run_or_hidden_when_it_is_read() -> None:
    async with Mailbox() as there:
        await sent(target(there.url()), report(HOSTILE))

    html = there.mails[0].get_body(("html",))
    assert html
    content = html.get_content().lower()
    assert not any(tag in content for tag in ("<script", "<img", "<!--", 'javascript:alert(1)"', 'src="'))
    assert 'href="https://evil.example/"' in content


@pytest.mark.parametrize(
    ("refusals", "outcome", "code"),
    [
        ({"RCPT": "550 no such user"}, Is.BAD_ENDPOINT, "550"),
        ({"RCPT": "450 try later"}, Is.SERVER_ERROR, "450"),
        ({"MAIL": "530 authenticate first"}, Is.BAD_ENDPOINT, "530"),
        ({".": "552 too long"}, Is.BAD_PAYLOAD, "552"),
        ({".": "554 this is spam"}, Is.BAD_PAYLOAD, "554"),
        ({".": "451 disk is full"}, Is.SERVER_ERROR, "451"),
        ({"EHLO": "421 too busy", "HELO": "421 too busy"}, Is.SERVER_ERROR, "421"),
    ],
)
async def test_what_a_mail_server_refuses_is_told_apart(
    refusals: dict[str, str], outcome: AttemptOutcome, code: str
) -> None:
    async with Mailbox(refusals) as there:
        result = await sent(target(there.url()), report("x"))

    assert result.outcome is outcome
    assert result.detail == f"Apprise says that it was not sent: the mail server answered {code}"
    assert code in result.excerpt


async def test_a_mail_server_that_is_not_there_is_tried_again() -> None:
    async with Mailbox() as there:
        url = there.url()

    result = await sent(target(url), report("x"))

    assert (result.outcome, result.detail) == (Is.SERVER_ERROR, "Apprise says that it was not sent")


async def test_a_mail_server_that_says_nothing_leaves_it_open_at_our_own_deadline() -> None:
    async with Mailbox(silent=True) as there:
        result = await sent(target(there.url(), timeout_s=0.5), report("x"))

    assert there.connections <= 1
    assert result.outcome is Is.AMBIGUOUS
    assert "the receiver may have it" in result.detail


async def test_what_waits_too_long_for_a_thread_is_not_sent_later() -> None:
    threads, held = Threads(1, "one"), threading.Event()
    holding = asyncio.create_task(threads.run(held.wait))
    async with Mailbox() as there:
        result = await AppriseNotifier(threads=threads).notify(there.url(), NOTE, deadline_s=0.05)
        held.set()
        await holding
        await threads.run(lambda: None)

    assert result == AttemptResult(Is.NOT_SENT, "Apprise was busy with others for 0.05 s")
    assert there.connections == 0
    threads.end()


async def test_without_the_extra_the_error_names_what_to_install() -> None:
    with pytest.raises(ConfigError) as caught:
        await AppriseNotifier(installed=lambda: False).notify("json://127.0.0.1", NOTE, deadline_s=1)

    assert caught.value.hint == "pip install 'kova-auto[apprise]'"


async def test_where_nothing_carries_mail_the_error_names_the_endpoint() -> None:
    there = target("mailto://ann@example.org")
    message = render(FormatName.EMAIL, report("x"), Wish(ID))

    with pytest.raises(ConfigError) as caught:
        await send(GuardedExchange(), there, message, delivery_id=ID, now=NOW)

    assert caught.value.key == "endpoints.post.format"


@pytest.mark.parametrize("url", ["nosuchservice://host", "mailto://", "json://"])
async def test_a_url_that_apprise_cannot_read_is_for_a_person_to_mend(url: str) -> None:
    with pytest.raises(ConfigError, match="does not know a service"):
        await AppriseNotifier().notify(url, NOTE, deadline_s=30)


@pytest.mark.parametrize(
    ("name", "url", "wanted"),
    [
        (FormatName.EMAIL, "slack://a/b/c", "mailto://"),
        (FormatName.EMAIL, "ann@example.org", "a URL such as mailtos://"),
        (FormatName.APPRISE, "slack://a/b/c", 'format = "slack"'),
        (FormatName.APPRISE, "TGRAM://a/b", 'format = "telegram"'),
        (FormatName.APPRISE, "mailto://a@b.c", 'format = "email"'),
        (FormatName.APPRISE, "", "a URL such as"),
    ],
)
async def test_each_format_has_its_own_addresses(name: FormatName, url: str, wanted: str) -> None:
    with pytest.raises(ConfigError, match=wanted) as caught:
        await sent(target(url, name), report("x"))

    assert caught.value.key == "endpoints.post.url"


async def answering(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, bodies: list[bytes], head: str) -> None:
    """Take one request, and answer with a head."""
    wanted = 0
    while (line := await reader.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            wanted = int(line.partition(b":")[2])
    bodies.append(await reader.readexactly(wanted))
    writer.write(f"{head}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
    writer.close()


async def told(head: str) -> tuple[AttemptResult, list[bytes]]:
    """Return what comes of a note to a service that answers so, and what that was sent."""
    bodies: list[bytes] = []
    server = await asyncio.start_server(lambda r, w: answering(r, w, bodies, head), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        url = f"json://127.0.0.1:{port}/s3cr3t-path"
        result = await sent(target(url, FormatName.APPRISE), report("<!channel> @everyone **x**"))
    return result, bodies


async def test_the_long_tail_is_sent_a_plain_text_that_calls_nobody() -> None:
    result, (body,) = await told("HTTP/1.1 200 OK")

    assert result.outcome is Is.DELIVERED
    note = json.loads(body)
    assert (note["title"], note["type"]) == ("✅ nightly: done", "success")
    assert "<\u200b!channel> @\u200beveryone x" in note["message"]
    assert "kova-auto runs show nightly@20261201T070000Z" in note["message"]


@pytest.mark.parametrize(
    "head", ["HTTP/1.1 500 Oh", "HTTP/1.1 404 No", "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/"]
)
async def test_what_apprise_calls_a_failure_is_tried_again_and_nothing_is_followed(head: str) -> None:
    result, bodies = await told(head)

    assert (result.outcome, len(bodies)) == (Is.SERVER_ERROR, 1)


async def test_an_address_is_neither_logged_nor_returned(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    results = [(await told(head))[0] for head in ("HTTP/1.1 200 OK", "HTTP/1.1 500 Oh")]

    assert "s3cr3t" not in repr(results)
    assert "s3cr3t" not in "".join(replace(result).detail for result in results)
    assert "s3cr3t" not in caplog.text
