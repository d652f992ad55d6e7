"""Open a run for every instant that falls due, and write down what became of all the others.

A pass asks what lies between the ledger's cursor and now. Waking up late, twice or never in between changes nothing
but the lateness.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, Protocol

from kova_auto.core.errors import KovaError
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.inbound.hook import HookRequest
from kova_auto.core.ledger import Occurrence
from kova_auto.core.pausing import PAUSED
from kova_auto.core.schedule.occurrences import Plan, plan
from kova_auto.core.schedule.triggers import AfterTrigger
from kova_auto.core.view import RunRow
from kova_auto.scheduling import resting
from kova_auto.scheduling.book import JobBook
from kova_auto.scheduling.cadences import Cadences
from kova_auto.scheduling.catching_up import CatchUp, Gate
from kova_auto.scheduling.claiming import Claim, gated, write
from kova_auto.scheduling.hooked import asked_for, let_go
from kova_auto.scheduling.jumps import Jumps
from kova_auto.scheduling.lateness import Lateness
from kova_auto.scheduling.means import Means
from kova_auto.scheduling.resting import Rests
from kova_auto.scheduling.roster import Roster, Scheduled
from kova_auto.scheduling.starting import Starting
from kova_auto.scheduling.triggering import OVERLOOKED, Occurred, after_ends, at_start, is_startup
from kova_auto.scheduling.triggers import Calendars
from kova_auto.scheduling.waiting import Waiting

LOG = logging.getLogger(__name__)
AGAIN: Final = timedelta(seconds=15)
AT_A_TIME: Final = 32
_DAY: Final = timedelta(days=1)


class Alarm(Protocol):
    """Ring at an instant."""

    rang: asyncio.Event

    def set(self, at: datetime | None, now: datetime) -> None:
        """Ring then, or after the longest sleep, whichever comes first."""


class Scheduler:
    """Keep the schedule of a directory of jobs."""

    def __init__(self, book: JobBook, means: Means, *, catch_up: CatchUp, calendars: Calendars | None = None) -> None:
        """Take what a pass needs.

        Args:
            book: The job files.
            means: All else.
            catch_up: How gently jobs catch up with what was missed.
            calendars: Of the settings.
        """
        self._unbegun = Starting(means)
        self._means = means = replace(means, opening=self._unbegun.opening)
        self._roster = Roster(book, means.ledger, calendars)
        self._waiting = Waiting(means, self._roster)
        self._lateness = Lateness(means, self._roster)
        self._cadences = Cadences(means, self._roster)
        self._gate = Gate(means.views, catch_up)
        self._jumps = Jumps()
        self._late: dict[JobName, datetime] = {}
        self._again: set[JobName] = set()
        self._starting: set[JobName] | None = None
        self._started: tuple[datetime, datetime | None] | None = None
        self._seen_until: datetime | None = None
        self._unsettled: set[JobName] = set()
        self._pending: Sequence[Occurrence] = ()
        self._rests: Rests | None = None

    async def serve(self, alarm: Alarm, stop: asyncio.Event) -> None:
        """Make a pass whenever the alarm rings, until `stop` is set and the alarm rung."""
        while not stop.is_set():
            next_at = await self.tick()
            alarm.set(next_at, self._means.clock.now())
            await alarm.rang.wait()
            alarm.rang.clear()

    async def tick(self) -> datetime | None:
        """Make one pass: open what is due; return the next instant at which there is anything to do."""
        try:
            return await self._pass(self._means.clock.now())
        except KovaError as exc:
            LOG.warning("the schedule waits: %s", exc)
        except Exception:  # As in engine/service.py: the service must not end for this.
            LOG.exception("the schedule waits: a failure that nobody foresaw")
        return self._means.clock.now() + AGAIN

    async def _pass(self, now: datetime) -> datetime | None:
        if self._started is None:
            second = now.replace(microsecond=0)
            self._started = second, await self._means.ledger.started(second)
        fresh = await self._roster.refresh(now)
        self._rests, self._pending = None, await self._means.ledger.pending()
        await self._after_rests()
        await self._on_the_clock(now)
        looks = [await self._catch_up()]
        await self._after_others(fresh, now)
        await self._at_start(fresh)
        looks += [self._means.clock.now() + AGAIN] if await self._on_request() else []
        if pending := await self._means.ledger.pending():
            looks.append(await self._waiting.look(pending, (await self._look_at_rests()).paused))
        looks += [await self._unbegun.look(), await self._lateness.look()]
        unsettled = self._again or self._starting or self._unsettled
        looks += [self._roster.next_at(), self._means.clock.now() + AGAIN if unsettled else None]
        return min((at for at in looks if at), default=None)

    async def _look_at_rests(self) -> Rests:
        """Return which schedules rest, as it was when this pass asked first."""
        if self._rests is None:
            self._rests = await Rests.look(self._means)
        return self._rests

    async def _after_rests(self) -> None:
        """Catch up with rests whose end asked for that."""
        for mark in [mark for mark in await self._means.ledger.marks() if mark.catch_up and not mark.paused]:
            if scheduled := self._roster.get(mark.job):
                with self._means.grumbles.about(mark.job, self._means.clock.now()):
                    await resting.catch_up(self._means, scheduled, mark, self._waits(mark.job))

    async def _on_the_clock(self, now: datetime) -> None:
        """Look after every job that is due, some at a time, so that they share commits; let others work in between."""
        again, self._again = self._again, set()
        missed = [scheduled for name in again if (scheduled := self._roster.get(name))]
        ahead = self._roster.ahead(now) if self._jumps.went_back(self._means.clock) else []
        due = iter(_once((*self._roster.take(now), *missed, *ahead)))
        while some := [*islice(due, AT_A_TIME)]:
            self._again |= {scheduled.name for scheduled in some}
            await asyncio.gather(*(self._look_after(scheduled) for scheduled in some))

    async def _look_after(self, scheduled: Scheduled) -> None:
        """Claim what is due of one job, unless something goes wrong: then it is looked at again."""
        with self._means.grumbles.about(scheduled.name, self._means.clock.now()):
            await self._keep_up(scheduled, gently=True)
            self._again.discard(scheduled.name)

    async def _keep_up(self, scheduled: Scheduled, *, gently: bool) -> Sequence[RunId]:
        """Claim what is due, unless it catches up and is to wait for when it may; return the runs that were opened."""
        now, name = self._means.clock.now(), scheduled.name
        cursor = await self._means.ledger.cursor(name, scheduled.key)
        if cursor is None:
            return ()
        scheduled.cursor = cursor
        found = plan(scheduled.timetable, cursor, now, scheduled.job.policy)
        if found.cursor == cursor and not found.due:
            self._late.pop(name, None)
            self._roster.put(scheduled)
            return ()
        if any(item.runs for item in found.due) and await self._is_to_rest(scheduled):
            found = found.skipped(PAUSED)
        passed = await gated(self._means, scheduled.job, found.due, self._waits(name))
        if gently and Plan(found.cursor, passed.due).catches_up(now, scheduled.job.policy):
            self._late[name] = found.due[0].nominal_at
            self._roster.put(scheduled, found.cursor)
            return ()
        self._late.pop(name, None)
        opened = await write(self._means, Claim(scheduled, cursor, found.cursor, passed))
        if opened is not None:
            scheduled.cursor = found.cursor
        self._roster.put(scheduled)
        await self._enough(scheduled, opened)
        return opened or ()

    async def _is_to_rest(self, scheduled: Scheduled) -> bool:
        if scheduled.name in (await self._look_at_rests()).paused:
            return True
        return await resting.is_to_rest(self._means, scheduled.job, await self._look_at_rests())

    async def _enough(self, scheduled: Scheduled, opened: Sequence[RunId] | None) -> None:
        """Let a schedule rest that has run as often as it may."""
        if opened and scheduled.job.policy.max_runs:
            self._rests = None
            if await resting.is_to_rest(self._means, scheduled.job, await self._look_at_rests()):
                self._rests = None

    async def _catch_up(self) -> datetime | None:
        """Let jobs catch up, the oldest instant first; return when that goes on, where some have to wait."""
        for name in sorted(self._late, key=lambda name: (self._late[name], name)):
            scheduled = self._roster.get(name)
            if scheduled is None:
                del self._late[name]
                continue
            if opens_at := await self._gate.opens_at(self._means.clock.now()):
                return opens_at
            now = self._means.clock.now()
            opened: Sequence[RunId] = ()
            with self._means.grumbles.about(name, now):
                opened = await self._keep_up(scheduled, gently=False)
            if opened:
                self._gate.passed(opened, now)
        return self._means.clock.now() + AGAIN if self._late else None

    async def _after_others(self, fresh: Iterable[Scheduled], now: datetime) -> None:
        """Open the runs of jobs whose parents have ended, and let schedules rest whose runs fail."""
        ended = await self._means.views.ended(min(self._seen_until or now - _DAY, now) - OVERLOOKED)
        self._lateness.heed(ended)
        await self._cadences.look(ended)
        await self._wear_out(ended)
        names = {row.job for row in ended}
        self._unsettled |= {scheduled.name for scheduled in fresh}
        self._unsettled &= {scheduled.name for scheduled, _ in self._roster.children}
        for scheduled, trigger in self._roster.children:
            if scheduled.name in self._unsettled or any(parent.job in names for parent in trigger.parents):
                self._unsettled.add(scheduled.name)
                if await self._occur(scheduled, trigger):
                    self._unsettled.discard(scheduled.name)
        self._seen_until = now

    async def _wear_out(self, ended: Sequence[RunRow]) -> None:
        rests = await self._look_at_rests() if ended else None
        for name in {row.job for row in ended}:
            scheduled = self._roster.get(name)
            if scheduled and rests and name not in rests.paused:
                with self._means.grumbles.about(name, self._means.clock.now()):
                    if await resting.is_to_rest(self._means, scheduled.job, rests):
                        self._rests = None

    async def _at_start(self, fresh: Iterable[Scheduled]) -> None:
        """Open the runs of jobs that run when the service starts: those that were there then."""
        if self._starting is None:
            self._starting = {scheduled.name for scheduled in fresh if is_startup(scheduled)}
        for name in sorted(self._starting):
            scheduled = self._roster.get(name)
            if scheduled is None or await self._occur(scheduled, None):
                self._starting.discard(name)

    async def _on_request(self) -> bool:
        """Open the runs that requests from outside ask for, one after the other; say whether some are left."""
        hooks = self._means.hooks
        requests = await hooks.waiting() if hooks else ()
        settled: list[HookRequest] = []
        for request in requests:
            with self._means.grumbles.about(request.job, self._means.clock.now()):
                settled += [request] if await self._answer(request) else []
        if hooks:
            await hooks.settle(settled)
        return len(settled) < len(requests)

    async def _answer(self, request: HookRequest) -> bool:
        """Claim what a request asks for; say whether that is done."""
        if self._roster.heeds_no_requests(request.job):
            await let_go(self._means, request)
            return True
        scheduled = self._roster.get(request.job)
        cursor = await self._means.ledger.cursor(scheduled.name, scheduled.key) if scheduled else None
        if scheduled is None or cursor is None:
            return False
        self._pending = await self._means.ledger.pending()  # The request before this one may wait now.
        return await self._claim(scheduled, cursor, asked_for(scheduled, request, cursor, self._means.clock.now()))

    async def _occur(self, scheduled: Scheduled, trigger: AfterTrigger | None) -> bool:
        """Claim what no clock implied; say whether there is nothing left to be claimed."""
        with self._means.grumbles.about(scheduled.name, self._means.clock.now()):
            cursor = await self._means.ledger.cursor(scheduled.name, scheduled.key)
            if cursor is None or self._started is None:
                return True
            found = (
                await after_ends(self._means, scheduled, trigger, cursor)
                if trigger
                else at_start(scheduled, cursor, *self._started)
            )
            return not found.due or await self._claim(scheduled, cursor, found)
        return False

    async def _claim(self, scheduled: Scheduled, cursor: datetime, found: Occurred) -> bool:
        due = Plan(found.cursor, found.due)
        if any(item.runs for item in due.due) and await self._is_to_rest(scheduled):
            due = due.skipped(PAUSED)
        passed = await gated(self._means, scheduled.job, due.due, self._waits(scheduled.name))
        opened = await write(self._means, Claim(scheduled, cursor, found.cursor, passed, found.given))
        await self._enough(scheduled, opened)
        return opened is not None

    def _waits(self, name: JobName) -> list[Occurrence]:
        return [row for row in self._pending if row.job == name]


def _once(found: Iterable[Scheduled]) -> list[Scheduled]:
    return list({scheduled.name: scheduled for scheduled in found}.values())
