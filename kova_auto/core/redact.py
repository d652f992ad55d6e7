"""Take secrets out of text before it is written down, shown or sent.

Two nets: the secrets that are configured, exactly and in the forms they take on their way (JSON, URLs, Base64); and the
well-known shapes of keys that nobody configured. The second is narrow on purpose: what only looks like a key stays.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from urllib.parse import quote, quote_plus

SHORTEST = 6
"""Shorter secrets are left alone: taking them out would shred ordinary text, and show where they are."""

_PERCENT = re.compile("%[0-9A-F]{2}")
_SIGNING = ("whsec_", "whsk_")
_SEED_CHARACTERS = 42
"""How many characters of Base64 the 32 bytes take that an ed25519 key grows from; its public half may follow."""
_URL = re.compile(r"[a-z][a-z0-9+]*://(?:[^\s:/@]*(?::(?P<password>[^\s/@]*))?@)?[^\s/?@]*(?P<rest>\S*)")
_TOKEN = re.compile(r"[A-Za-z0-9_-]{16,}")
_LONG_LINE = re.compile(r"[A-Za-z0-9+/=_-]{20,}")

_PEM = "(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"
_PRIVATE_KEY = rf"-----BEGIN {_PEM}(?:(?:(?!-----).)*-----END {_PEM}|(?:(?:\s|\\n)+[A-Za-z0-9+/=]{{16,}})+)"
_SLACK_HOOK = r"(?<=//)hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[^\s\"'<>)]+"

# A marker decides cheaply whether the pattern is worth trying; what that matches becomes `[redacted:name]`.
# Each pattern is compiled when its marker is first met.
_SHAPES: tuple[tuple[str, str, str], ...] = tuple(
    (name, marker, pattern)
    for name, markers, pattern in (
        ("private-key", "-----BEGIN", _PRIVATE_KEY),
        ("api-key", "sk-", r"(?<![\w-])sk-(?=[A-Za-z_-]*\d)[\w-]{20,}"),
        ("api-key", "AIza", r"(?<![\w-])AIza[\w-]{35}(?![\w-])"),
        ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"(?<!\w)gh[pousr]_[A-Za-z0-9]{36,}"),
        ("github-token", "github_pat_", r"(?<!\w)github_pat_\w{22,}"),
        ("gitlab-token", "glpat- glptt-", r"(?<![\w-])glp(?:at|tt)-[\w-]{20,}"),
        ("slack-token", "xox", r"(?<![\w-])xox[abceoprs]-[A-Za-z0-9-]{10,}"),
        ("slack-token", "xapp-", r"(?<![\w-])xapp-\d-[A-Za-z0-9-]{10,}"),
        ("aws-key", "AKIA ASIA", r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"),
        ("npm-token", "npm_", r"(?<!\w)npm_[A-Za-z0-9]{36}(?!\w)"),
        ("webhook-secret", "whsec_ whsk_", r"(?<!\w)wh(?:sec|sk)_[A-Za-z0-9+/]{24,}={0,2}"),
        ("jwt", "eyJ", r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{16,}"),
        ("bearer", "earer", r"(?<=[Bb]earer )(?=[\w.~+/-]*\d)[\w.~+/-]{16,}={0,2}"),
        ("hook-url", "hooks.slack", _SLACK_HOOK),
        ("hook-url", "/api/webhooks/", r"(?<=//)(?:\w+\.)?discord(?:app)?\.com/api/webhooks/\d+/[\w-]+"),
        ("hook-url", ".webhook.office.com", r"(?<=//)[\w-]+\.webhook\.office\.com/[^\s\"'<>)]+"),
        ("hook-url", "/open-apis/bot/", r"(?<=//)open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/[\w-]+/hook/[\w-]+"),
        ("hook-url", "oapi.dingtalk", r"(?<=//)oapi\.dingtalk\.com/robot/send\?[^\s\"'<>)]+"),
        ("hook-url", "qyapi.weixin", r"(?<=//)qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?[^\s\"'<>)]+"),
        ("hook-url", "hc-ping.com/", r"(?<=//)hc-ping\.com/[\w-]{20,}[^\s\"'<>)]*"),
        ("password", "://", r"(?<=://)[^\s:/@\"'<>]*:[^\s/@\"'<>]+(?=@)"),
    )
    for marker in markers.split()
)


def redact_shapes(text: str) -> str:
    """Replace what has the well-known shape of a key by `[redacted:kind]`."""
    for name, marker, pattern in _SHAPES:
        if marker in text:
            text = _compiled(pattern).sub(f"[redacted:{name}]", text)
    return text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


class Redactor:
    """Know the configured secrets, and take them out of text."""

    def __init__(self, secrets: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
        """Prepare for secrets by the name under which they are shown; those under six characters are left alone.

        Args:
            secrets: Name and secret of each; in pairs a name may have several, as one that was changed.
        """
        labels: dict[str, str] = {}
        for name, secret in secrets.items() if isinstance(secrets, Mapping) else secrets:
            for form in _forms(secret):
                labels.setdefault(form, f"[redacted:{name}]")
        self._labels = labels
        # The longest first: where one secret holds another, the whole is taken out.
        self._forms = sorted(labels, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._forms)))

    def redact(self, text: str) -> str:
        """Replace every secret by `[redacted:NAME]`, and every well-known shape of a key by its kind."""
        return redact_shapes(self.redact_known(text))

    def redact_known(self, text: str) -> str:
        """Replace every secret by `[redacted:NAME]`, and nothing else."""
        for form in self._forms:  # Far quicker than the pattern, and nearly always a no.
            if form in text:
                return self._pattern.sub(lambda match: self._labels[match[0]], text)
        return text


def _forms(secret: str) -> Iterator[str]:
    """Yield the secret, and what of it is secret alone, as they are and as they look after the usual encodings."""
    bare = secret.strip()
    for text in (bare, *_parts(bare)):
        if len(text) >= SHORTEST:
            yield from _encodings(text)


def _parts(bare: str) -> Iterator[str]:
    """Yield what would do alone: the key in a signing secret, what opens a URL, the long lines of a key file."""
    if prefix := next(filter(bare.startswith, _SIGNING), ""):
        key = bare.removeprefix(prefix)
        yield from (key, key.rstrip("="))
        if prefix == "whsk_":
            yield key[:_SEED_CHARACTERS]
    elif url := _URL.fullmatch(bare):
        yield url["password"] or ""
        yield from (part for part in _TOKEN.findall(url["rest"]) if any(char.isdigit() for char in part))
    if "\n" in bare:
        yield from (line for line in map(str.strip, bare.splitlines()) if _LONG_LINE.fullmatch(line))


def _encodings(text: str) -> Iterator[str]:
    yield text
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    for quoted in (quote(text), quote(text, safe=""), quote_plus(text)):
        yield quoted
        yield _PERCENT.sub(lambda match: match[0].lower(), quoted)
    yield from _base64_forms(text.encode())


def _base64_forms(data: bytes) -> Iterator[str]:
    """Yield what Base64 shows of `data` wherever it begins inside a longer text, as in `user:password`.

    Three bytes become four characters, so there are three ways to begin; characters that also depend on a neighbour
    are left out.
    """
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + data).decode()
        inner = whole[(0, 2, 3)[shift] : (shift + len(data)) * 8 // 6]
        yield inner
        yield inner.replace("+", "-").replace("/", "_")
