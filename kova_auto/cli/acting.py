"""Do something to a run, then see what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from kova_auto.cli.account import Account
from kova_auto.cli.ending import see_through
from kova_auto.cli.logs import keep_secrets, log_warnings
from kova_auto.cli.presses import Presses
from kova_auto.cli.screen import screen
from kova_auto.cli.through import Through
from kova_auto.clock import SystemClock
from kova_auto.core.ids import RunId
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.connect import Connection
    from kova_auto.app.control import Control
    from kova_auto.settings.model import Settings

Deed = Callable[["Control", RunId], Awaitable[object]]


def act(settings: Settings, run: str, deed: Deed, *, kind: str, as_json: bool = False, is_followed: bool = True) -> int:
    """Return the exit code of a run to which something was done.

    Args:
        settings: Of the service.
        run: Names the run.
        deed: What is done to it.
        kind: What this process is, in one word.
        as_json: Show facts as JSON.
        is_followed: Stay until the run rests where a service goes on with it; without one this process always does.

    Raises:
        KovaError: It could not be done.
    """
    log_warnings()
    return asyncio.run(_act(settings, run, deed, kind=kind, as_json=as_json, is_followed=is_followed))


async def _act(settings: Settings, run: str, deed: Deed, *, kind: str, as_json: bool, is_followed: bool) -> int:
    from kova_auto.app.connect import connected

    async with connected(settings, environment(), kind=kind, drives=True) as connection:
        keep_secrets(connection.house)
        through = await through_of(connection, run, as_json=as_json)
        await through.catch_up()
        await deed(connection.control, through.run_id)
        if connection.house is None and not is_followed:
            through.account.screen.line(f"the service goes on with it: kova-auto runs tail {through.run_id} follows")
            return 0
        return await see_through(through)


async def through_of(connection: Connection, run: str, *, as_json: bool) -> Through:
    """Return what follows a run that somebody named.

    Raises:
        UnknownRunError: There is none of this name, or more than one.
    """
    row = await connection.control.find(run)
    account = Account(screen(apart=as_json), as_json=as_json)
    return Through(connection, row.run_id, account, Presses(), SystemClock())
