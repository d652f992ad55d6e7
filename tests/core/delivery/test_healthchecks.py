"""Healthchecks: which ping a notice is, and what the answer means."""

from __future__ import annotations

from urllib.parse import urlsplit
from uuid import UUID

import pytest

from kova_auto.core.delivery.format import Form
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.target import FormatName
from kova_auto.core.job import Outcome
from tests.core.delivery.pushes import TEST, approval, judged, lateness, rendered, report, sealed

HEALTHCHECKS = FormatName.HEALTHCHECKS
Is = AttemptOutcome

PING = "https://hc-ping.com/5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278"


@pytest.mark.parametrize(
    ("notice", "path"),
    [
        (report(), ""),
        (report(Outcome.NOTHING_TO_REPORT), ""),
        (lateness("recovered"), ""),
        *[
            (report(outcome), "/fail")
            for outcome in (
                Outcome.FAILED, Outcome.CONTRACT_FAILED, Outcome.TIMED_OUT, Outcome.BUDGET_EXCEEDED, Outcome.INTERRUPTED
            )
        ],
        (lateness(), "/fail"),
        (report(Outcome.NEEDS_INPUT), "/log"),
        (report(Outcome.BLOCKED), "/log"),
        (report(Outcome.CANCELLED), "/log"),
        (approval(), "/log"),
        (TEST, "/log"),
    ],
)  # fmt: skip
def test_a_ping_says_in_its_address_what_came_of_it(notice: Notice, path: str) -> None:
    request = sealed(HEALTHCHECKS, rendered(HEALTHCHECKS, notice), PING)

    assert urlsplit(request.url)._replace(query="").geturl() == PING + path
    assert request.headers == (("Content-Type", "text/plain; charset=utf-8"),)
    assert "hc-ping" not in repr(request)


def test_pings_of_one_run_are_paired_and_those_of_another_are_not() -> None:
    def query(notice: Notice) -> str:
        return urlsplit(sealed(HEALTHCHECKS, rendered(HEALTHCHECKS, notice), f"{PING}?create=1").url).query

    first, again, other = query(report()), query(report(Outcome.FAILED)), query(report(hour=8))
    create, _, pair = first.partition("&")
    assert (create, first) == ("create=1", again)
    assert first != other
    assert UUID(pair.removeprefix("rid="))
    assert query(TEST) == "create=1"


@pytest.mark.parametrize("form", Form)
def test_the_body_of_a_ping_is_the_message_as_text(form: Form) -> None:
    long = rendered(HEALTHCHECKS, report(answer="日" * 60_000), form).body

    assert len(long) <= LIMITS["healthchecks"]["body"].most
    assert "characters left out" in long.decode()
    assert rendered(HEALTHCHECKS, report(), form).body.decode().startswith("✅ nightly: done\n\nModel: scripted")


@pytest.mark.parametrize(
    ("status", "body", "outcome", "permanent"),
    [
        (200, b"OK", Is.DELIVERED, False),
        (200, b"OK\n", Is.DELIVERED, False),
        (201, b"Created", Is.DELIVERED, False),
        (200, b"OK (not found)", Is.BAD_ENDPOINT, True),
        (200, b"OK (rate limited)", Is.THROTTLED, False),
        (200, b"OKAY", Is.BAD_ENDPOINT, False),
        (200, b"", Is.BAD_ENDPOINT, False),
        (200, b"<html>not found", Is.BAD_ENDPOINT, False),
        (204, b"", Is.BAD_ENDPOINT, False),
        (404, b"not found", Is.BAD_ENDPOINT, True),
        (409, b"ambiguous slug", Is.BAD_ENDPOINT, True),
        (400, b"invalid url format", Is.BAD_ENDPOINT, True),
        (413, b"", Is.BAD_PAYLOAD, False),
        (429, b"rate limited", Is.THROTTLED, False),
        (502, b"<title>page not found", Is.SERVER_ERROR, False),
    ],
)
def test_healthchecks_is_judged_by_what_it_says(
    status: int, body: bytes, outcome: AttemptOutcome, permanent: object
) -> None:
    result = judged(HEALTHCHECKS, status, body)

    assert (result.outcome, result.permanent) == (outcome, permanent)
