"""Receivers that cannot prove who they are, or speak another protocol than they are spoken to in."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from kova_auto.core.delivery.outcome import AttemptOutcome as Is
from kova_auto.net.guard import tls_context
from tests.delivery.attempts import SOON_S, attempt
from tests.support.chaos import OK, Chaos, chaos, hangs, says


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def serving(leaf: trustme.LeafCert, **changes: object) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    leaf.configure_cert(context)
    for key, value in changes.items():
        setattr(context, key, value)
    return context


@asynccontextmanager
async def secured(authority: trustme.CA, case: str) -> AsyncIterator[Chaos]:
    """Have a receiver behind TLS that is wrong in one way."""
    leaf = authority.issue_cert("localhost")
    context = serving(leaf)
    match case:
        case "expired":
            context = serving(authority.issue_cert("localhost", not_after=datetime(2020, 1, 1, tzinfo=UTC)))
        case "not yet valid":
            far = datetime(2199, 1, 1, tzinfo=UTC)
            context = serving(authority.issue_cert("localhost", not_before=far, not_after=far + timedelta(days=9)))
        case "wrong host":
            context = serving(authority.issue_cert("other.example.org"))
        case "unknown authority":
            context = serving(trustme.CA().issue_cert("localhost"))
        case "TLS 1.1 only":
            context.minimum_version = ssl.TLSVersion.TLSv1_1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
            context.set_ciphers("ALL:@SECLEVEL=0")
        case "wants a certificate of ours":
            context.verify_mode = ssl.CERT_REQUIRED
            authority.configure_trust(context)
        case _:
            raise ValueError(case)
    async with chaos(OK, tls=context) as receiver:
        yield receiver


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = tls_context()
    authority.configure_trust(context)
    return context


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1_1 is deprecated:DeprecationWarning")
@pytest.mark.parametrize("case", ["expired", "not yet valid", "wrong host", "unknown authority", "TLS 1.1 only"])
async def test_39_a_receiver_that_cannot_prove_itself_gets_nothing(authority: trustme.CA, case: str) -> None:
    async with secured(authority, case) as receiver:
        result = await attempt(receiver.url(host="localhost"), tls=trusting(authority))

    assert (result.outcome, result.slow, receiver.requests) == (Is.NOT_SENT, True, [])
    assert "certificate" in result.detail or "TLS" in result.detail


async def test_39_one_that_wants_a_certificate_of_ours_leaves_it_open(authority: trustme.CA) -> None:
    async with secured(authority, "wants a certificate of ours") as receiver:
        result = await attempt(receiver.url(host="localhost"), tls=trusting(authority))

    assert result.outcome in {Is.AMBIGUOUS, Is.NOT_SENT}
    assert receiver.requests == []


async def test_39_a_handshake_that_stalls_ends_in_time() -> None:
    async with chaos(hangs(reads=False)) as receiver:
        result = await attempt(f"https://127.0.0.1:{receiver.port}/", timeout_s=SOON_S)

    assert result.outcome is Is.NOT_SENT


async def test_40_https_to_a_plain_port_says_so() -> None:
    async with chaos(says(b"HTTP/1.1 400 Bad\r\n\r\n", reads=False)) as receiver:
        result = await attempt(f"https://127.0.0.1:{receiver.port}/")

    assert (result.outcome, result.detail) == (
        Is.NOT_SENT,
        "no TLS connection: does the receiver speak https on this port?",
    )


async def test_40_plain_http_to_a_port_that_speaks_tls_says_so() -> None:
    alert = b"\x15\x03\x01\x00\x02\x02\x50"  # What OpenSSL answers to plain text; asyncio's server only breaks off.
    async with chaos(says(alert)) as receiver:
        result = await attempt(receiver.url())

    assert result.outcome is Is.NOT_SENT
    assert "begins with https" in result.detail
