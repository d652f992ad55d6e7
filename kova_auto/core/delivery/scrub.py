"""Look a last time at what a format has made: what was in pieces in a notice may be whole in a message.

Markup between the pieces of a secret goes away where a receiver reads none. Texts are looked at one by one, so that
what takes a secret's place never breaks the message.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

from pydantic import JsonValue

from kova_auto.core.delivery.format import Rendered, encode

Redact = Callable[[str], str]


def scrubbed(message: Rendered, redact: Redact) -> Rendered:
    """Return a message without secrets; the very same where it holds none.

    Args:
        message: As a format has made it.
        redact: Returns a text without them.
    """
    headers = tuple((name, redact(value)) for name, value in message.headers)
    path = redact(message.path)
    text = message.body.decode("utf-8", "replace")
    if (headers, path, redact(text)) == (message.headers, message.path, text):
        return message
    return replace(message, body=_body(message.content_type, text, redact), headers=headers, path=path)


def _body(content_type: str, text: str, redact: Redact) -> bytes:
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/x-www-form-urlencoded":
        fields = parse_qsl(text, keep_blank_values=True)
        return urlencode([(name, redact(value)) for name, value in fields]).encode("ascii")
    if kind.endswith(("/json", "+json")):
        return encode(_texts(json.loads(text), redact))
    return redact(text).encode("utf-8")


def _texts(value: JsonValue, redact: Redact) -> JsonValue:
    match value:
        case str():
            return redact(value)
        case list():
            return [_texts(item, redact) for item in value]
        case dict():
            return {redact(key): _texts(item, redact) for key, item in value.items()}
        case _:
            return value
