"""Standard Webhooks signatures: the published vector, the reference package, and what an attacker may send."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook

from kova_auto.core.delivery.signature import (
    Problem,
    SigningSecret,
    parse_secret,
    sign,
    signed_headers,
    spell_secret,
    verify,
)
from kova_auto.core.errors import ConfigError

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
ID, AT, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
SIGNATURE = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
OURS, OTHER = parse_secret(SECRET), parse_secret(spell_secret(b"o" * 32))


def headers(**changes: str) -> dict[str, str]:
    given = {"id": ID, "timestamp": str(AT), "signature": SIGNATURE, **changes}
    return {f"webhook-{name}": value for name, value in given.items()}


def test_the_published_vector_is_signed_as_published() -> None:
    assert sign(OURS, ID, AT, BODY) == SIGNATURE


def test_the_published_vector_is_verified() -> None:
    assert verify([OURS], headers(), BODY, now_s=AT) is None


@given(
    st.binary(min_size=24, max_size=64),
    st.from_regex(r"msg_[a-z0-9]{1,40}", fullmatch=True),
    st.integers(min_value=0, max_value=4_000_000_000),
    st.text(),
)
def test_the_reference_package_signs_the_same(key: bytes, msg_id: str, at: int, text: str) -> None:
    theirs = Webhook(spell_secret(key)).sign(msg_id, datetime.fromtimestamp(at, UTC), text)

    assert sign(parse_secret(spell_secret(key)), msg_id, at, text.encode()) == theirs


def test_the_reference_package_verifies_what_we_sign_with_two_secrets() -> None:
    at = int(datetime(2030, 1, 1, tzinfo=UTC).timestamp())
    sent = dict(signed_headers([OTHER, OURS], ID, at, b'{"a":1}'))

    assert verify([OURS], sent, b'{"a":1}', now_s=at) is None
    assert sent["webhook-signature"].split(" ")[1] == Webhook(SECRET).sign(
        ID, datetime.fromtimestamp(at, UTC), '{"a":1}'
    )


@pytest.mark.parametrize(("sent_with", "known"), [([OTHER, OURS], [OURS]), ([OURS], [OTHER, OURS])])
def test_while_one_secret_replaces_another_either_is_enough(
    sent_with: list[SigningSecret], known: list[SigningSecret]
) -> None:
    assert verify(known, dict(signed_headers(sent_with, ID, AT, BODY)), BODY, now_s=AT) is None


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"signature": ""}, Problem.SIGNATURE),
        ({"signature": "v1,"}, Problem.SIGNATURE),
        ({"signature": SIGNATURE[:-2]}, Problem.SIGNATURE),
        ({"signature": SIGNATURE.removeprefix("v1,")}, Problem.SIGNATURE),
        ({"signature": SIGNATURE.replace("v1,", "v1a,")}, Problem.SIGNATURE),
        ({"signature": SIGNATURE.replace("v1,", "v2,")}, Problem.SIGNATURE),
        ({"signature": SIGNATURE + "é"}, Problem.SIGNATURE),
        ({"signature": " ".join([SIGNATURE] * 17)}, Problem.HEADERS),
        ({"id": "msg_other"}, Problem.SIGNATURE),
        ({"id": "msg.a"}, Problem.HEADERS),
        ({"id": ""}, Problem.HEADERS),
        ({"timestamp": str(AT + 1)}, Problem.SIGNATURE),
        ({"timestamp": "abc"}, Problem.HEADERS),
        ({"timestamp": "-1"}, Problem.HEADERS),
        ({"timestamp": "١٦١٤٢٦٥٣٣٠"}, Problem.HEADERS),
        ({"timestamp": "1614265330.5"}, Problem.HEADERS),
        ({"timestamp": "9" * 5000}, Problem.HEADERS),
    ],
)
def test_a_message_that_is_not_ours_is_refused_without_an_exception(change: dict[str, str], problem: Problem) -> None:
    assert verify([OURS], headers(**change), BODY, now_s=AT) is problem


def test_a_message_without_any_header_is_refused() -> None:
    assert verify([OURS], {}, BODY, now_s=AT) is Problem.HEADERS


@pytest.mark.parametrize("body", [b"", BODY + b" ", b"\xff\xfe", BODY.replace(b"2", b"3", 1)])
def test_another_body_is_refused(body: bytes) -> None:
    assert verify([OURS], headers(), body, now_s=AT) is Problem.SIGNATURE


def test_another_secret_is_refused() -> None:
    assert verify([OTHER], headers(), BODY, now_s=AT) is Problem.SIGNATURE


@pytest.mark.parametrize(
    ("off_s", "problem"),
    [(-301, Problem.TOO_NEW), (-300, None), (0, None), (300, None), (301, Problem.TOO_OLD)],
)
def test_a_timestamp_may_be_five_minutes_off(off_s: int, problem: Problem | None) -> None:
    assert verify([OURS], headers(), BODY, now_s=AT + off_s) is problem


@given(st.text(), st.text(), st.text(), st.binary())
def test_nothing_that_is_sent_raises(msg_id: str, stamp: str, signature: str, body: bytes) -> None:
    given_headers = headers(id=msg_id, timestamp=stamp, signature=signature)

    assert verify([OURS], given_headers, body, now_s=AT) is not None


@pytest.mark.parametrize("msg_id", ["a.b", "", "a b", "é", "a\n"])
def test_an_id_that_could_be_read_as_two_fields_is_never_signed(msg_id: str) -> None:
    with pytest.raises(ValueError, match="wanted an id"):
        sign(OURS, msg_id, AT, BODY)


@pytest.mark.parametrize("size", [24, 64])
def test_a_secret_survives_being_spelled(size: int) -> None:
    assert parse_secret(spell_secret(b"k" * size)).key == b"k" * size


@pytest.mark.parametrize(
    "text",
    ["", "c2VjcmV0", "whsec_", "whsec_not base64!", "whsec_YQ==", "whsk_" + "A" * 44, spell_secret(b"k" * 65),
     spell_secret(b"k" * 23), "whsec_é"],
)  # fmt: skip
def test_a_bad_secret_is_a_config_error_that_names_the_key_and_not_the_secret(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_secret(text, key="endpoints.ci.secret")

    assert caught.value.key == "endpoints.ci.secret"
    assert text in {"", "whsec_"} or text not in str(caught.value)


def test_a_secret_is_not_shown() -> None:
    assert "key" not in repr(OURS)
