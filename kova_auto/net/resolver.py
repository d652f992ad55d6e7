"""Ask the system for a name's addresses, off the loop and with few threads."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from kova_auto.core.errors import KovaError

_THREADS = 4


class NameNotFoundError(KovaError):
    """Say that a host's name gave no address."""

    retryable = True


class Resolver(Protocol):
    """Turn a name into addresses."""

    async def resolve(self, host: str) -> Sequence[str]:
        """Return the addresses in the order in which they should be tried.

        Raises:
            NameNotFoundError: There are none.
        """
        ...


class SystemResolver:
    """Ask `getaddrinfo`, in threads of its own: a name server that hangs must not hold up other work."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolve")

    async def resolve(self, host: str) -> Sequence[str]:
        """Return what the system knows about `host`."""
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._threads, _lookup, host)
        except (OSError, UnicodeError) as exc:
            msg = f"the name {host} gave no address"
            raise NameNotFoundError(msg) from exc
        return list(dict.fromkeys(found))

    def close(self) -> None:
        """Let the threads go; a look-up under way ends by itself."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _lookup(host: str) -> list[str]:
    return [str(answer[4][0]) for answer in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
