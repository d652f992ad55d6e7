"""Read the body of a request: no more than it may have, and no longer than it may take."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from typing import Final

from starlette.types import Receive

_LENGTH: Final = re.compile(rb"[0-9]{1,15}")
MOST_DROPPED: Final = 2_097_152
DROPPED_WITHIN_S: Final = 2.0


class TooLargeError(Exception):
    """Say that a body is longer than it may be."""


class GoneError(Exception):
    """Say that whoever sent a request went away in the middle of it."""


def is_too_long(length: bytes, most: int) -> bool:
    """Say whether a Content-Length, where there is one, says too much already."""
    return bool(length) and (not _LENGTH.fullmatch(length) or int(length) > most)


async def body_of(receive: Receive, most: int, within_s: float) -> bytes:
    """Return the whole body.

    Raises:
        TooLargeError: It is longer than `most` bytes.
        GoneError: It came to no end.
        TimeoutError: It took longer than `within_s`.
    """
    body = bytearray()
    async with asyncio.timeout(within_s):
        async for part in _parts(receive):
            body += part
            if len(body) > most:
                raise TooLargeError
    return bytes(body)


async def drop(receive: Receive) -> None:
    """Read on for a while what nobody wants: who is still writing would otherwise never see the answer."""
    left = MOST_DROPPED
    with contextlib.suppress(TimeoutError, GoneError):
        async with asyncio.timeout(DROPPED_WITHIN_S):
            async for part in _parts(receive):
                left -= len(part)
                if left < 0:
                    return


async def _parts(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        yield message.get("body", b"")
        if not message.get("more_body"):
            return
