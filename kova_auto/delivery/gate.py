"""Say whether an endpoint may be sent something at this moment, and write down what it did with it.

What an endpoint asked for and what it did last is on record, and outlives this process. What is only of this moment is
not: how fast a receiver was spoken to, and that a setting has to be mended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from kova_auto.core.delivery.health import (
    Gate,
    Health,
    Healths,
    Raising,
    Standing,
    after_attempt,
    asked_for,
    is_known_well,
    nothing,
    paused,
    recovered,
    standing,
)
from kova_auto.core.delivery.outcome import AttemptOutcome
from kova_auto.core.delivery.pacing import PACES, Bucket, credential_of, full, take
from kova_auto.core.delivery.target import Target
from kova_auto.core.delivery.trouble import Attempted, alerts_of, marked, recovery, trouble
from kova_auto.core.ids import EndpointName
from kova_auto.core.owed import PUT_OFF, URGENT
from kova_auto.core.view import DeliveryRow

LOG = logging.getLogger(__name__)
UNTIL_MENDED = timedelta(minutes=1)
BRIEF, SHORT = timedelta(seconds=60), timedelta(minutes=10)
Kin = Callable[[EndpointName], Iterable[EndpointName]]


def anybody(_name: EndpointName) -> bool:
    """Say of any endpoint that it has a use for what is told of others."""
    return True


@dataclass(slots=True)
class Gatekeeper:
    """Know the endpoints of one courier.

    Attributes:
        kin: Returns the endpoints that share a credential with one.
        hears: Says whether one has a use for what is told of others: what starts something elsewhere has none.
    """

    healths: Healths
    kin: Kin
    hears: Callable[[EndpointName], bool] = anybody
    _known: dict[EndpointName, Health] = field(default_factory=dict)
    _held: dict[EndpointName, datetime] = field(default_factory=dict)
    _buckets: dict[str, Bucket] = field(default_factory=dict)
    _quiet: dict[EndpointName, datetime] = field(default_factory=dict)
    _crowded: set[EndpointName] = field(default_factory=set)

    async def look(self) -> None:
        """Learn what is on record, as others may have written it.

        Raises:
            JournalError: It cannot be read.
        """
        self._known = {health.endpoint: health for health in await self.healths.every()}

    def standing(self, name: EndpointName, now: datetime) -> Standing:
        """Return whether something may be sent to an endpoint."""
        return standing(self._health(name), now)

    def passes(self, row: DeliveryRow, now: datetime) -> bool:
        """Say whether a duty may be taken up: for an attempt, because its time is over, or to be put off."""
        name = row.endpoint
        if self._held.get(name, now) > now:
            return False
        if row.in_flight or (row.expires_at and row.expires_at <= now):
            return True
        standing = self.standing(name, now)
        if standing.gate is not Gate.OPEN:
            return row.result != PUT_OFF and not _passes_soon(standing, now, BRIEF if row.cause in URGENT else SHORT)
        return row.cause in URGENT or self._quiet.get(name, now) <= now

    def hold(self, name: EndpointName, now: datetime) -> datetime:
        """Leave an endpoint alone for a moment, because a person has to mend its settings; return until when."""
        self._held[name] = now + UNTIL_MENDED
        return self._held[name]

    def is_crowded(self, name: EndpointName) -> bool:
        """Say whether something had to wait lately, because too much came at once for those who read it."""
        return name in self._crowded

    def relieve(self, name: EndpointName, now: datetime) -> None:
        """Forget that something had to wait, once that is over: no more than a few things are left."""
        if self._quiet.get(name, now) <= now:
            self._quiet.pop(name, None)
            self._crowded.discard(name)

    def lets(self, row: DeliveryRow, target: Target, now: datetime) -> bool:
        """Say whether its receiver may be spoken to so soon; where it may not, results wait and nothing else does."""
        pace = PACES.get(target.format)
        if pace is None:
            return True
        key, is_urgent = credential_of(target), row.cause in URGENT
        bucket = self._buckets.get(key) or full(pace, now)
        self._buckets[key], until = take(bucket, pace, now, urgent=is_urgent, message=row.delivery_id)
        if until:
            self._quiet[row.endpoint] = until
            self._crowded |= {row.endpoint} if pace.together else set()
        return until is None

    def wakes(self, now: datetime) -> list[datetime]:
        """Return the instants at which something may be sent again that may not be sent now."""
        gates = (self.standing(name, now).until for name in self._known)
        instants = (*gates, *self._held.values(), *self._quiet.values())
        return [instant for instant in instants if instant and instant > now]

    async def record(self, name: EndpointName, attempted: Attempted) -> None:
        """Write down what came of an attempt; others are told of trouble, and left alone where they share a credential.

        Raises:
            JournalError: It cannot be written.
        """
        result, state, now = attempted.result, attempted.state, attempted.at
        if result.outcome is AttemptOutcome.DELIVERED and is_known_well(self._health(name), now):
            return
        attempted = replace(attempted, others=self._others(name, attempted))

        def how(before: Health) -> Health:
            return marked(before, after_attempt(before, result, state, now), attempted)

        before, after = await self._change(name, how, partial(alerts_of, attempted=attempted))
        _say(before, after)
        if result.outcome is not AttemptOutcome.THROTTLED or state.pause_until is None:
            return
        for other in set(self.kin(name)) - {name}:
            why = f"it shares a credential with {name}: {state.detail}"
            await self._change(other, partial(paused, until=state.pause_until, why=why))

    def _others(self, name: EndpointName, attempted: Attempted) -> tuple[str, ...]:
        """Return who is told of trouble: nobody who has the same trouble, and nobody who hears nothing now."""
        health, now = self._health(name), attempted.at
        after = after_attempt(health, attempted.result, attempted.state, now)
        if not attempted.others or not trouble(health, after, attempted):
            return ()
        same = {*self.kin(name), name}
        heard = [other for other in map(EndpointName, attempted.others) if other not in same and self.hears(other)]
        return tuple(other for other in heard if self.standing(other, now).gate is not Gate.DISABLED)

    async def taken(self, name: EndpointName, now: datetime) -> None:
        """Write down that an endpoint has taken a test: whoever was told of its trouble hears that it is over.

        Raises:
            JournalError: It cannot be written.
        """
        self._held.pop(name, None)
        before, after = await self._change(name, partial(recovered, now=now), partial(recovery, now=now))
        _say(before, after)

    async def ask(self, name: EndpointName, now: datetime) -> None:
        """Let an endpoint be tried that is paused or disabled, because a person wants it.

        Raises:
            JournalError: It cannot be written.
        """
        self._held.pop(name, None)
        await self._change(name, partial(asked_for, now=now))

    def _health(self, name: EndpointName) -> Health:
        return self._known.get(name, Health(endpoint=name))

    async def _change(
        self, name: EndpointName, how: Callable[[Health], Health], raising: Raising = nothing
    ) -> tuple[Health, Health]:
        before, self._known[name] = await self.healths.change(name, how, raising)
        return before, self._known[name]


def _say(before: Health, after: Health) -> None:
    """Say in the log what nobody else may be told of."""
    name = after.endpoint
    if after.disabled_at and not before.disabled_at:
        told = f"; told to {after.told}" if after.told else "; no other endpoint is told of it"
        LOG.error(
            "endpoint %s is disabled: %s%s; once it is mended: kova-auto endpoints test %s",
            name,
            after.disabled_why,
            told,
            name,
        )
    elif before.disabled_at and not after.disabled_at:
        LOG.info("endpoint %s takes deliveries again", name)


def _passes_soon(standing: Standing, now: datetime, soon: timedelta) -> bool:
    """Say whether an endpoint is left alone for so short a time that it is not worth a word."""
    return standing.until is not None and standing.until - now <= soon
