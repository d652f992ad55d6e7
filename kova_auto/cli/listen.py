"""Start a receiver on loopback for one run, and show what it received."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Final

from kova_auto.cli.ink import Ink
from kova_auto.cli.output import DIM, GREEN, RED
from kova_auto.core.delivery.signature import SigningSecret, spell_secret
from kova_auto.core.delivery.text import clean, one_line

if TYPE_CHECKING:
    from kova_auto.app.control import Listener
    from kova_auto.core.ports import Clock
    from kova_auto.delivery.receiver import Received, Receiver

_HEADERS: Final = ("content-type", "webhook-id", "webhook-timestamp", "webhook-signature")
_LONGEST: Final = 400
_LINES: Final = 80


@contextlib.asynccontextmanager
async def listening(key: str, secret: bytes, clock: Clock) -> AsyncIterator[tuple[Receiver, Listener]]:
    """Give a receiver and what a run must know of it, for as long as the block lasts.

    Args:
        key: Tells this request from every other.
        secret: 32 fresh random bytes.
        clock: For the age of signatures.
    """
    from kova_auto.app.control import Listener
    from kova_auto.delivery.receiver import Receiver

    async with Receiver((SigningSecret(secret),), clock.now) as receiver:
        yield receiver, Listener(name=f"listen-{key}", url=receiver.url, secret=spell_secret(secret))


def received_lines(received: Received, ink: Ink) -> Iterator[str]:
    """Yield what a receiver took: its headers, whether the signature is good, and the body."""
    yield ink(f"POST {one_line(received.path, _LONGEST)}", bold=True)
    for name in _HEADERS:
        yield f"  {name}: {one_line(received.headers.get(name, '(missing)'), _LONGEST)}"
    if received.verified:
        yield f"  {ink('verified', GREEN)}: the signature fits this id, this time and this body"
    else:
        yield f"  {ink('refused', RED)}: {received.problem}"
    yield from _body(received.body, ink)


def _body(body: bytes, ink: Ink) -> Iterator[str]:
    try:
        text = json.dumps(json.loads(body), indent=2, ensure_ascii=False)
    except ValueError:
        text = body.decode("utf-8", "replace")
    lines = clean(text).splitlines()
    for line in lines[:_LINES]:
        more = len(line) - _LONGEST
        yield line if more <= 0 else f"{line[:_LONGEST]}{ink(f'… (+{more} characters)', DIM)}"
    if len(lines) > _LINES:
        yield ink(f"… (+{len(lines) - _LINES} lines)", DIM)
