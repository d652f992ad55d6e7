"""No test gets off loopback, whatever becomes of the error."""

from __future__ import annotations

import socket

import pytest

from tests import tripwire
from tests.tripwire import LeftLoopbackError, leaves


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "::ffff:127.0.0.1", "0.0.0.0", b"::1", None], ids=repr
)
def test_this_machine_is_loopback(host: object) -> None:
    assert not leaves(host)


@pytest.mark.parametrize(
    "host", ["93.184.216.34", "10.0.0.1", "example.org", "fe80::1%eth0", "::ffff:8.8.8.8", b"a.example"], ids=repr
)
def test_everything_else_is_not(host: object) -> None:
    assert leaves(host)


def test_a_connection_and_a_look_up_are_stopped_and_kept() -> None:
    with socket.socket() as sock, pytest.raises(LeftLoopbackError):
        sock.connect(("192.0.2.1", 9))
    with pytest.raises(LeftLoopbackError):
        socket.getaddrinfo("example.org", 443)

    assert tripwire.tries == ["socket.connect '192.0.2.1'", "socket.getaddrinfo 'example.org'"]
    tripwire.tries.clear()
