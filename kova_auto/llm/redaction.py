"""Show what a provider said without what it must not say: keys, and the parts of a URL that may hold one."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from kova_auto.core.provider import Provider

MAX_SHOWN: Final = 600
MIN_SECRET: Final = 6

# Providers quote a wrong key in part ("sk-ab***cd"), so the configured one is not all there is to look for.
_KEY: Final = re.compile(
    r"\b(?:(?:sk|pk|rk|gsk|csk|xai|hf|pplx|nvapi)[-_][\w*-]{6,}|AIza[\w*-]{6,}|Bearer\s+\S+)", re.IGNORECASE
)
_QUERY: Final = re.compile(r"(https?://[^\s?#\"']+)[?#][^\s\"']*")
_HELD_IN: Final = re.compile(r"key|token|secret|sig|pass|auth|code", re.IGNORECASE)
_USER: Final = re.compile(r"(https?://)[^\s/@\"']+@")


def shown(provider: Provider, text: str) -> str:
    """Return foreign text as one printable line, at most `MAX_SHOWN` characters, without secrets."""
    secrets = (provider.api_key, *provider.headers.values(), *_in_query(provider.base_url))
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= MIN_SECRET:
            text = text.replace(secret, "[key]")
    text = _KEY.sub("[key]", _QUERY.sub(r"\1", _USER.sub(r"\1", text)))
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 1] + "…"


def _in_query(url: str) -> list[str]:
    """Return what a URL's query holds under a name that secrets have."""
    return [value for name, value in parse_qsl(urlsplit(url).query) if _HELD_IN.search(name)]
