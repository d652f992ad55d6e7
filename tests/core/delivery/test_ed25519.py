"""Signatures with ed25519: the published vectors, keys of both kinds at once, and what is no key."""

from __future__ import annotations

import base64
import sys
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook

from kova_auto.core.delivery.signature import (
    Kind,
    Problem,
    PublicKey,
    SigningSecret,
    parse_public,
    parse_secret,
    sign,
    signed_headers,
    spell_private,
    spell_public,
    spell_secret,
    verify,
)
from kova_auto.core.errors import ConfigError

ID, AT, BODY = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
# Of the tests of svix-webhooks, whose header the specification shows, too.
PUBLISHED = "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
PUBLISHED_SIGNATURE = "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="
SEED = bytes(range(32))
PUBLIC = "whpk_A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg="
SIGNATURE = "v1a,yoUrgEkc12aGqm0n4Sydmdz55xJfTz4AsAgieHFjmkR7LJtqVCZOQYzvvHjI5kAey+r4iaBGxTFRrl2iBQxtDQ=="
SHARED = parse_secret(spell_secret(b"o" * 32))


def ours(text: str = spell_private(SEED)) -> SigningSecret:
    return parse_secret(text, asymmetric=True)


@pytest.mark.parametrize(
    ("text", "signature"), [(PUBLISHED, PUBLISHED_SIGNATURE), (spell_private(SEED), SIGNATURE)], ids=["svix", "own"]
)
def test_the_vectors_are_signed_as_published(text: str, signature: str) -> None:
    assert sign(ours(text), ID, AT, BODY) == signature


def test_the_public_half_is_what_the_receiver_is_given() -> None:
    assert spell_public(ours()) == PUBLIC
    assert parse_public(PUBLIC) == PublicKey(base64.b64decode(PUBLIC.removeprefix("whpk_")))


def test_keys_of_both_kinds_sign_at_once_and_either_receiver_believes() -> None:
    headers = dict(signed_headers([ours(), SHARED], ID, AT, BODY))

    assert [text.partition(",")[0] for text in headers["webhook-signature"].split(" ")] == ["v1a", "v1"]
    keys: list[list[SigningSecret | PublicKey]] = [[SHARED], [ours()], [parse_public(PUBLIC), SHARED]]
    for known in keys:
        assert verify(known, headers, BODY, now_s=AT) is None
        assert verify(known, headers, BODY + b" ", now_s=AT) is Problem.SIGNATURE


def test_the_reference_package_believes_a_message_that_is_signed_with_both() -> None:
    now = int(datetime.now(UTC).timestamp())  # noqa: TID251 — the package reads the clock itself
    headers = dict(signed_headers([ours(), SHARED], ID, now, b'{"a":1}'))

    assert Webhook(spell_secret(b"o" * 32)).verify('{"a":1}', headers) == {"a": 1}


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=200))
def test_what_one_key_signs_no_other_has_signed(seed: bytes, body: bytes) -> None:
    key = ours(spell_private(seed))
    headers = dict(signed_headers([key], ID, AT, body))

    assert verify([parse_public(spell_public(key))], headers, body, now_s=AT) is None
    assert verify([ours(PUBLISHED), SHARED], headers, body, now_s=AT) is Problem.SIGNATURE


@pytest.mark.parametrize(
    "signature",
    [
        SIGNATURE.replace("v1a,", "v1,"),
        SIGNATURE[:-2],
        SIGNATURE.replace("y", "z", 1),
        "v1a,",
        "v1a," + "A" * 86 + "==",
    ],
)
def test_another_signature_is_refused_without_an_exception(signature: str) -> None:
    headers = {"webhook-id": ID, "webhook-timestamp": str(AT), "webhook-signature": signature}

    assert verify([parse_public(PUBLIC)], headers, BODY, now_s=AT) is Problem.SIGNATURE


def test_a_signature_with_a_shared_secret_is_none_of_a_public_key() -> None:
    headers = dict(signed_headers([SHARED], ID, AT, BODY))

    assert verify([parse_public(PUBLIC)], headers, BODY, now_s=AT) is Problem.SIGNATURE


def test_a_public_key_that_is_no_point_believes_nothing() -> None:
    headers = dict(signed_headers([ours()], ID, AT, BODY))

    assert verify([PublicKey(b"\xff" * 32)], headers, BODY, now_s=AT) is Problem.SIGNATURE


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("whsk_", "wanted an ed25519 key of 32 bytes, or of 64 with its public half, found 0"),
        ("whsk_YQ==", "wanted an ed25519 key of 32 bytes, or of 64 with its public half, found 1"),
        (spell_private(b"k" * 48), "wanted an ed25519 key of 32 bytes, or of 64 with its public half, found 48"),
        (spell_private(b"k" * 64), "wanted an ed25519 key whose second half is the public key of the first"),
        ("whsk_not base64!", "wanted base64 after whsk_"),
        (PUBLIC, "that is the public half: the receiver needs it"),
        ("sesame", "wanted a signing secret that begins with whsec_ or whsk_"),
    ],
)
def test_what_is_no_key_is_an_error_that_names_its_place_and_not_the_key(text: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint) as caught:
        parse_secret(text, key="endpoints.ci.secret", asymmetric=True)

    assert caught.value.key == "endpoints.ci.secret"
    assert text == "whsk_" or text not in str(caught.value)


@pytest.mark.parametrize("text", ["", "whsk_" + "A" * 43 + "=", "whpk_YQ==", "whpk_no base64"])
def test_what_is_no_public_key_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_public(text)


def test_a_private_key_is_no_shared_secret_for_who_verifies() -> None:
    with pytest.raises(ConfigError, match="begins with whsec_"):
        parse_secret(spell_private(SEED))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    with pytest.raises(ConfigError) as caught:
        parse_secret(PUBLISHED, key="endpoints.ci.secret", asymmetric=True)
    assert str(caught.value) == (
        "endpoints.ci.secret: signatures with ed25519 are an extra, which is not installed"
        " (pip install 'kova-auto[ed25519]')"
    )
    with pytest.raises(ConfigError, match="are an extra"):
        sign(SigningSecret(SEED, Kind.ED25519), ID, AT, BODY)


def test_without_the_package_shared_secrets_sign_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.asymmetric", None)
    headers = dict(signed_headers([SHARED], ID, AT, BODY))

    assert verify([SHARED], headers, BODY, now_s=AT + timedelta(minutes=5).total_seconds()) is None


def test_a_key_is_not_shown() -> None:
    assert "key" not in repr(ours())
