"""Decide which URLs may be asked for, before anything else reads them.

Two parsers that disagree about the host are how guards are passed. So a URL is taken apart once, here, by narrow rules;
what goes on from here is the parts, never the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address
from typing import Literal
from urllib.parse import SplitResult, quote, urlsplit

import idna

from kova_auto.core.net.address import EgressRefusedError, Network, check_addresses

MAX_URL_CHARS = 8192
_PORTS = {"http": 80, "https": 443}
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ud800-\udfff]")
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMERIC = re.compile(r"([0-9]+|0x[0-9a-f]*)")
_KEPT = "%/?:@!$&'()*+,;=~[]|"


class UrlRule(StrEnum):
    """Name the rules that a URL's text can break."""

    CHARACTERS = "url.characters"
    SYNTAX = "url.syntax"
    SCHEME = "url.scheme"
    USERINFO = "url.userinfo"
    HOST = "url.host"
    PORT = "url.port"


@dataclass(frozen=True)
class Egress:
    """Say how much further than public https a request may go: only where an endpoint's settings say so."""

    allow_http: bool = False
    allow_cidrs: tuple[Network, ...] = ()


@dataclass(frozen=True)
class Url:
    """Hold a checked URL in parts.

    Attributes:
        host: Lower case and ASCII; an IPv6 address without brackets.
        target: Path and query in ASCII, at least `/`. It may be a credential, so it is never shown.
    """

    scheme: Literal["http", "https"]
    host: str
    port: int
    target: str = field(repr=False)

    @property
    def authority(self) -> str:
        """Return host and, where it is not the scheme's own, port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Return what may be shown of it: scheme, host and port."""
        return f"{self.scheme}://{self.authority}"


def parse_url(text: str, egress: Egress) -> Url:
    """Return the parts of a URL that may be asked for, as far as its text can tell.

    What its name resolves to is checked again at each connection.

    Raises:
        EgressRefusedError: It is no http(s) URL, carries a user name, or points where nothing may be sent.
    """
    if len(text) > MAX_URL_CHARS or _UNSAFE.search(text):
        raise _refused(UrlRule.CHARACTERS, "a URL holds spaces, control characters or backslashes, or is too long")
    try:
        parts = urlsplit(text)
    except ValueError as exc:
        raise _refused(UrlRule.SYNTAX, "wanted a URL such as https://host/path") from exc
    scheme = _scheme(parts, egress)
    host = _host(parts)
    _check_literal(host, egress)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Url(scheme, host, _port(parts, scheme), quote(target, safe=_KEPT))


def _scheme(parts: SplitResult, egress: Egress) -> Literal["http", "https"]:
    if parts.scheme == "https":
        return "https"
    if parts.scheme == "http" and egress.allow_http:
        return "http"
    if parts.scheme == "http":
        raise _refused(UrlRule.SCHEME, "plain http is not allowed here, only https")
    raise _refused(UrlRule.SCHEME, "wanted a URL that begins with https://")


def _host(parts: SplitResult) -> str:
    if "@" in parts.netloc:
        raise _refused(UrlRule.USERINFO, "a URL must not carry a user name or password")
    if "%" in parts.netloc or not parts.hostname:
        raise _refused(UrlRule.HOST, "the URL's host is empty or percent-encoded")
    if parts.netloc.startswith("["):
        return _v6(parts.hostname)
    return _name(parts.hostname)


def _v6(literal: str) -> str:
    try:
        return IPv6Address(literal).compressed
    except ValueError as exc:
        raise _refused(UrlRule.HOST, "the URL's host is no IPv6 address") from exc


def _name(name: str) -> str:
    try:
        ascii_name = name if name.isascii() else idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError as exc:
        raise _refused(UrlRule.HOST, "the URL's host is no valid international name") from exc
    host = ascii_name.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise _refused(UrlRule.HOST, "the URL's host is no valid name")
    if _NUMERIC.fullmatch(labels[-1]):
        return _v4(host)
    return host


def _v4(literal: str) -> str:
    # `127.1`, `0x7f000001` and `2130706433` are loopback to a resolver and a name to most checks.
    try:
        return str(IPv4Address(literal))
    except ValueError as exc:
        raise _refused(UrlRule.HOST, "an IPv4 address must be written as four plain decimal numbers") from exc


def _check_literal(host: str, egress: Egress) -> None:
    if ":" in host or _NUMERIC.fullmatch(host.rpartition(".")[2]):
        check_addresses(host, [host], egress.allow_cidrs)


def _port(parts: SplitResult, scheme: Literal["http", "https"]) -> int:
    try:
        port = parts.port if parts.port is not None else _PORTS[scheme]
    except ValueError as exc:
        raise _refused(UrlRule.PORT, "the URL's port is no number from 1 to 65535") from exc
    if port not in _PORTS.values() and port < 1024:
        raise _refused(UrlRule.PORT, f"port {port} belongs to another service; 80, 443 and 1024 upwards are allowed")
    return port


def _refused(rule: UrlRule, message: str) -> EgressRefusedError:
    return EgressRefusedError(message, rule=rule)
