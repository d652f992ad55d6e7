"""Who is believed: the published vectors, the senders' own libraries, and everything that an attacker changes."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slack_sdk.signature import Clock, SignatureVerifier
from standardwebhooks import Webhook

from kova_auto.core.delivery.signature import Kind, SigningSecret, signed_headers, spell_public
from kova_auto.core.errors import ConfigError
from kova_auto.core.inbound.request import Inbound, Problem
from kova_auto.core.inbound.schemes import scheme_of
from tests.core.inbound.senders import NOW, SECRETS, check, headers, signed, table, with_header

SOURCES = ("github", "slack", "standard", "stripe", "gitlab", "token")
SIGNED = ("github", "slack", "standard", "stripe")
STAMPED = ("slack", "standard", "stripe")
PROOF = {
    "github": b"x-hub-signature-256",
    "slack": b"x-slack-signature",
    "standard": b"webhook-signature",
    "stripe": b"stripe-signature",
    "gitlab": b"x-gitlab-token",
    "token": b"authorization",
}
SLACK_BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
    b"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack"
    b".com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0b"
    b"c887a14d10d2c447fce8b6703c"
)


def test_githubs_published_vector_is_believed() -> None:
    request = Inbound(
        headers(
            x_hub_signature_256="sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
            x_github_event="push",
            x_github_delivery="72d3162e-cc78-11e3-81ab-4c9367dc0958",
        ),
        b"Hello, World!",
    )
    assert check("github", request) is None


def test_slacks_published_vector_is_believed() -> None:
    request = Inbound(
        headers(
            x_slack_request_timestamp="1531420618",
            x_slack_signature="v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        ),
        SLACK_BODY,
    )
    assert check("slack", request, now=1531420618) is None


def test_the_published_vector_of_standard_webhooks_is_believed() -> None:
    request = Inbound(
        headers(
            webhook_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
            webhook_timestamp="1614265330",
            webhook_signature="v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        ),
        b'{"test": 2432232314}',
    )
    assert check("standard", request, now=1614265330) is None


def test_stripes_scheme_is_believed_with_a_signature_of_the_standard_library() -> None:
    text = f"{NOW}.".encode() + b'{"id": "evt_1"}'
    mac = hmac.new(SECRETS["stripe"].encode(), text, "sha256").hexdigest()
    request = Inbound(headers(stripe_signature=f"t={NOW},v1={'0' * 64},v1={mac},v0={'1' * 64}"), b'{"id": "evt_1"}')
    assert check("stripe", request) is None


def test_of_stripe_only_v1_proves_anything() -> None:
    good = dict(signed("stripe", b"{}").headers)[b"stripe-signature"].decode()
    request = Inbound(headers(stripe_signature=good.replace("v1=", "v0=")), b"{}")
    assert check("stripe", request) is Problem.HEADERS


def test_the_holder_of_the_other_half_of_a_public_key_is_believed() -> None:
    seed = SigningSecret(bytes(range(32)), Kind.ED25519)
    public, other = spell_public(seed), spell_public(SigningSecret(bytes(32), Kind.ED25519))
    pairs = signed_headers([seed], "msg_1", NOW, b"{}")
    request = Inbound(tuple((name.encode(), value.encode()) for name, value in pairs), b"{}")

    assert check("standard", request, public) is None
    assert check("standard", request, SECRETS["standard"], public) is None
    assert check("standard", request, other) is Problem.SIGNATURE
    assert check("standard", Inbound(request.headers, b"{} "), public) is Problem.SIGNATURE
    with pytest.raises(ConfigError, match="only its sender can sign"):
        scheme_of(table("standard")).sign(public.encode(), b"{}", NOW, "id-1", "")


@pytest.mark.parametrize("text", ["whsec_AAAA", "whpk_AAAA", "whsk_" + "A" * 43 + "=", "a secret", "whsec_é", ""])
def test_what_is_no_key_of_standard_webhooks_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        scheme_of(table("standard")).parse_key(text)


@pytest.mark.parametrize("source", SOURCES)
def test_what_a_sender_signs_is_believed(source: str) -> None:
    assert check(source, signed(source, b'{"a": 1}')) is None


@pytest.mark.parametrize("source", SOURCES)
def test_either_secret_is_believed_while_one_replaces_the_other(source: str) -> None:
    other = "whsec_" + "QUJD" * 8 if source == "standard" else "another-secret"
    request = signed(source, b"{}")

    assert check(source, request, other, SECRETS[source]) is None
    assert check(source, request, SECRETS[source], other) is None
    assert check(source, request, other) is Problem.SIGNATURE


@pytest.mark.parametrize("source", SIGNED)
@pytest.mark.parametrize("changed", [b'{"a": 2}', b'{"a": 1} ', b'{"a": 1', b"", b'{"a": 1}\n'])
def test_a_body_that_was_changed_by_a_byte_is_not_believed(source: str, changed: bytes) -> None:
    request = signed(source, b'{"a": 1}')
    assert check(source, Inbound(request.headers, changed)) is Problem.SIGNATURE


@pytest.mark.parametrize("source", SOURCES)
def test_a_missing_proof_is_not_believed(source: str) -> None:
    request = signed(source, b"{}")
    without = tuple(pair for pair in request.headers if pair[0] != PROOF[source])
    assert check(source, Inbound(without, b"{}")) is Problem.HEADERS


@pytest.mark.parametrize("source", SOURCES)
def test_a_repeated_proof_is_not_believed_even_if_both_are_good(source: str) -> None:
    request = signed(source, b"{}")
    again = tuple(pair for pair in request.headers if pair[0] == PROOF[source])
    assert check(source, Inbound((*request.headers, *again), b"{}")) is Problem.HEADERS


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("damage", ["cut", "grown", "folded", "upper", "blank", "binary", "two", "other scheme"])
def test_a_damaged_proof_is_not_believed(source: str, damage: str) -> None:
    request, name = signed(source, b"{}"), PROOF[source]
    good = dict(request.headers)[name]
    bad = {
        "cut": good[:-1],
        "grown": good + b"0",
        "folded": good[:12] + b" " + good[12:],
        "upper": good.upper(),
        "blank": b"",
        "binary": bytes(range(128, 160)),
        "two": good + b"," + good,
        "other scheme": b"sha1=" + good.partition(b"=")[2],
    }[damage]
    assert check(source, with_header(request, name, bad)) in {Problem.HEADERS, Problem.SIGNATURE}


@pytest.mark.parametrize("source", STAMPED)
@pytest.mark.parametrize(
    ("off", "problem"),
    [(300, None), (301, Problem.TOO_OLD), (-300, None), (-301, Problem.TOO_NEW), (10**9, Problem.TOO_OLD)],
)
def test_a_timestamp_may_be_off_by_five_minutes(source: str, off: int, problem: Problem | None) -> None:
    assert check(source, signed(source, b"{}"), now=NOW + off) is problem


@pytest.mark.parametrize(
    "stamp", ["", "-1", "1e9", "\u0661\u0667" + "\u0660" * 8, "1700000000 ", "17" * 20, "abc", "0x65"]
)
@pytest.mark.parametrize("source", ["slack", "standard"])
def test_a_timestamp_that_is_no_number_is_not_believed(source: str, stamp: str) -> None:
    name = b"x-slack-request-timestamp" if source == "slack" else b"webhook-timestamp"
    assert check(source, with_header(signed(source, b"{}"), name, stamp.encode())) is Problem.HEADERS


@pytest.mark.parametrize("name", [b"x-github-delivery", b"x-github-event"])
@pytest.mark.parametrize("value", [b"", b"a b", b"a\r\nb", b"../x", b"\xff", b"x" * 200])
def test_what_tells_a_delivery_of_github_must_be_plain(name: bytes, value: bytes) -> None:
    assert check("github", with_header(signed("github", b"{}"), name, value)) is Problem.HEADERS


def test_very_many_signatures_in_one_header_are_not_looked_at() -> None:
    request = signed("standard", b"{}")
    good = dict(request.headers)[b"webhook-signature"]
    many = with_header(request, b"webhook-signature", b" ".join([b"v1,AAAA"] * 50_000 + [good]))
    assert check("standard", many) is Problem.HEADERS


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=300), st.integers(min_value=0, max_value=10**10))
def test_slacks_own_library_agrees(data: bytes, now: int) -> None:
    request = signed("slack", data, now=now)
    ours = {name.decode(): value.decode() for name, value in request.headers}
    text = data.decode("latin-1").encode("utf-8")  # The library cannot be given what is no UTF-8.
    verifier = SignatureVerifier(SECRETS["slack"], clock=_Still(now))
    signed_text = signed("slack", text, now=now)
    theirs = verifier.generate_signature(timestamp=str(now), body=text)

    assert dict(signed_text.headers)[b"x-slack-signature"].decode() == theirs
    assert verifier.is_valid(text, str(now), theirs) is (check("slack", signed_text, now=now) is None) is True
    assert ours["x-slack-request-timestamp"] == str(now)


class _Still(Clock):
    def __init__(self, at: int) -> None:
        self._at = at

    def now(self) -> float:
        return self._at


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200), st.integers(min_value=10**9, max_value=4 * 10**9))
def test_the_library_of_standard_webhooks_agrees(text: str, now: int) -> None:
    library = Webhook(SECRETS["standard"])
    signature = library.sign("msg_1", datetime.fromtimestamp(now, UTC), text)
    request = Inbound(
        headers(webhook_id="msg_1", webhook_timestamp=str(now), webhook_signature=signature), text.encode()
    )
    assert check("standard", request, now=now) is None


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(SOURCES),
    st.lists(st.tuples(st.sampled_from(sorted(PROOF.values())), st.binary(max_size=80)), max_size=4),
    st.binary(max_size=80),
)
def test_whatever_comes_nothing_is_raised_and_nothing_is_believed(
    source: str, pairs: list[tuple[bytes, bytes]], data: bytes
) -> None:
    assert check(source, Inbound(tuple(pairs), data)) is not None
