"""Drive one run of a command's own, and what it dispatches."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from kova_auto.app.house import House
from kova_auto.core.errors import JournalBusyError
from kova_auto.core.family import waits_for_persons
from kova_auto.core.ids import DISPATCHED, RunId, root_of
from kova_auto.core.ports import Agenda, Views
from kova_auto.core.state import Execution
from kova_auto.core.view import RunRow
from kova_auto.engine.backends.embedded import Embedded
from kova_auto.engine.bells import Ear, heard
from kova_auto.engine.dispatch import Advanced

LOG = logging.getLogger(__name__)
LONGEST_NAP_S = 30.0
SHORTEST_NAP_S = 0.2
AGAIN_S = 1.0


async def drive_one(house: House, run_id: RunId, stop: asyncio.Event) -> Advanced:
    """Advance one run until it has finished, rests for a person, or `stop` is set; leave every other run alone.

    It rests too where another run has its workspace, and nobody but this process could bring that to its end. What it
    dispatches is advanced beside it; where all of that rests for a person, so does the run.
    """
    with house.bells.hung(Ear.WORK) as bell:
        async with _children_driven(house, run_id):
            while True:
                advanced = await house.engine.advance(run_id)
                if stop.is_set() or advanced is Advanced.DONE:
                    return advanced
                row = await _row(house, run_id) if advanced is Advanced.SUSPENDED else None
                if row is None:  # The bell that this very try has rung is no reason to try again.
                    await _wait(stop, AGAIN_S)
                    continue
                left = await _left(house, run_id)
                if await _rests(house, row, left):
                    return advanced
                wait_s = (row.wake_at - house.clock.now()).total_seconds() if row.wake_at and not left else AGAIN_S
                await heard(bell, min(max(wait_s, SHORTEST_NAP_S), LONGEST_NAP_S))


async def _rests(house: House, row: RunRow, left: Sequence[RunRow]) -> bool:
    """Say whether waiting would end by nothing that this process does: where a person is waited for, by its clock."""
    if row.waits_for:
        return house.settings.database == "sqlite"  # Nobody else works on this database.
    if not left:
        return row.execution is Execution.SUSPENDED
    if not all(one.resting for one in (row, *left)):
        return False
    with contextlib.suppress(JournalBusyError):
        family = [await house.store.journal.load(one.run_id) for one in (row, *left)]
        return waits_for_persons(family, house.clock.now())
    return False


@dataclass(frozen=True, slots=True)
class _OfOne:
    """Know the agenda of those alone that one run has dispatched."""

    house: House
    root: RunId

    async def agenda(self, now: datetime, limit: int = 1000) -> Agenda:
        """Return which of them can go on, and when the next will."""
        views = self.house.store.views
        rows = {row.run_id: row for row in await _unfinished(views, self.root)}
        if not rows:
            return Agenda((), None)
        ready = (await views.agenda(now, limit)).ready
        waking = [row.wake_at for row in rows.values() if row.wake_at and row.wake_at > now]
        if self.house.settings.database != "sqlite" and any(not row.resting for row in rows.values()):
            waking.append(now + timedelta(seconds=AGAIN_S))  # One may be a dead worker's for as long as its lease.
        return Agenda(tuple(run_id for run_id in ready if run_id in rows), min(waking, default=None))


@contextlib.asynccontextmanager
async def _children_driven(house: House, root: RunId) -> AsyncIterator[None]:
    """Advance what a run dispatches, for as long as the block lasts."""
    stop = asyncio.Event()
    children = Embedded(_OfOne(house, root), house.clock, house.bells)
    slots = house.settings.max_concurrent_runs
    driving = asyncio.create_task(children.serve(house.engine.advance, slots=slots, stop=stop))
    try:
        yield
    except BaseException:
        driving.cancel()
        raise
    finally:
        stop.set()
        await asyncio.gather(driving, return_exceptions=True)


async def _left(house: House, root: RunId) -> Sequence[RunRow]:
    """Return the runs that one has dispatched, itself or through others, and that have not finished."""
    with contextlib.suppress(JournalBusyError):
        return await _unfinished(house.store.views, root)
    return ()


async def _unfinished(views: Views, root: RunId) -> Sequence[RunRow]:
    rows = await views.descendants(root_of(root))
    return [row for row in rows if not row.finished_at and row.run_id.startswith(f"{root}{DISPATCHED}")]


async def _row(house: House, run_id: RunId) -> RunRow | None:
    try:
        return await house.store.views.run(run_id)
    except JournalBusyError as exc:
        LOG.warning("run %s waits: %s", run_id, exc)
        return None


async def _wait(stop: asyncio.Event, at_most_s: float) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(at_most_s):
            await stop.wait()
