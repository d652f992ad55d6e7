"""Run one job in a process that may kill itself half-way; forked many times from one that has everything imported.

Reads one line of JSON for each victim from standard input and answers with the wait status on standard output.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import cast

from kova_auto.app.control import Listener, RunAsk
from kova_auto.app.driving import drive_one
from kova_auto.app.house import House, build
from kova_auto.app.serving import deliver_one, serve
from kova_auto.app.subagents import Children
from kova_auto.core.ids import JobName, RunId, requested_run_id
from kova_auto.core.owed import OPEN
from kova_auto.delivery.parcel import Books
from kova_auto.engine.service import Engine
from kova_auto.settings.load import load_settings
from kova_auto.store.owner import OwnedBy, acquire_owner
from kova_auto.tools.subagents import DispatchTool
from tests.crash.points import DyingExchange, DyingJournal, Points, WitnessedTool
from tests.support import ALONE, at

KEY = "crash"
LEASE = timedelta(seconds=1)  # On SQLite the next owner ends it anyway; elsewhere it has to run out.


async def live(order: dict[str, str], kill_at: int) -> None:
    """Open the run, if it is not there, and bring it to its end with everything it owes."""
    base = Path(order["base"])
    environ = {"HOME": str(base / "home"), "PATH": os.defpath, **ALONE}
    if order.get("database"):
        environ["DATABASE"] = order["database"]
    settings = load_settings(base / "settings" / "kova-auto.toml", environ)
    owner = acquire_owner(settings.data_dir, kind="victim") if settings.database == "sqlite" else None
    assert not isinstance(owner, OwnedBy)
    points = Points(kill_at, base / "points.log")
    house = _dying(await build(settings, environ), points, base / "witness.log")
    ask = RunAsk(
        job=order["job"],
        key=KEY,
        asked_at=at("06:00:00"),
        listener=Listener(name=f"listen-{KEY}", url=order["url"], secret=order["secret"]),
    )
    run_id = requested_run_id(JobName(Path(order["job"]).stem), ask.asked_at, KEY)
    await house.control.request(ask)
    if order.get("serves"):
        await _serve(house, run_id)
    else:
        await drive_one(house, run_id, asyncio.Event())
        await deliver_one(house, run_id, patience=timedelta(seconds=20))
    await house.close()


async def _serve(house: House, run_id: RunId) -> None:
    """Be a service until the run has ended and owes nothing any more."""
    stop = asyncio.Event()
    service = asyncio.create_task(serve(house, stop))
    async with asyncio.timeout(240):
        while not service.done():
            state = await house.store.journal.load(run_id)
            if state.finished and all(owed.status not in OPEN for owed in state.deliveries.values()):
                break
            await asyncio.sleep(0.05)
    stop.set()
    await service


def _dying(house: House, points: Points, witness: Path) -> House:
    """Put a point before and after everything that a crash could fall between."""
    journal = DyingJournal(house.store.journal, points)
    tools = house.tooling.toolbox._tools
    for name, tool in list(tools.items()):
        if isinstance(tool, DispatchTool):
            tool._nursery = replace(cast("Children", tool._nursery), journal=journal)
        tools[name] = WitnessedTool(tool, points, witness)
    made = house.courier.attempts
    books = Books(journal, house.store.alerts)
    house.courier.attempts = replace(made, books=books, exchange=DyingExchange(made.exchange, points))
    house.courier.lease = LEASE
    world = replace(house.engine._world, journal=journal)
    return replace(
        house,
        engine=Engine(world, house.bells, lease=LEASE),
        control=replace(house.control, journal=journal),
    )


def _fork(order: dict[str, str], kill_at: int) -> int:
    """Return how a victim ended, as `os.waitpid` tells it."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(live(order, kill_at))
            code = 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return status


def main() -> None:
    """Fork a victim for each line."""
    for line in sys.stdin:
        order = json.loads(line)
        print(_fork(order, order["kill_at"]), flush=True)


if __name__ == "__main__":
    main()
