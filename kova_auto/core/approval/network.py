"""Decide what a confined command may reach through the proxy: public hosts, all of them or those that a job lists.

An entry is a host as in `hosts`, with or without a port. Without one it stands for 80 and 443.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Literal

from kova_auto.core.approval.hosts import ANY, check_host, listing
from kova_auto.core.net.address import EgressRefusedError
from kova_auto.core.net.url import Egress, parse_url

Network = Literal["off", "on"] | tuple[str, ...]
"""What a job says: nothing, any public host, or these."""

WEB_PORTS = frozenset((80, 443))
_FIRST_FREE_PORT = 1024
_WITH_PORT = re.compile(r"(?P<host>[^:]+|\[[^\]]*\]):(?P<port>[0-9]{1,5})")
_ONE_HOST = Egress(allow_http=True)


@dataclass(frozen=True, slots=True)
class Destination:
    """Name where a command wants to go.

    Attributes:
        host: Lower case and ASCII; an IPv6 address without brackets.
    """

    host: str
    port: int

    def __str__(self) -> str:
        """Return it as a person would write it."""
        if self.port in WEB_PORTS:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def check_entry(entry: str) -> str | None:
    """Return what is wrong with a listed host, or None."""
    host, port = _split(entry)
    if port is not None and not 1 <= port <= 65535:
        return f"wanted a port from 1 to 65535, found {entry!r}"
    if ":" in host and not _is_address(host):
        return f"wanted a host such as pypi.example, *.npm.example:443 or *, found {entry!r}"
    return check_host(host)


def destination(authority: str, default_port: int | None = None) -> Destination:
    """Return where `host:port` leads, read as strictly as a URL's host.

    Args:
        authority: As a client writes it after CONNECT, or in an absolute address.
        default_port: Where it names none; None where it must.

    Raises:
        EgressRefusedError: It is no host and port.
    """
    found = _WITH_PORT.fullmatch(authority)
    host, port = (found["host"], int(found["port"])) if found else (authority, default_port)
    if port is None or not 1 <= port <= 65535:
        message = "wanted a host and a port from 1 to 65535"
        raise EgressRefusedError(message, rule="url.port")
    if any(sign in host for sign in "/?#"):
        message = "wanted a host, found more of an address"
        raise EgressRefusedError(message, rule="url.host")
    return Destination(parse_url(f"https://{host}/", _ONE_HOST).host, port)


def refusal(network: Network, wanted: Destination) -> str | None:
    """Return why a destination is not to be reached, or None; what its name resolves to is checked apart."""
    if network == "off":
        return f"{wanted} is out of reach: [permissions] network is off"
    if network == "on":
        if wanted.port in WEB_PORTS or wanted.port >= _FIRST_FREE_PORT:
            return None
        return f"port {wanted.port} of {wanted.host} is only reached where [permissions] network lists it"
    return None if _reaching(network, wanted) else f"{wanted} is not listed in [permissions] network"


def _reaching(entries: Iterable[str], wanted: Destination) -> bool:
    for entry in entries:
        host, port = _split(entry)
        ports = WEB_PORTS if port is None else {port}
        if wanted.port in ports and (host == ANY or listing((host,), wanted.host)):
            return True
    return False


def _is_address(host: str) -> bool:
    """Say whether a host is an IPv6 address, in brackets or bare."""
    inner = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        IPv6Address(inner)
    except ValueError:
        return False
    return True


def _split(entry: str) -> tuple[str, int | None]:
    """Return an entry's host and, where it names one, its port."""
    found = _WITH_PORT.fullmatch(entry)
    return (found["host"], int(found["port"])) if found else (entry, None)
