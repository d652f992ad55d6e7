"""Do something to a run, then see what comes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kova_auto.cli.account import Account
from kova_auto.cli.ending import see_through
from kova_auto.cli.logs import keep_secrets, log_warnings
from kova_auto.cli.presses import Presses
from kova_auto.cli.screen import screen
from kova_auto.cli.through import Through
from kova_auto.clock import SystemClock
from kova_auto.core.ids import RunId, root_of
from kova_auto.settings.environment import environment

if TYPE_CHECKING:
    from kova_auto.app.connect import Connection
    from kova_auto.app.control import Control
    from kova_auto.settings.model import Settings

Deed = Callable[["Control", RunId], Awaitable[object]]


def act(  # each is a way in which commands differ
    settings: Settings,
    run: str,
    deed: Deed,
    *,
    kind: str,
    as_json: bool = False,
    is_followed: bool = True,
    is_whole: bool = False,
) -> int:
    """Return the exit code of a run to which something was done.

    Args:
        settings: Of the service.
        run: Names the run.
        deed: What is done to it.
        kind: What this process is, in one word.
        as_json: Show facts as JSON.
        is_followed: Stay until the run rests where a service goes on with it; without one this process always does.
        is_whole: Of a subagent, the run is seen through that began its line: it waits for what is done here.

    Raises:
        KovaError: It could not be done.
    """
    log_warnings()
    seeing = _Seeing(kind, as_json=as_json, is_followed=is_followed, is_whole=is_whole)
    return asyncio.run(_act(settings, run, deed, seeing))


@dataclass(frozen=True, slots=True)
class _Seeing:
    """Hold how a run is seen through; see `act`."""

    kind: str
    as_json: bool
    is_followed: bool
    is_whole: bool


async def _act(settings: Settings, run: str, deed: Deed, seeing: _Seeing) -> int:
    from kova_auto.app.connect import connected

    async with connected(settings, environment(), kind=seeing.kind, drives=True) as connection:
        keep_secrets(connection.house)
        run_id = (await connection.control.find(run)).run_id
        through = through_of(connection, root_of(run_id) if seeing.is_whole else run_id, as_json=seeing.as_json)
        await through.catch_up()
        await deed(connection.control, run_id)
        if connection.house is None and not seeing.is_followed:
            through.account.screen.line(f"the service goes on with it: kova-auto runs tail {through.run_id} follows")
            return 0
        return await see_through(through)


def through_of(connection: Connection, run_id: RunId, *, as_json: bool) -> Through:
    """Return what follows a run."""
    account = Account(screen(apart=as_json), as_json=as_json)
    return Through(connection, run_id, account, Presses(), SystemClock())
