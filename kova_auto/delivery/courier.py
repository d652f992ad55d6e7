"""Tell endpoints what they are owed: take up each duty, make one attempt, record what came of it.

At least once: a duty is announced before it is done, so after a crash it is done again under the same id. Endpoints
are independent of each other; to one endpoint, one thing at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, NextState, next_state
from kova_auto.core.delivery.payload import render
from kova_auto.core.delivery.sample import sample_notice
from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError, JournalError
from kova_auto.core.event import DeliveryFinished, DeliveryStarted
from kova_auto.core.ids import EndpointName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import Exchange
from kova_auto.core.owed import OPEN, Cause, DeliveryStatus
from kova_auto.core.ports import Clock, Views
from kova_auto.core.view import DeliveryRow
from kova_auto.delivery.parcel import Books, Duty, Packing, Targets
from kova_auto.delivery.sender import send

LOG = logging.getLogger(__name__)
LEASE = timedelta(seconds=120)
LONGEST_NAP = timedelta(seconds=30)
SHORTEST_NAP = timedelta(milliseconds=50)
UNTIL_MENDED = timedelta(minutes=1)
UNTIL_LOOKED_AT = timedelta(hours=1)
LONGEST_DETAIL = 500


@dataclass(slots=True)
class Courier:
    """Do the duties of one database.

    Attributes:
        books: Have the facts about duties.
        targets: Returns an endpoint with its secrets; raises `UnknownEndpointError` where there is none, and another
            ConfigError where a secret of it cannot be had.
        redact: Takes configured secrets out of what is sent.
        told: Called after each fact, so that who follows the run sees it.
        asked: Called in its place where the run itself may go on now: a request for an approval came to nothing.
        lease: For one attempt; longer than any endpoint's time limit.
    """

    books: Books
    views: Views
    clock: Clock
    exchange: Exchange
    targets: Targets
    redact: Callable[[str], str]
    told: Callable[[RunId], None]
    asked: Callable[[RunId], None]
    worker: str
    lease: timedelta = LEASE
    _paused: dict[str, datetime] = field(default_factory=dict)
    _queues: dict[str, asyncio.Task[int]] = field(default_factory=dict)

    async def serve(self, bell: asyncio.Event, stop: asyncio.Event) -> None:
        """Do what is due, whenever the bell rings or an instant comes, until `stop` is set (and the bell rung).

        Attempts that are under way then are still made.
        """
        try:
            while not stop.is_set():
                nap = await self._pass(bell, stop)
                try:
                    async with asyncio.timeout(nap.total_seconds()):
                        await bell.wait()
                except TimeoutError:
                    continue
                bell.clear()
        finally:
            await asyncio.gather(*self._queues.values())

    async def deliver_due(self, *, only: RunId | None = None) -> int:
        """Make one attempt at each duty that is due now, or at those of one run; return how many were made."""
        queues = await self._due(only)
        counts = await asyncio.gather(*(self._in_turn(rows, asyncio.Event()) for rows in queues.values()))
        return sum(counts)

    def resume(self, name: EndpointName) -> None:
        """Pause an endpoint no longer: a person has looked at it, or it has taken something."""
        self._paused.pop(name, None)

    async def test(self, name: EndpointName, outcome: Outcome | None = None) -> AttemptResult:
        """Send an endpoint a test message, outside every journal.

        Args:
            name: Of the endpoint.
            outcome: Send the report of a run that ended so, marked as a test; None for a message of its own kind.

        Raises:
            ConfigError: There is no such endpoint, or its secret cannot be had.
        """
        target, now = self.targets(name), self.clock.now()
        delivery_id = f"msg_test_{now:%Y%m%dT%H%M%S%f}"
        message = render(target.format, sample_notice(name, outcome, now), Wish(delivery_id, options=target.options))
        result = await send(self.exchange, target, message, delivery_id=delivery_id, now=now)
        if result.outcome is AttemptOutcome.DELIVERED:
            self.resume(name)
        return result

    async def _pass(self, bell: asyncio.Event, stop: asyncio.Event) -> timedelta:
        """Begin with what is due; return how long nothing can change by itself."""
        try:
            for endpoint, rows in (await self._due()).items():
                self._begin(endpoint, rows, bell, stop)
            now = self.clock.now()
            wake_at = await self.views.next_wake(now)
        except JournalError as exc:
            LOG.warning("deliveries wait: %s", exc)
            return LONGEST_NAP
        waits = [until - now for until in (*self._paused.values(), wake_at) if until]
        return min(max(min(waits, default=LONGEST_NAP), SHORTEST_NAP), LONGEST_NAP)

    async def _due(self, only: RunId | None = None) -> Mapping[str, Sequence[DeliveryRow]]:
        """Return what is due for each endpoint that is neither paused nor served now, oldest first."""
        now = self.clock.now()
        self._paused = {name: until for name, until in self._paused.items() if until > now}
        rows = await self.views.due_deliveries(now, run_id=only, without={*self._paused, *self._queues})
        queues: dict[str, list[DeliveryRow]] = defaultdict(list)
        for row in rows:
            queues[row.endpoint].append(row)
        return queues

    def _begin(self, endpoint: str, rows: Sequence[DeliveryRow], bell: asyncio.Event, stop: asyncio.Event) -> None:
        """Serve an endpoint beside all others; the bell rings when more may be done for it."""
        queue = self._queues[endpoint] = asyncio.create_task(self._in_turn(rows, stop))

        def ended(queue: asyncio.Task[int]) -> None:
            del self._queues[endpoint]
            if not queue.cancelled() and queue.result():
                bell.set()

        queue.add_done_callback(ended)

    async def _in_turn(self, rows: Sequence[DeliveryRow], stop: asyncio.Event) -> int:
        """Do duties one after the other; return how many attempts were made. What breaks one is nothing to the others.

        The lease of one that broke is kept, so that it is not tried again before that has run out.
        """
        made = 0
        for row in rows:
            if stop.is_set() or row.endpoint in self._paused:
                break
            try:
                now = self.clock.now()
                if await self.views.lease_delivery(row.delivery_id, owner=self.worker, now=now, lease=self.lease):
                    made += await self._attempt(row)
                    await self.views.release_delivery(row.delivery_id, owner=self.worker)
            except JournalError as exc:
                LOG.warning("delivery %s to %s waits: %s", row.delivery_id, row.endpoint, exc)
            except Exception:  # One duty must not end the loop for all others, as in engine/service.py.
                LOG.exception("delivery %s to %s: a failure that nobody foresaw", row.delivery_id, row.endpoint)
        return made

    async def _attempt(self, row: DeliveryRow) -> bool:
        """Make one attempt, or settle what needs none; say whether something was sent."""
        duty, now = await self.books.duty(row), self.clock.now()
        if duty.owed.status not in OPEN:
            return False
        if duty.owed.in_flight:
            lost = AttemptResult(AttemptOutcome.AMBIGUOUS, "the attempt was cut off; the receiver may have it")
            await self._record(duty, lost)
            return False
        if duty.owed.expires_at and now >= duty.owed.expires_at:
            await self._record(duty, AttemptResult(AttemptOutcome.EXPIRED, "its time was over before it could be sent"))
            return False
        try:
            parcel = await Packing(self.targets, self.redact).pack(duty)
        except ConfigError as exc:
            await self._hold(duty, self.redact(str(exc)))
            return False
        if isinstance(parcel, AttemptResult) and parcel.outcome is AttemptOutcome.EXPIRED:
            await self._record(duty, parcel)
            return False
        duty = await self._announced(duty)
        if not isinstance(parcel, AttemptResult):
            target, message = parcel
            parcel = await send(self.exchange, target, message, delivery_id=duty.owed.id, now=self.clock.now())
        await self._record(duty, parcel)
        return True

    async def _hold(self, duty: Duty, why: str) -> None:
        """Keep what cannot be sent before a person has mended the settings: it dies of that never. Said once."""
        until = self.clock.now() + UNTIL_MENDED
        self._paused[duty.owed.endpoint] = until
        detail = one_line(why, LONGEST_DETAIL)
        if duty.owed.detail != detail:
            result = AttemptResult(AttemptOutcome.NOT_SENT, detail)
            await self._finish(await self._announced(duty), result, NextState(DeliveryStatus.WAITING, detail, until))

    async def _record(self, duty: Duty, result: AttemptResult) -> None:
        """Write down what came of an attempt, and what it means for the endpoint."""
        state = next_state(duty.owed.id, duty.past, result, duty.terms(self.targets), now=self.clock.now())
        endpoint = duty.owed.endpoint
        if state.disable:
            LOG.error(
                "endpoint %s takes nothing any more; once it does: kova-auto endpoints test %s", endpoint, endpoint
            )
            self._paused[endpoint] = self.clock.now() + UNTIL_LOOKED_AT
        elif state.pause_until:
            self._paused[endpoint] = state.pause_until
        await self._finish(duty, result, state)

    async def _announced(self, duty: Duty) -> Duty:
        attempt = duty.owed.attempts + 1
        started = DeliveryStarted(at=self.clock.now(), delivery_id=duty.owed.id, attempt=attempt)
        duty = await self.books.write(duty, started)
        self.told(duty.state.run_id)
        return duty

    async def _finish(self, duty: Duty, result: AttemptResult, state: NextState) -> None:
        detail, level = self.redact(state.detail), logging.WARNING
        if state.status is DeliveryStatus.DELIVERED:
            level = logging.INFO
        LOG.log(level, "delivery to %s: %s: %s", duty.owed.endpoint, state.status, detail)
        finished = DeliveryFinished(
            at=self.clock.now(),
            delivery_id=duty.owed.id,
            attempt=duty.owed.attempts,
            result=result.outcome,
            status=state.status,
            http_status=result.status,
            detail=detail,
            next_at=state.next_at,
        )
        await self.books.write(duty, finished)
        in_vain = duty.owed.cause is Cause.APPROVAL and state.status is not DeliveryStatus.DELIVERED
        (self.asked if in_vain else self.told)(duty.state.run_id)
