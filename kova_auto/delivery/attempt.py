"""See to one attempt at a duty: whether it may be made, what is sent, and what is on record of it afterwards."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kova_auto.core.delivery.digest import digest_of
from kova_auto.core.delivery.health import Gate
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.notifier import Notifier
from kova_auto.core.delivery.outcome import EXCERPT_BYTES, AttemptOutcome, AttemptResult, NextState, next_state
from kova_auto.core.delivery.target import Target
from kova_auto.core.delivery.text import one_line
from kova_auto.core.delivery.trouble import Attempted, endpoints_of
from kova_auto.core.errors import ConfigError, UnknownEndpointError
from kova_auto.core.event import DeliveryFinished, DeliveryStarted
from kova_auto.core.ids import RunId
from kova_auto.core.net.http import Exchange
from kova_auto.core.owed import OPEN, PUT_OFF, TOLD_TOGETHER, Cause, DeliveryStatus
from kova_auto.core.ports import Clock, Views
from kova_auto.core.view import DeliveryRow
from kova_auto.delivery.gate import Gatekeeper
from kova_auto.delivery.parcel import Books, Duty, Linked, Packing, Targets, unlinked
from kova_auto.delivery.sender import send

LOG = logging.getLogger(__name__)
LONGEST_DETAIL = 500


@dataclass(frozen=True, slots=True)
class Attempts:
    """Make attempts.

    Attributes:
        books: Have the facts about duties.
        targets: Returns an endpoint with its secrets; raises `UnknownEndpointError` where there is none, and another
            ConfigError where a secret of it cannot be had.
        redact: Takes configured secrets out of what is sent.
        told: Called after each fact, so that who follows the run sees it.
        asked: Called in its place where the run itself may go on now: a request for an approval came to nothing.
        wardens: Endpoints that are told of the trouble of any other.
        linked: Puts a link into what wants an answer.
        notifier: Carries what is not HTTP of ours.
    """

    books: Books
    views: Views
    clock: Clock
    exchange: Exchange
    gate: Gatekeeper
    targets: Targets
    redact: Callable[[str], str]
    told: Callable[[RunId], None]
    asked: Callable[[RunId], None]
    wardens: tuple[str, ...] = ()
    linked: Linked = unlinked
    notifier: Notifier | None = None

    async def make(self, row: DeliveryRow, instead: Notice | None = None) -> int:
        """Make one attempt, or settle what needs none; return how many were made.

        Args:
            row: What is to be done.
            instead: Told in the place of what the duty is about.
        """
        duty, now = await self.books.duty(row), self.clock.now()
        if duty.owed.status not in OPEN:
            return 0
        if duty.owed.in_flight:
            lost = AttemptResult(AttemptOutcome.AMBIGUOUS, "the attempt was cut off; the receiver may have it")
            await self._record(duty, lost, self._target(duty))
        elif duty.owed.expires_at and now >= duty.owed.expires_at:
            await self._expire(duty, "its time was over before it could be sent")
        elif (standing := self.gate.standing(duty.owed.endpoint, now)).gate is not Gate.OPEN:
            await self._put_off(duty, standing.why)
        else:
            return await self._try(row, duty, instead)
        return 0

    async def _try(self, row: DeliveryRow, duty: Duty, instead: Notice | None) -> int:
        try:
            target = self.targets(duty.owed.endpoint)
        except UnknownEndpointError as exc:
            await self._cancel(duty, self.redact(str(exc)))
            return 0
        except ConfigError as exc:
            await self._hold(duty, self.redact(str(exc)))
            return 0
        if not self.gate.lets(row, target, self.clock.now()):
            return 0
        parcel = await Packing(self.redact, self.linked).pack(duty, target, instead)
        if isinstance(parcel, AttemptResult) and parcel.outcome is AttemptOutcome.EXPIRED:
            await self._expire(duty, parcel.detail)
            return 0
        duty = await self._announced(duty)
        if isinstance(parcel, AttemptResult):
            await self._finish(duty, parcel, self._next_state(duty, parcel, target))
            return 1
        try:
            result = await send(
                self.exchange,
                target,
                parcel,
                delivery_id=duty.owed.id,
                now=self.clock.now(),
                notifier=self.notifier,
            )
        except ConfigError as exc:
            await self._hold(duty, self.redact(str(exc)))
            return 1
        await self._record(duty, result, target)
        return 1

    async def together(self, rows: Sequence[DeliveryRow]) -> int:
        """Tell many results in one message, in the name of the oldest; return how many attempts were made.

        Only once it was taken it is written of the others that they were told. What dies in between tells them twice.
        """
        first, *others = rows
        found = [await self.views.run(row.run_id) for row in rows]
        digest = digest_of(first.endpoint, [run for run in found if run])
        if not (made := await self.make(first, instead=digest)):
            return 0
        told = await self.books.duty(first)
        if told.owed.status is DeliveryStatus.DELIVERED:
            detail = f"told together with {len(others)} others in {first.delivery_id}"
            for row in others:
                duty = await self.books.duty(row)
                if duty.owed.status in OPEN and not duty.owed.in_flight:
                    await self._write(duty, TOLD_TOGETHER, NextState(DeliveryStatus.DELIVERED, detail))
        return made

    def _target(self, duty: Duty) -> Target | None:
        try:
            return self.targets(duty.owed.endpoint)
        except ConfigError:
            return None

    def _next_state(self, duty: Duty, result: AttemptResult, target: Target | None) -> NextState:
        return next_state(duty.owed.id, duty.past, result, duty.terms(target), now=self.clock.now())

    async def _record(self, duty: Duty, result: AttemptResult, target: Target | None) -> NextState:
        """Write down what came of an attempt, and what it means for the endpoint."""
        state = self._next_state(duty, result, target)
        await self._finish(duty, result, state)
        others = (*self.wardens, *endpoints_of(duty.state))
        result = replace(result, detail=self.redact(result.detail))
        attempted = Attempted(duty.owed.id, duty.state, result, state, self.clock.now(), others)
        await self.gate.record(duty.owed.endpoint, attempted)
        return state

    async def _expire(self, duty: Duty, why: str) -> None:
        result = AttemptResult(AttemptOutcome.EXPIRED, why)
        await self._finish(duty, result, NextState(DeliveryStatus.EXPIRED, why))

    async def _cancel(self, duty: Duty, why: str) -> None:
        """Give up what goes to an endpoint that is not there any more; a person can ask for it again."""
        detail = one_line(f"{why}; once it is there: kova-auto deliveries retry {duty.owed.id}", LONGEST_DETAIL)
        result = AttemptResult(AttemptOutcome.NOT_SENT, detail)
        await self._finish(await self._announced(duty), result, NextState(DeliveryStatus.CANCELLED, detail))

    async def _hold(self, duty: Duty, why: str) -> None:
        """Keep what cannot be sent before a person has mended the settings: it dies of that never. Said once."""
        until = self.gate.hold(duty.owed.endpoint, self.clock.now())
        detail = one_line(why, LONGEST_DETAIL)
        if duty.owed.in_flight or duty.owed.detail != detail:
            result = AttemptResult(AttemptOutcome.NOT_SENT, detail)
            duty = duty if duty.owed.in_flight else await self._announced(duty)
            await self._finish(duty, result, NextState(DeliveryStatus.WAITING, detail, until))

    async def _put_off(self, duty: Duty, why: str) -> None:
        """Say of what is not even tried why it is not, so that nobody waits for it in silence."""
        await self._write(duty, PUT_OFF, NextState(DeliveryStatus.WAITING, one_line(why, LONGEST_DETAIL)))

    async def _announced(self, duty: Duty) -> Duty:
        attempt = duty.owed.attempts + 1
        started = DeliveryStarted(at=self.clock.now(), delivery_id=duty.owed.id, attempt=attempt)
        duty = await self.books.write(duty, started)
        self.told(duty.state.run_id)
        return duty

    async def _finish(self, duty: Duty, result: AttemptResult, state: NextState) -> None:
        excerpt = self.redact(result.excerpt).encode()[:EXCERPT_BYTES].decode("utf-8", "ignore")
        await self._write(duty, result.outcome, state, result.status, excerpt)

    async def _write(
        self, duty: Duty, result: str, state: NextState, http_status: int | None = None, excerpt: str = ""
    ) -> None:
        detail, is_good = self.redact(state.detail), state.status is DeliveryStatus.DELIVERED
        level = logging.INFO if is_good else logging.WARNING
        LOG.log(level, "delivery to %s: %s: %s", duty.owed.endpoint, state.status, detail)
        finished = DeliveryFinished(
            at=self.clock.now(),
            delivery_id=duty.owed.id,
            attempt=duty.owed.attempts,
            result=result,
            status=state.status,
            http_status=http_status,
            detail=detail,
            excerpt=excerpt,
            next_at=state.next_at,
        )
        await self.books.write(duty, finished)
        in_vain = duty.owed.cause is Cause.APPROVAL and not is_good
        (self.asked if in_vain else self.told)(duty.state.run_id)
