"""Tell systemd how the service does, where it asks for that."""

from __future__ import annotations

import contextlib
import socket

from kova_auto.settings.environment import Environment


def notify(environ: Environment, state: str) -> None:
    """Say `READY=1` and the like to who supervises this process; nothing happens where nobody does."""
    address = environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.connect(address.replace("@", "\0", 1) if address.startswith("@") else address)
        sock.sendall(state.encode())
