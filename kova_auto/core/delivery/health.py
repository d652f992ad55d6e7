"""Say how an endpoint has been doing, and whether anything may be sent to it now.

What one delivery suffers is its own; this is what it means for all others to the same endpoint. An endpoint that takes
nothing for a day is disabled: from then on one delivery a day tries whether it is back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Protocol

from kova_auto.core.delivery.alert import AlertRaised
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, NextState
from kova_auto.core.ids import EndpointName
from kova_auto.core.value import Value

FAILURES: Final = 20
FAILING: Final = timedelta(hours=24)
PROBE_EVERY: Final = timedelta(hours=24)
MOMENT: Final = timedelta(minutes=1)

_BLAMELESS: Final = frozenset({AttemptOutcome.DELIVERED, AttemptOutcome.BAD_PAYLOAD, AttemptOutcome.EXPIRED})


class Health(Value):
    """Hold how deliveries to one endpoint have gone.

    Attributes:
        failures: Attempts that failed since it last took one.
        failing_since: When the first of them did.
        last_failure: What came of the newest of them, in one line.
        paused_until: Nothing goes there before: it asked to be left alone.
        paused_why: In its words.
        disabled_at: Nothing goes there since, but a probe now and then.
        disabled_why: What it did last.
        gone: It said that it is gone for good: nobody probes.
        probe_at: When one delivery may try whether it is back.
        told: The endpoints that were told of its trouble, with commas between them.
    """

    endpoint: EndpointName
    failures: int = 0
    failing_since: datetime | None = None
    last_failure: str = ""
    last_success_at: datetime | None = None
    paused_until: datetime | None = None
    paused_why: str = ""
    disabled_at: datetime | None = None
    disabled_why: str = ""
    gone: bool = False
    probe_at: datetime | None = None
    told: str = ""


class Gate(StrEnum):
    """Say whether something may be sent to an endpoint."""

    OPEN = "open"
    PAUSED = "paused"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Standing:
    """Hold whether something may be sent now; where it may not, until when and why, in words for a person.

    Attributes:
        until: None where only a person changes it.
    """

    gate: Gate
    until: datetime | None = None
    why: str = ""


def standing(health: Health, now: datetime) -> Standing:
    """Return whether something may be sent to an endpoint now."""
    if health.disabled_at:
        if health.probe_at and health.probe_at <= now:
            return Standing(Gate.OPEN)
        why = f"the endpoint is disabled since {health.disabled_at:%Y-%m-%d %H:%M} UTC: {health.disabled_why}"
        return Standing(Gate.DISABLED, health.probe_at, why)
    if health.paused_until and health.paused_until > now:
        why = f"the endpoint is paused until {health.paused_until:%Y-%m-%d %H:%M:%S} UTC: {health.paused_why}"
        return Standing(Gate.PAUSED, health.paused_until, why)
    return Standing(Gate.OPEN)


def after_attempt(health: Health, result: AttemptResult, state: NextState, now: datetime) -> Health:
    """Return how an endpoint is doing after one more attempt.

    Args:
        health: Before it.
        result: What came of the attempt, its detail free of secrets.
        state: What that means for the delivery, and for the endpoint besides.
        now: When it ended, UTC.
    """
    if result.outcome is AttemptOutcome.DELIVERED:
        return recovered(health, now)
    if result.outcome in _BLAMELESS:
        return health
    since = health.failing_since or now
    failed = health.model_copy(
        update={"failures": health.failures + 1, "failing_since": since, "last_failure": result.detail}
    )
    if state.pause_until:
        failed = paused(failed, state.pause_until, state.detail)
    if failed.disabled_at:
        gone = failed.gone or result.permanent
        return failed.model_copy(update={"gone": gone, "probe_at": None if gone else now + PROBE_EVERY})
    if state.disable:
        return _disabled(failed, result.detail, now, gone=result.permanent)
    if failed.failures >= FAILURES and now - since >= FAILING:
        why = f"{failed.failures} attempts have failed since {since:%Y-%m-%d %H:%M} UTC, and none was good"
        return _disabled(failed, f"{why}; the last: {result.detail}", now, gone=False)
    return failed


def paused(health: Health, until: datetime, why: str) -> Health:
    """Return an endpoint that is left alone until then, or longer where it was to be already."""
    if health.paused_until and health.paused_until >= until:
        return health
    return health.model_copy(update={"paused_until": until, "paused_why": why})


def is_known_well(health: Health, now: datetime) -> bool:
    """Say whether one more success is not worth writing down: all is well, and the last was a moment ago."""
    last = health.last_success_at
    return last is not None and timedelta(0) <= now - last < MOMENT and health == recovered(health, last)


def recovered(health: Health, now: datetime) -> Health:
    """Return an endpoint that has taken something: what it did before is forgotten."""
    return Health(endpoint=health.endpoint, last_success_at=now)


def enabled(health: Health) -> Health:
    """Return an endpoint that a person has looked at: what it did before is forgotten."""
    return Health(endpoint=health.endpoint, last_success_at=health.last_success_at)


def asked_for(health: Health, now: datetime) -> Health:
    """Return an endpoint that a person wants tried: it is not paused any more, and where it is disabled, one may go."""
    probe_at = now if health.disabled_at else None
    return health.model_copy(update={"paused_until": None, "paused_why": "", "probe_at": probe_at})


def _disabled(health: Health, why: str, now: datetime, *, gone: bool) -> Health:
    probe_at = None if gone else now + PROBE_EVERY
    changes = {"disabled_at": now, "disabled_why": why, "gone": gone, "probe_at": probe_at}
    return health.model_copy(update=changes)


Raising = Callable[[Health, Health], Sequence[AlertRaised]]


def nothing(_before: Health, _after: Health) -> Sequence[AlertRaised]:
    """Raise no alert."""
    return ()


class Healths(Protocol):
    """Keep how endpoints are doing."""

    async def every(self) -> Sequence[Health]:
        """Return what is known of endpoints, by name; of one that nothing was ever sent to, nothing is."""

    async def change(
        self, endpoint: EndpointName, how: Callable[[Health], Health], raising: Raising = nothing
    ) -> tuple[Health, Health]:
        """Write what is to be known of an endpoint from now on; return it as it was and as it is, in one transaction.

        Args:
            endpoint: Its name.
            how: Takes what is known now; it may be asked more than once, and so may the next.
            raising: Takes what was known and what is, and returns the alerts that are raised with it.
        """
