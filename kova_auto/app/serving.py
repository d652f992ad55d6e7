"""Run the three loops of a service until it is asked to stop, or one run of a command's own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable
from datetime import timedelta

from kova_auto.app.agents import warn_of
from kova_auto.app.driving import AGAIN_S, SHORTEST_NAP_S
from kova_auto.app.house import House
from kova_auto.app.ingress import ingress
from kova_auto.core.delivery.document import count
from kova_auto.core.errors import JournalBusyError, JournalError, UnknownRunError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import RunId, root_of
from kova_auto.core.job import Job
from kova_auto.core.owed import OPEN, PUT_OFF
from kova_auto.core.state import Execution, RunState
from kova_auto.core.view import RunRow
from kova_auto.engine.backends.embedded import Embedded
from kova_auto.engine.bells import Ear
from kova_auto.engine.dispatch import Advance, Advanced
from kova_auto.scheduling.alarm import AlarmClock, relay
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.catching_up import CatchUp
from kova_auto.scheduling.filling import Filler
from kova_auto.scheduling.means import Means, Occasion, Opening
from kova_auto.scheduling.scheduler import Scheduler
from kova_auto.scheduling.watch import watch

LOG = logging.getLogger(__name__)
DRAIN = timedelta(seconds=30)
CUT = timedelta(seconds=10)


async def serve(house: House, stop: asyncio.Event, *, drain: timedelta = DRAIN) -> None:
    """Keep schedule, runs and deliveries going until `stop` is set.

    Steps under way may end for as long as `drain` lasts; what still runs then is cut off, and goes on from exactly
    that step at the next start.
    """
    await _sweep(house)
    warn_of(house.agents.plugins)
    book, alarm = _book(house), AlarmClock(longest=house.settings.max_sleep)
    house.books.append(book)
    scheduler = _scheduler(house, book)
    listen = ingress(house, book, alarm.rang.set)
    engine = Embedded(house.store.views, house.clock, house.bells)
    alarm.start()
    work = Ear.WORK
    with house.bells.hung(work) as bell, house.bells.hung(work) as ended, house.bells.hung(work) as gap:
        loops = [
            asyncio.create_task(scheduler.serve(alarm, stop), name="schedule"),
            asyncio.create_task(relay(ended, alarm.rang, stop), name="ends of runs"),
            asyncio.create_task(watch(book.has_changed, alarm.rang, stop), name="job files"),
            asyncio.create_task(
                engine.serve(_advancing(house), slots=house.settings.max_concurrent_runs, stop=stop), name="runs"
            ),
            asyncio.create_task(house.courier.serve(bell, stop), name="deliveries"),
            asyncio.create_task(_filler(house).serve(gap, stop), name="backfills"),
        ]
        if listen:
            loops.append(asyncio.create_task(listen(stop), name="ingress"))
        try:
            await _until_stopped(loops, stop)
        finally:
            stop.set()
            house.engine.stopping.gently.set()
            alarm.rang.set()
            house.bells.work()
            await _drain(house, loops, drain)
            alarm.stop()
    for loop in loops:  # What broke one has ended the service, and whoever supervises it must see.
        if not loop.cancelled():
            loop.result()


async def _sweep(house: House) -> None:
    """Remove the workspaces that runs have left behind, before any run goes on."""

    async def known(run_id: RunId) -> RunState | None:
        try:
            return await house.store.journal.load(run_id)
        except UnknownRunError:
            return None

    await house.opening.copies.sweep(known)


def _book(house: House) -> JobBook:
    settings = house.settings
    return JobBook(
        settings.jobs_dir,
        timezone=settings.timezone,
        endpoints=tuple(settings.endpoints),
        calendars=settings.calendar_dates,
        clock=house.clock,
        vet=house.vault.vet,
    )


def _scheduler(house: House, book: JobBook) -> Scheduler:
    settings, store = house.settings, house.store
    gently = CatchUp(at_once=settings.catch_up_per_start, spacing=settings.catch_up_spacing)
    return Scheduler(
        book,
        Means(
            store.ledger,
            store.views,
            store.journal,
            house.clock,
            _opening(house),
            house.bells.work,
            house.bells.asked,
            hooks=store.hooks,
        ),
        catch_up=gently,
        calendars=settings.calendar_dates,
    )


def _opening(house: House) -> Opening:
    def opening(job: Job, occasion: Occasion) -> Awaitable[RunRequested]:
        return house.opening.of_occurrence(job, occasion.nominal_at, occasion.due_at, dict(occasion.given))

    return opening


def _filler(house: House) -> Filler:
    store = house.store
    return Filler(store.backfills, store.journal, store.views, house.opening.of_backfill, house.bells.work)


def _advancing(house: House) -> Advance:
    """Return what advances a run and says in the log how far it came."""

    async def advance(run_id: RunId) -> Advanced:
        advanced = await house.engine.advance(run_id)
        with contextlib.suppress(JournalError):  # It is said where it matters, and the engine hears of no error.
            if row := await house.store.views.run(run_id):
                family = await house.store.views.descendants(root_of(run_id)) if row.resting else ()
                children = sum(one.parent == run_id and not one.finished_at for one in family)
                LOG.info("run %s: %s", run_id, house.vault.redact(_how_far(row, children)))
        return advanced

    return advance


def _how_far(row: RunRow, children: int) -> str:
    """Say in the log where a run is that nobody advances just now; `children` have not finished."""
    if row.outcome:
        return f"{row.outcome}: {row.reason}" if row.reason else row.outcome
    if row.execution is Execution.SUSPENDED:
        return "waits for a person"
    if row.waits_for:
        return f"waits for run {row.waits_for}, which has its workspace"
    if children:
        return f"waits for {count(children, 'subagent')}"
    return f"goes on at {row.wake_at:%Y-%m-%d %H:%M:%S} UTC" if row.wake_at else "goes on"


async def _until_stopped(loops: list[asyncio.Task[None]], stop: asyncio.Event) -> None:
    """Wait for the stop, or for a loop that ends by itself."""
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({stopped, *loops}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopped.cancel()


async def _drain(house: House, loops: list[asyncio.Task[None]], drain: timedelta) -> None:
    """Let the loops end their steps, unless somebody wants the end at once; cut off what is late."""
    if house.engine.running:
        runs = count(house.engine.running, "run")
        LOG.info("steps under way may end, for at most %d s: %s", drain.total_seconds(), runs)
    stopping = house.engine.stopping
    ending, cut = asyncio.create_task(_ended(loops)), asyncio.create_task(stopping.now.wait())
    either: set[asyncio.Task[object]] = {ending, cut}
    await asyncio.wait(either, timeout=drain.total_seconds(), return_when=asyncio.FIRST_COMPLETED)
    cut.cancel()
    if not ending.done():
        LOG.warning("cut off; it goes on from exactly there at the next start")
        stopping.now.set()
        await asyncio.wait({ending}, timeout=CUT.total_seconds())
    ending.cancel()
    await asyncio.gather(ending, return_exceptions=True)


async def _ended(loops: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*loops, return_exceptions=True)


async def deliver_one(house: House, run_id: RunId, *, patience: timedelta) -> None:
    """Make the attempts that a run's duties want, for as long as any is due within `patience`."""
    deadline = house.clock.now() + patience
    while True:
        try:
            await house.courier.deliver_due(only=run_id)
            rows = await house.store.views.deliveries(run_id=run_id)
            waits = [row.next_at or house.clock.now() for row in rows if row.status in OPEN and row.result != PUT_OFF]
        except JournalBusyError as exc:
            LOG.warning("deliveries of run %s wait: %s", run_id, exc)
            waits = [house.clock.now() + timedelta(seconds=AGAIN_S)]
        now = house.clock.now()
        if not waits or now >= deadline or min(waits) > deadline:
            return
        await asyncio.sleep(max((min(waits) - now).total_seconds(), SHORTEST_NAP_S))
