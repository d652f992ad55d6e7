"""End tasks: cancel them, and see them to their end whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any


async def ended(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel those tasks that are not done, and wait for their end, also where this is cancelled meanwhile.

    A generator that is at work cannot be closed, and what tidies up after a tool is not to be disturbed. What they came
    to is left to the caller.
    """
    left = {task for task in tasks if not task.done()}
    for task in left:
        task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while left:
        try:
            _, left = await asyncio.wait(left)
        except asyncio.CancelledError as exc:
            cancelled = exc
            left = {task for task in left if not task.done()}
    if cancelled:
        raise cancelled
