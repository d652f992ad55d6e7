"""Make an attempt's request where the address, the signature or a token is only known then."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from urllib.parse import urlencode, urlsplit, urlunsplit

from pydantic import JsonValue

from kova_auto.core.delivery.format import Rendered, encode
from kova_auto.core.delivery.target import Target
from kova_auto.core.errors import ConfigError


def token_of(target: Target, meaning: str) -> str:
    """Return the token that lets us in.

    Args:
        target: The endpoint.
        meaning: What the receiver calls it, for the error.

    Raises:
        ConfigError: There is none.
    """
    if target.token:
        return target.token
    msg = f"the format {target.format} wants a token: {meaning}"
    raise ConfigError(msg, key=f"endpoints.{target.name}.token")


def with_fields(message: Rendered, **fields: JsonValue) -> Rendered:
    """Return a message of JSON with more fields in front of its own."""
    return replace(message, body=encode({**fields, **json.loads(message.body)}))


def with_query(url: str, **values: str) -> str:
    """Return an address with more values in its query."""
    return below(url, f"?{urlencode(values)}")


def below(url: str, more: str) -> str:
    """Return an address with more at the end of its path; both may have a query."""
    parts, added = urlsplit(url), urlsplit(more)
    query = "&".join(filter(None, (parts.query, added.query)))
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + added.path, query=query))


def hmac_sha256(key: bytes, message: bytes) -> str:
    """Return a signature in Base64."""
    return base64.b64encode(hmac.new(key, message, hashlib.sha256).digest()).decode("ascii")
