"""Say whether an endpoint may be sent something at this moment, and write down what it did with it.

What an endpoint asked for and what it did last is on record, and outlives this process. What is only of this moment is
not: how fast a receiver was spoken to, and that a setting has to be mended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from kova_auto.core.delivery.health import Gate, Health, Healths, Standing, after_attempt, asked_for, paused, standing
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, NextState
from kova_auto.core.delivery.pacing import PACES, Bucket, credential_of, full, take
from kova_auto.core.delivery.target import Target
from kova_auto.core.ids import EndpointName
from kova_auto.core.owed import PUT_OFF, URGENT
from kova_auto.core.view import DeliveryRow

UNTIL_MENDED = timedelta(minutes=1)
BRIEF, SHORT = timedelta(seconds=60), timedelta(minutes=10)
Kin = Callable[[EndpointName], Iterable[EndpointName]]


@dataclass(slots=True)
class Gatekeeper:
    """Know the endpoints of one courier.

    Attributes:
        kin: Returns the endpoints that share a credential with one.
    """

    healths: Healths
    kin: Kin
    _known: dict[EndpointName, Health] = field(default_factory=dict)
    _held: dict[EndpointName, datetime] = field(default_factory=dict)
    _buckets: dict[str, Bucket] = field(default_factory=dict)
    _quiet: dict[EndpointName, datetime] = field(default_factory=dict)

    async def look(self) -> None:
        """Learn what is on record, as others may have written it.

        Raises:
            JournalError: It cannot be read.
        """
        self._known = {health.endpoint: health for health in await self.healths.every()}

    def standing(self, name: EndpointName, now: datetime) -> Standing:
        """Return whether something may be sent to an endpoint."""
        return standing(self._known.get(name, Health(endpoint=name)), now)

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
        """Say whether something had to wait lately, because too much came at once."""
        return name in self._quiet

    def relieve(self, name: EndpointName, now: datetime) -> None:
        """Forget that something had to wait, once that is over: no more than a few things are left."""
        if self._quiet.get(name, now) <= now:
            self._quiet.pop(name, None)

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
        return until is None

    def wakes(self, now: datetime) -> list[datetime]:
        """Return the instants at which something may be sent again that may not be sent now."""
        gates = (self.standing(name, now).until for name in self._known)
        instants = (*gates, *self._held.values(), *self._quiet.values())
        return [instant for instant in instants if instant and instant > now]

    async def record(self, name: EndpointName, result: AttemptResult, state: NextState, now: datetime) -> None:
        """Write down what came of an attempt; all that share the credential are left alone where one was told to.

        Raises:
            JournalError: It cannot be written.
        """
        await self._change(name, partial(after_attempt, result=result, state=state, now=now))
        if result.outcome is not AttemptOutcome.THROTTLED or state.pause_until is None:
            return
        for other in set(self.kin(name)) - {name}:
            why = f"it shares a credential with {name}: {state.detail}"
            await self._change(other, partial(paused, until=state.pause_until, why=why))

    async def ask(self, name: EndpointName, now: datetime) -> None:
        """Let an endpoint be tried that is paused or disabled, because a person wants it.

        Raises:
            JournalError: It cannot be written.
        """
        self._held.pop(name, None)
        await self._change(name, partial(asked_for, now=now))

    async def _change(self, name: EndpointName, how: Callable[[Health], Health]) -> tuple[Health, Health]:
        before, self._known[name] = await self.healths.change(name, how)
        return before, self._known[name]


def _passes_soon(standing: Standing, now: datetime, soon: timedelta) -> bool:
    """Say whether an endpoint is left alone for so short a time that it is not worth a word."""
    return standing.until is not None and standing.until - now <= soon
