"""Ports of loopback for servers that cannot be given a socket, but only a number."""

from __future__ import annotations

import random
import socket

_LOWEST, _HIGHEST = 15_000, 30_000
_chance = random.SystemRandom()  # Every process of a test run has the same seed.


def free_port() -> int:
    """Return a port that nobody listens on, from where no system takes those of its own choice.

    A port that was free a moment ago is so still when a server has come up: whoever binds to port 0 meanwhile, or
    connects to somebody, gets another one.
    """
    while True:
        port = _chance.randint(_LOWEST, _HIGHEST)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
