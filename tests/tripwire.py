"""Fail any test that connects, or asks for a name, off loopback: the interpreter itself tells of each try."""

from __future__ import annotations

import ipaddress
import re
import sys
from collections.abc import Iterator

import pytest

_HOSTS = frozenset({"", "localhost", "ip6-localhost", "localhost.localdomain"})
_NUMBER = re.compile(r"[0-9a-fx.:]+")
"""What the system reads as an address, without asking anybody."""
tries: list[str] = []
"""What was tried and not let through, since the test began."""


class LeftLoopbackError(AssertionError):
    """Say where a test was about to go."""


def leaves(host: object) -> bool:
    """Say whether a host is anything but this machine itself."""
    if not isinstance(host, str | bytes) or host in _HOSTS:
        return False
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else host
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return True
    address = getattr(address, "ipv4_mapped", None) or address
    return not (address.is_loopback or address.is_unspecified)


def hook(event: str, args: tuple[object, ...]) -> None:
    """Stop what would leave."""
    match event, args:
        case (("socket.connect" | "socket.sendto"), (_, (host, *_))) if leaves(host):
            pass
        case "socket.getaddrinfo", (host, *_) if leaves(host) and not _NUMBER.fullmatch(str(host)):
            pass
        case _:
            return
    tries.append(f"{event} {host!r}")
    raise LeftLoopbackError(tries[-1])


sys.addaudithook(hook)


@pytest.fixture(autouse=True)
def _stays_on_loopback() -> Iterator[None]:
    """Fail a test that tried, also where what it tests has swallowed the error."""
    tries.clear()
    yield
    assert tries == []
