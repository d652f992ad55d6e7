"""Listen on the confinement's own loopback, hand that socket to the service, then become the command.

Run inside a confinement, as a text on the command line of an isolated interpreter: `… DESCRIPTOR PORT -- COMMAND...`.
What connects to the port is served by the service's proxy; nothing of this stays with the command. It decides nothing
and imports next to nothing: it runs before every command that has a network.
"""

from __future__ import annotations

import sys
from _socket import AF_INET, SCM_RIGHTS, SOCK_STREAM, SOL_SOCKET, socket
from posix import execv

_QUEUE = 128


def main(arguments: list[str]) -> None:
    """Hand over, then execute; returns only by an error."""
    end = arguments.index("--")
    descriptor, port = map(int, arguments[:end])
    command = arguments[end + 1 :]
    listener = socket(AF_INET, SOCK_STREAM)
    listener.bind(("127.0.0.1", port))
    listener.listen(_QUEUE)
    service = socket(fileno=descriptor)
    rights = listener.fileno().to_bytes(4, sys.byteorder)
    service.sendmsg([b"!"], [(SOL_SOCKET, SCM_RIGHTS, rights)])
    service.close()
    execv(command[0], command)  # the listener closes with it


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as error:
        sys.stderr.write(f"network: {error.strerror}\n")
        sys.exit(126)
