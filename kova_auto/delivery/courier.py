"""Tell endpoints what they are owed: take up each duty, see to one attempt, and go on to the next.

At least once: a duty is announced before it is done, so after a crash it is done again under the same id. Endpoints
are independent of each other; to one endpoint, one thing at a time, and first what somebody waits for.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from kova_auto.core.delivery.format import Wish
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.sample import sample_notice
from kova_auto.core.errors import JournalError
from kova_auto.core.ids import DeliveryId, EndpointName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.owed import Cause
from kova_auto.core.ports import Views
from kova_auto.core.view import DeliveryRow
from kova_auto.delivery.attempt import Attempts
from kova_auto.delivery.sender import send

LOG = logging.getLogger(__name__)
LEASE = timedelta(seconds=120)
LONGEST_NAP = timedelta(seconds=30)
SHORTEST_NAP = timedelta(milliseconds=50)
MOST_AT_ONCE = 10
_LOOK, _LOOK_FAR = MOST_AT_ONCE + 2, 200
_TRIES = 3


@dataclass(slots=True)
class Courier:
    """Do the duties of one database.

    Attributes:
        lease: For one attempt; longer than any endpoint's time limit.
    """

    attempts: Attempts
    views: Views
    worker: str
    lease: timedelta = LEASE
    _queues: dict[EndpointName, asyncio.Task[int]] = field(default_factory=dict)

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
        """Make the attempts that are due now, or those of one run; return how many were made."""
        await self.attempts.gate.look()
        due = await self.views.due_endpoints(self.attempts.clock.now(), run_id=only)
        names = [one.endpoint for one in due if one.endpoint not in self._queues]
        counts = await asyncio.gather(*(self._in_turn(name, asyncio.Event(), only) for name in names))
        return sum(counts)

    async def resume(self, name: EndpointName) -> None:
        """Let an endpoint be tried that is paused or disabled: a person asks for it.

        Raises:
            JournalError: It cannot be written down.
        """
        await self.attempts.gate.ask(name, self.attempts.clock.now())

    async def test(self, name: EndpointName, outcome: Outcome | None = None) -> AttemptResult:
        """Send an endpoint a test message, outside every journal; one that is taken enables it.

        Args:
            name: Of the endpoint.
            outcome: Send the report of a run that ended so, marked as a test; None for a message of its own kind.

        Raises:
            ConfigError: There is no such endpoint, or its secret cannot be had.
            JournalError: What that means for the endpoint cannot be written down.
        """
        made = self.attempts
        target, now = made.targets(name), made.clock.now()
        delivery_id = f"msg_test_{now:%Y%m%dT%H%M%S%f}"
        notice, wish = sample_notice(name, outcome, now), Wish(delivery_id, options=target.options)
        if declined := FORMATS[target.format].declines(notice, wish):
            return declined
        message = render(target.format, notice, wish)
        result = await send(made.exchange, target, message, delivery_id=delivery_id, now=now, notifier=made.notifier)
        if result.outcome is AttemptOutcome.DELIVERED:
            await made.gate.taken(name, made.clock.now())
        return result

    async def _pass(self, bell: asyncio.Event, stop: asyncio.Event) -> timedelta:
        """Begin with what is due; return how long nothing can change by itself."""
        now, gate = self.attempts.clock.now(), self.attempts.gate
        try:
            await gate.look()
            for one in await self.views.due_endpoints(now):
                if one.endpoint not in self._queues:
                    self._begin(one.endpoint, bell, stop)
            wake_at = await self.views.next_wake(now)
        except JournalError as exc:
            LOG.warning("deliveries wait: %s", exc)
            return LONGEST_NAP
        waits = [until - now for until in (*gate.wakes(now), wake_at) if until]
        return min(max(min(waits, default=LONGEST_NAP), SHORTEST_NAP), LONGEST_NAP)

    def _begin(self, name: EndpointName, bell: asyncio.Event, stop: asyncio.Event) -> None:
        """Serve an endpoint beside all others; the bell rings when more may be done for it."""
        queue = self._queues[name] = asyncio.create_task(self._in_turn(name, stop))

        def ended(queue: asyncio.Task[int]) -> None:
            del self._queues[name]
            if not queue.cancelled() and queue.result():
                bell.set()

        queue.add_done_callback(ended)

    async def _in_turn(self, name: EndpointName, stop: asyncio.Event, only: RunId | None = None) -> int:
        """Do an endpoint's duties one after the other; return how many attempts were made.

        The lease of one that broke is kept, so that it is not tried again before that has run out.
        """
        made, taken = 0, Counter[DeliveryId]()
        while not stop.is_set():
            try:
                if not (rows := await self._next(name, only, taken)):
                    break
                taken.update(row.delivery_id for row in rows)
                made += await self._do(rows)
            except JournalError as exc:
                LOG.warning("deliveries to %s wait: %s", name, exc)
                break
            except Exception:  # One duty must not end the loop for all others, as in engine/service.py.
                LOG.exception("a delivery to %s: a failure that nobody foresaw", name)
        return made

    async def _next(self, name: EndpointName, only: RunId | None, taken: Counter[DeliveryId]) -> Sequence[DeliveryRow]:
        """Return the duty that is next; several where there are so many that one message is to tell them all."""
        now, gate = self.attempts.clock.now(), self.attempts.gate
        found = await self.views.due_deliveries(now, run_id=only, endpoint=name, limit=_LOOK)
        rows = [row for row in found if taken[row.delivery_id] < _TRIES]
        results = [row for row in rows if row.cause == Cause.OUTCOME]
        if len(results) <= MOST_AT_ONCE:
            gate.relieve(name, now)
        first = next((row for row in rows if gate.passes(row, now)), None)
        if first is None or first not in results or not gate.is_crowded(name):
            return [first] if first else []
        found = await self.views.due_deliveries(now, run_id=only, endpoint=name, limit=_LOOK_FAR)
        return [row for row in found if row.cause == Cause.OUTCOME and not row.in_flight]

    async def _do(self, rows: Sequence[DeliveryRow]) -> int:
        """Make one attempt for one duty, or for several together; return whether something was sent."""
        views, now = self.views, self.attempts.clock.now()
        mine = [
            row
            for row in rows
            if await views.lease_delivery(row.delivery_id, owner=self.worker, now=now, lease=self.lease)
        ]
        if not mine:
            return 0
        made = await (self.attempts.make(mine[0]) if len(mine) == 1 else self.attempts.together(mine))
        for row in mine:
            await views.release_delivery(row.delivery_id, owner=self.worker)
        return made
