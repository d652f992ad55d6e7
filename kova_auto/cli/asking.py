"""Ask the service, or become it for the moment of one question."""

from __future__ import annotations

import asyncio
import getpass
import logging
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, TypeVar

from kova_auto.cli.logs import keep_secrets, log_warnings
from kova_auto.core.errors import JournalBusyError
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.control import Answers, Control
    from kova_auto.settings.model import Settings

T = TypeVar("T")

LOG = logging.getLogger(__name__)
_TRIES: Final = 3


def ask(settings: Settings, question: Callable[[Answers], Awaitable[T]], *, kind: str) -> T:
    """Return the answer to a question that changes nothing; one that a service's end cut off is asked again.

    Raises:
        KovaError: There is no answer.
    """
    log_warnings()
    for _ in range(_TRIES - 1):
        try:
            return asyncio.run(_answer(settings, question, kind))
        except JournalBusyError as exc:
            LOG.debug("asked again, because %s", exc)
    return asyncio.run(_answer(settings, question, kind))


async def _answer(settings: Settings, question: Callable[[Answers], Awaitable[T]], kind: str) -> T:
    from kova_auto.app.connect import reading

    async with reading(settings, environment(), kind=kind) as answers:
        return await question(answers)


def change(settings: Settings, question: Callable[[Control], Awaitable[T]], *, kind: str) -> T:
    """Return the answer to a question that needs a whole service, or changes something; it is asked once.

    Raises:
        KovaError: There is no answer.
    """
    log_warnings()
    return asyncio.run(_changed(settings, question, kind))


async def _changed(settings: Settings, question: Callable[[Control], Awaitable[T]], kind: str) -> T:
    from kova_auto.app.connect import connected

    async with connected(settings, environment(), kind=kind) as connection:
        keep_secrets(connection.house)
        return await question(connection.control)


def person() -> str:
    """Return the name under which whoever types this is on record."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return f"uid {os.getuid()}"
