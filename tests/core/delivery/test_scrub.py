"""The last look: secrets that rendering has put together go, and the message stays whole."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, quote, urlencode

import pytest
from pydantic import JsonValue

from kova_auto.core.delivery.format import Rendered, encode
from kova_auto.core.delivery.scrub import scrubbed
from kova_auto.core.redact import Redactor

SECRET = 'opense"same\\ 0123456789'
REDACT = Redactor({'file:a "quoted" \\ name': SECRET}).redact
MARK = '[redacted:file:a "quoted" \\ name]'


def test_a_message_without_a_secret_is_the_very_same() -> None:
    message = Rendered(b'{"text": "well"}', headers=(("title", "well"),), path="/a")
    assert scrubbed(message, REDACT) is message


@pytest.mark.parametrize("content_type", ["application/json", "application/cloudevents+json; charset=utf-8"])
def test_json_stays_json_whatever_takes_the_secrets_place(content_type: str) -> None:
    fields: JsonValue = [SECRET, 1, None, True]
    payload: dict[str, JsonValue] = {"text": f"it is {SECRET}", "blocks": [{"fields": fields}], SECRET: "a key"}
    found = scrubbed(Rendered(encode(payload), content_type), REDACT)

    assert json.loads(found.body) == {
        "text": f"it is {MARK}",
        "blocks": [{"fields": [MARK, 1, None, True]}],
        MARK: "a key",
    }
    assert found.content_type == content_type


def test_a_form_stays_a_form() -> None:
    body = urlencode({"ref": "main", "variables[A]": f"x {SECRET}", "variables[B]": ""}).encode()
    found = scrubbed(Rendered(body, "application/x-www-form-urlencoded"), REDACT)

    assert parse_qsl(found.body.decode(), keep_blank_values=True) == [
        ("ref", "main"),
        ("variables[A]", f"x {MARK}"),
        ("variables[B]", ""),
    ]


def test_text_headers_and_path_are_looked_at() -> None:
    message = Rendered(f"log {SECRET}".encode(), "text/plain", (("title", SECRET),), f"/{quote(SECRET)}")
    found = scrubbed(message, REDACT)

    assert found.body.decode() == f"log {MARK}"
    assert found.headers == (("title", MARK),)
    assert SECRET not in found.path
    assert quote(SECRET) not in found.path
