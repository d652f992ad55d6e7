"""Where requests from outside are listened for: nowhere, unless the settings say so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from pydantic import Field, StrictInt

from kova_auto.core.duration import Duration
from kova_auto.core.errors import ConfigError
from kova_auto.core.value import Value
from kova_auto.settings.chat import SlackTable

_PLACE: Final = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<four>[^\[\]:]+)):(?P<port>[0-9]{1,5})")


class IngressTable(Value):
    """Say where it is listened, and how much at once.

    Attributes:
        listen: Address and port; None for nowhere.
        public_url: Under which the listener is reached from outside, as through a proxy with TLS.
        patience: For a request's head, and again for its body.
        slack: Whose presses of buttons are taken; None: nobody's.
    """

    listen: str | None = None
    public_url: str | None = None
    max_connections: StrictInt = Field(default=64, ge=1, le=4096)
    patience: Duration = Field(default=timedelta(seconds=10), gt=timedelta(0), le=timedelta(seconds=60))
    slack: SlackTable | None = None

    @property
    def place(self) -> tuple[str, int] | None:
        """Return address and port; None where nothing listens.

        Raises:
            ConfigError: It is none; never for settings that were loaded.
        """
        return None if self.listen is None else parse_place(self.listen)

    @property
    def is_local(self) -> bool:
        """Say whether only this machine reaches the listener directly."""
        return self.place is None or ip_address(self.place[0]).is_loopback

    def url_of(self, path: str) -> str:
        """Return the URL of a path, as somebody outside reaches it, or else this machine."""
        if self.public_url is not None:
            return self.public_url.rstrip("/") + path
        return f"http://{self.listen}{path}"


def parse_place(text: str) -> tuple[str, int]:
    """Return the address and port of a text as `127.0.0.1:8788` or `[::1]:8788`.

    Raises:
        ConfigError: It is no such text.
    """
    found = _PLACE.fullmatch(text)
    host, port = (found["six"] or found["four"], int(found["port"])) if found else ("", -1)
    try:
        ip_address(host)
    except ValueError:
        port = -1
    if not 0 <= port <= 65_535:
        message = f"wanted an address and a port, found {text!r}"
        raise ConfigError(message, hint='as "127.0.0.1:8788" or "[::1]:8788"; a name is not looked up')
    return host, port


def ingress_problems(table: IngressTable) -> Iterator[tuple[str, ConfigError]]:
    """Yield each key that is wrong, with what is wrong."""
    if table.listen is not None:
        try:
            parse_place(table.listen)
        except ConfigError as exc:
            yield "listen", exc
    if table.public_url is not None and (wrong := _no_base(table.public_url)):
        yield "public_url", ConfigError(wrong, hint='as "https://hooks.example.org", without a query')


def _no_base(url: str) -> str:
    message = f"wanted the URL under which the listener is reached, found {url!r}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return message
    is_base = parts.scheme in {"http", "https"} and parts.hostname and not (parts.query or parts.fragment)
    if not is_base or port == 0:
        return message
    return "wanted a URL without a user's name in it" if "@" in parts.netloc else ""
