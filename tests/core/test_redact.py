"""Secrets are taken out of text, whatever they went through on the way."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kova_auto.core.redact import Redactor, redact_shapes

SECRET = 'h0rse/bättery "staple'
REDACTOR = Redactor({"CI_TOKEN": SECRET, "SLACK": "https://hook.example/T0/B0/x"})


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
    ],
)
def test_a_secret_is_found_in_every_form_it_takes(form: str) -> None:
    assert REDACTOR.redact(f"token={form};") == "token=[redacted:CI_TOKEN];"


@given(st.binary(max_size=9), st.binary(max_size=9))
def test_a_secret_inside_base64_leaves_at_most_its_edges(before: bytes, after: bytes) -> None:
    encoded = base64.b64encode(before + SECRET.encode() + after).decode()
    redacted = REDACTOR.redact(encoded)
    assert "[redacted:CI_TOKEN]" in redacted
    assert len(redacted.replace("[redacted:CI_TOKEN]", "")) <= len(base64.b64encode(before + after)) + 8


def test_the_longer_of_two_nested_secrets_is_taken_out_whole() -> None:
    redactor = Redactor({"HOST": "db.example", "URL": "db.example/pass"})
    assert redactor.redact("at db.example/pass and db.example") == "at [redacted:URL] and [redacted:HOST]"


def test_what_a_label_says_is_never_redacted_again() -> None:
    assert Redactor({"A": "secret-a", "B": "redacted"}).redact("secret-a") == "[redacted:A]"


def test_the_lines_of_a_key_file_are_secrets_of_their_own() -> None:
    redactor = Redactor({"KEY": f"header\n{'Ab1' * 12}\n{'Cd2' * 12}\nend"})
    assert redactor.redact(f"1: {'Ab1' * 12}\n2: {'Cd2' * 12}") == "1: [redacted:KEY]\n2: [redacted:KEY]"


@pytest.mark.parametrize(
    ("secret", "alone"),
    [
        pytest.param(f"whsec_{'a1B+' * 8}=", f"{'a1B+' * 8}=", id="signing key"),
        pytest.param(f"whsec_{'a1B+' * 8}=", "a1B+" * 8, id="signing key unpadded"),
        pytest.param(f"whsk_{'a1B+' * 11}=", "a1B+" * 11, id="private key"),
        pytest.param(f"whsk_{'a1B+' * 21}A==", ("a1B+" * 11)[:42], id="seed of a private key"),
        pytest.param("https://hooks.example.org/services/T0/B0/Xyz0123456789abc", "Xyz0123456789abc", id="path"),
        pytest.param("https://hooks.example.org/in?key=Xyz0123456789abc", "Xyz0123456789abc", id="query"),
        pytest.param("postgresql://kova:hunter2@db.example/kova?x=1", "hunter2", id="password"),
    ],
)
def test_what_would_do_alone_is_taken_out_alone(secret: str, alone: str) -> None:
    redactor = Redactor({"HOOK": secret})
    assert redactor.redact(f"it is {alone} and {base64.b64encode(alone.encode()).decode()}.").count("[redacted") == 2


def test_the_common_words_of_a_secret_url_stay() -> None:
    redactor = Redactor({"HOOK": "https://hooks.example.org/incoming-webhooks-here/abc"})
    assert redactor.redact("hooks.example.org incoming-webhooks-here") == "hooks.example.org incoming-webhooks-here"


def test_secrets_too_short_to_be_told_from_words_are_left_alone() -> None:
    assert Redactor({"PIN": "12345", "EMPTY": ""}).redact("12345 things") == "12345 things"


def test_blanks_around_a_secret_do_not_hide_it() -> None:
    assert Redactor({"T": " opensesame \n"}).redact("say opensesame!") == "say [redacted:T]!"


PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1\nabcdefghijklmnopqrstuv==\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"OPENAI=sk-proj-{'a1' * 20} x", "OPENAI=[redacted:api-key] x"),
        (f"AIza{'B' * 35}", "[redacted:api-key]"),
        (f"ghp_{'a' * 36}.", "[redacted:github-token]."),
        (f"github_pat_{'a' * 30}", "[redacted:github-token]"),
        (f"glpat-{'a' * 20}", "[redacted:gitlab-token]"),
        ("xoxb-1234567890-abcdef", "[redacted:slack-token]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted:aws-key]"),
        (f"npm_{'a' * 36}", "[redacted:npm-token]"),
        (f"whsec_{'a' * 32}=", "[redacted:webhook-secret]"),
        (f"whsk_{'a' * 43}=", "[redacted:webhook-secret]"),
        (f"glptt-{'a' * 20}", "[redacted:gitlab-token]"),
        (f"eyJhbGciOiJI.eyJzdWIiOiIx.{'c' * 20}", "[redacted:jwt]"),
        ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer [redacted:bearer]"),
        ("https://hooks.slack.com/services/T0/B0/xyz ok", "https://[redacted:hook-url] ok"),
        ("https://discord.com/api/webhooks/123/ab-c_d", "https://[redacted:hook-url]"),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/ab-12 ok", "https://[redacted:hook-url] ok"),
        ("(https://open.larksuite.com/open-apis/bot/v2/hook/ab-12)", "(https://[redacted:hook-url])"),
        ("https://oapi.dingtalk.com/robot/send?access_token=ab12&sign=a%2B ok", "https://[redacted:hook-url] ok"),
        ("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=ab-12", "https://[redacted:hook-url]"),
        ("https://hc-ping.com/5bf66975-d4c7-4bf5-bcc8-b8d8a82ea278/fail?rid=1", "https://[redacted:hook-url]"),
        ("https://hc-ping.com/docs", "https://hc-ping.com/docs"),
        ("postgresql://kova:hunter2@db/kova", "postgresql://[redacted:password]@db/kova"),
        (f"a\n{PEM}\nb", "a\n[redacted:private-key]\nb"),
        (PEM.replace("\n", "\\n"), "[redacted:private-key]"),
        (f"{PEM[:49]}\nrest", "[redacted:private-key]\nrest"),
    ],
)
def test_well_known_shapes_of_keys_are_taken_out(text: str, shown: str) -> None:
    assert redact_shapes(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "the sk-folding-cube-container-of-spinners class",
        "task-1234567890123456789012345",
        "Bearer authentication-mechanisms are described",
        "a commit 0123456789abcdef0123456789abcdef01234567",
        "https://example.org:8080/path@v1",
        "begins with -----BEGIN PRIVATE KEY----- as a line of its own",
        "ghp_short and AKIA and eyJ",
    ],
)
def test_what_only_looks_like_a_key_stays(text: str) -> None:
    assert redact_shapes(text) == text
