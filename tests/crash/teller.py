"""Be a service whose runs end one after the other, and which tells two endpoints of each; its clock runs fast.

It may be killed at any moment and started again: it goes on with the run that was not written. Ends by itself once
every run has ended and nothing is owed any more.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from kova_auto.app.house import House, build
from kova_auto.core.event import RunFinished
from kova_auto.core.job import Outcome
from kova_auto.core.owed import OPEN
from kova_auto.settings.load import load_settings
from kova_auto.store.owner import OwnedBy, acquire_owner
from tests.support import ALONE, a_job, a_request

TIMES = 3000
"""So much faster than the machine's does the clock run: a retry after two hours comes after two seconds."""
EPOCH = datetime(2026, 12, 1, tzinfo=UTC)
ENDPOINTS = ("ci", "team")
RINGS_S = 0.02
MANY = 10_000


class FastClock:
    """Tell a time that goes on, whoever asks: it is counted from the machine's own, so that no kill sets it back."""

    def __init__(self, begun_at: datetime) -> None:
        self._begun_at = begun_at

    def now(self) -> datetime:
        return EPOCH + (self._wall() - self._begun_at) * TIMES

    def steady_s(self) -> float:
        return (self._wall() - self._begun_at).total_seconds() * TIMES

    def _wall(self) -> datetime:
        return datetime.now(UTC)  # noqa: TID251  # This is a clock.


async def runs_end(house: House, count: int) -> None:
    """End so many runs, those left out that have ended."""
    job = a_job("nightly", notify=tuple({"endpoint": name} for name in ENDPOINTS))
    for number in range(count):
        state, _ = await house.store.journal.open(a_request(f"nightly@{number}", job=job, at=house.clock.now()))
        if state.finished is None:
            ended = RunFinished(at=house.clock.now(), outcome=Outcome.DONE, answer=f"Answer {number}.")
            await house.store.journal.append(state, ended)
            house.bells.told(state.run_id)


async def tell(base: Path, begun_at: datetime, count: int) -> None:
    """Serve deliveries until all is told."""
    environ = {"HOME": str(base), "PATH": "/usr/bin:/bin", **ALONE, **json.loads((base / "environ.json").read_text())}
    settings = load_settings(base / "kova-auto.toml", environ)
    owner = acquire_owner(settings.data_dir, kind="teller")
    assert not isinstance(owner, OwnedBy)
    house = await build(settings, environ, clock=FastClock(begun_at))
    bell, stop = asyncio.Event(), asyncio.Event()
    courier = asyncio.create_task(house.courier.serve(bell, stop))
    ending = asyncio.create_task(runs_end(house, count))
    while not ending.done() or await owes(house):
        bell.set()
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(courier), RINGS_S)
    await ending
    stop.set()
    bell.set()
    await courier
    await house.close()


async def owes(house: House) -> bool:
    """Say whether anything is owed to anybody."""
    for status in OPEN:
        if await house.store.views.deliveries(status=status, limit=1):
            return True
    return False


if __name__ == "__main__":
    asyncio.run(tell(Path(sys.argv[1]), datetime.fromisoformat(sys.argv[2]), int(sys.argv[3])))
