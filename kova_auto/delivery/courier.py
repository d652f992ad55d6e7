"""Tell endpoints what they are owed: take up each duty, make one attempt, record what came of it.

At least once: a duty is announced before it is done, so after a crash it is done again under the same id. Endpoints
are independent of each other; to one endpoint, one thing at a time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kova_auto.core.delivery.format import form_after
from kova_auto.core.delivery.notice import NOTICE, Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, NextState, Terms, next_state
from kova_auto.core.delivery.payload import FORMATS, render
from kova_auto.core.delivery.report import notice_of
from kova_auto.core.delivery.sample import sample_notice
from kova_auto.core.delivery.target import Target
from kova_auto.core.errors import ConfigError, IllegalEventError, JournalError
from kova_auto.core.event import DeliveryFinished, DeliveryRequeued, DeliveryStarted, Event
from kova_auto.core.ids import EndpointName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.net.http import Exchange
from kova_auto.core.owed import OPEN, Cause, DeliveryStatus, Owed
from kova_auto.core.ports import Clock, Journal, Views
from kova_auto.core.run import RunState, fold
from kova_auto.core.view import DeliveryRow
from kova_auto.delivery.sender import send

LOG = logging.getLogger(__name__)
LEASE = timedelta(seconds=120)
LONGEST_NAP = timedelta(seconds=30)

Targets = Callable[[EndpointName], Target]


@dataclass(slots=True)
class Courier:
    """Do the duties of one database.

    Attributes:
        targets: Returns an endpoint with its secrets; raises ConfigError where there is none, or no secret.
        redact: Takes configured secrets out of what is sent.
        told: Called after each fact, so that who follows the run sees it.
        lease: For one attempt; longer than any endpoint's time limit.
    """

    journal: Journal
    views: Views
    clock: Clock
    exchange: Exchange
    targets: Targets
    redact: Callable[[str], str]
    told: Callable[[RunId], None]
    worker: str
    lease: timedelta = LEASE
    _paused: dict[str, datetime] = field(default_factory=dict)

    async def serve(self, bell: asyncio.Event, stop: asyncio.Event) -> None:
        """Do what is due, whenever the bell rings or an instant comes, until `stop` is set (and the bell rung)."""
        while not stop.is_set():
            try:
                await self.deliver_due()
                nap = await self._nap()
            except JournalError as exc:
                LOG.warning("deliveries wait: %s", exc)
                nap = LONGEST_NAP
            try:
                async with asyncio.timeout(nap.total_seconds()):
                    await bell.wait()
            except TimeoutError:
                continue
            bell.clear()

    async def deliver_due(self, *, only: RunId | None = None) -> int:
        """Make one attempt at each duty that is due now, or at those of one run; return how many were made."""
        now, queues = self.clock.now(), defaultdict[str, list[DeliveryRow]](list)
        for row in await self.views.due_deliveries(now):
            if self._paused.get(row.endpoint, now) <= now and only in {None, row.run_id}:
                queues[row.endpoint].append(row)
        counts = await asyncio.gather(*(self._in_turn(rows) for rows in queues.values()))
        return sum(counts)

    async def _nap(self) -> timedelta:
        now = self.clock.now()
        wake_at = await self.views.next_wake(now)
        return LONGEST_NAP if wake_at is None else min(max(wake_at - now, timedelta(seconds=0.05)), LONGEST_NAP)

    async def _in_turn(self, rows: list[DeliveryRow]) -> int:
        made = 0
        for row in rows:
            if self._paused.get(row.endpoint, self.clock.now()) > self.clock.now():
                break
            leased = await self.views.lease_delivery(
                row.delivery_id, owner=self.worker, now=self.clock.now(), lease=self.lease
            )
            if leased:
                try:
                    made += await self._attempt(row)
                finally:
                    await self.views.release_delivery(row.delivery_id, owner=self.worker)
        return made

    async def _attempt(self, row: DeliveryRow) -> bool:
        """Make one attempt, or settle one that was cut off; say whether something was sent."""
        duty = await self._duty(row)
        if duty.owed.status not in OPEN:
            return False
        if duty.owed.in_flight:
            lost = AttemptResult(AttemptOutcome.AMBIGUOUS, "the attempt was cut off; the receiver may have it")
            await self._record(duty, lost)
            return False
        if duty.owed.expires_at and self.clock.now() >= duty.owed.expires_at:
            await self._record(duty, AttemptResult(AttemptOutcome.EXPIRED, "its time was over before it could be sent"))
            return False
        attempt = duty.owed.attempts + 1
        started = DeliveryStarted(at=self.clock.now(), delivery_id=duty.owed.id, attempt=attempt)
        state = await self._append(duty.state, started)
        await self._record(_Duty(state, state.deliveries[duty.owed.id], duty.past), await self._send(duty))
        return True

    async def _duty(self, row: DeliveryRow) -> _Duty:
        events = [event for _, event in await self.journal.events(row.run_id)]
        state = fold(events)
        return _Duty(state, state.deliveries[row.delivery_id], _past(events, row.delivery_id))

    async def _send(self, duty: _Duty) -> AttemptResult:
        try:
            target = self.targets(duty.owed.endpoint)
            notice = self._clean(notice_of(duty.state, duty.owed))
            form = form_after(duty.past)
            message = await asyncio.to_thread(render, target.format, notice, delivery_id=duty.owed.id, form=form)
            return await send(self.exchange, target, message, delivery_id=duty.owed.id, now=self.clock.now())
        except ConfigError as exc:
            return AttemptResult(AttemptOutcome.NOT_SENT, self.redact(str(exc)), slow=True)
        except IllegalEventError as exc:
            return AttemptResult(AttemptOutcome.EXPIRED, str(exc))

    def _clean(self, notice: Notice) -> Notice:
        return NOTICE.validate_json(self.redact(notice.model_dump_json()))

    async def _record(self, duty: _Duty, result: AttemptResult) -> None:
        now = self.clock.now()
        state = next_state(duty.owed.id, duty.past, result, self._terms(duty.owed), now=now)
        if state.pause_until:
            self._paused[duty.owed.endpoint] = state.pause_until
        if state.status is not DeliveryStatus.DELIVERED:
            LOG.warning("delivery to %s: %s: %s", duty.owed.endpoint, state.status, self.redact(state.detail))
        await self._append(duty.state, _finished(duty, result, state, self.redact(state.detail), now))

    def _terms(self, owed: Owed) -> Terms:
        try:
            dedupes = FORMATS[self.targets(owed.endpoint).format].dedupes
        except ConfigError:
            dedupes = True
        return Terms(dedupes=dedupes, interactive=owed.cause is Cause.APPROVAL, expires_at=owed.expires_at)

    async def _append(self, state: RunState, event: Event) -> RunState:
        after = await self.journal.append(state, event)
        self.told(state.run_id)
        return after

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
        message = render(target.format, sample_notice(name, outcome, now), delivery_id=delivery_id)
        return await send(self.exchange, target, message, delivery_id=delivery_id, now=now)


@dataclass(frozen=True, slots=True)
class _Duty:
    """Hold one duty, with the run that owes it and what came of its attempts since a person last asked."""

    state: RunState
    owed: Owed
    past: tuple[AttemptOutcome, ...]


def _past(events: list[Event], delivery_id: str) -> tuple[AttemptOutcome, ...]:
    past: list[AttemptOutcome] = []
    for event in events:
        if isinstance(event, DeliveryRequeued) and event.delivery_id == delivery_id:
            past.clear()
        if isinstance(event, DeliveryFinished) and event.delivery_id == delivery_id:
            past.append(AttemptOutcome(event.result))
    return tuple(past)


def _finished(duty: _Duty, result: AttemptResult, state: NextState, detail: str, now: datetime) -> DeliveryFinished:
    return DeliveryFinished(
        at=now,
        delivery_id=duty.owed.id,
        attempt=duty.owed.attempts,
        result=result.outcome,
        status=state.status,
        http_status=result.status,
        detail=detail,
        next_at=state.next_at,
    )
