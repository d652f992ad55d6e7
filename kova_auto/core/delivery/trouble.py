"""Decide what others are told of an endpoint, and who they are.

One alert for each cause: what fails in a row is one trouble, however many attempts and deliveries it costs. Once the
endpoint takes something again, whoever was told of it is told that too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from kova_auto.core.delivery.alert import AlertRaised, AlertState, alert
from kova_auto.core.delivery.health import Health
from kova_auto.core.delivery.notice import EndpointNotice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult, NextState
from kova_auto.core.ids import DeliveryId
from kova_auto.core.owed import DeliveryStatus, otherwise_told
from kova_auto.core.state import RunState

_GIVEN_UP = frozenset({DeliveryStatus.DEAD, DeliveryStatus.UNKNOWN})
What = Literal["disabled", "undelivered", "untrusted"]


@dataclass(frozen=True, slots=True)
class Attempted:
    """Hold one attempt and what it was for.

    Attributes:
        others: Endpoints that are told where it means trouble.
    """

    delivery_id: DeliveryId
    owing: RunState | AlertState
    result: AttemptResult
    state: NextState
    at: datetime
    others: tuple[str, ...] = ()


def endpoints_of(owing: RunState | AlertState) -> tuple[str, ...]:
    """Return the endpoints that are told of what owes a delivery."""
    if isinstance(owing, AlertState):
        return owing.raised.endpoints
    return tuple(dict.fromkeys((*otherwise_told(owing.request), *owing.request.job.approval.notify)))


def alerts_of(before: Health, after: Health, attempted: Attempted) -> Sequence[AlertRaised]:
    """Return the alerts that an attempt raises; empty where it is no news, or there is nobody to be told."""
    if attempted.result.outcome is AttemptOutcome.DELIVERED:
        return recovery(before, after, attempted.at)
    what = trouble(before, after, attempted)
    return [alert(_notice(after, attempted, what), attempted.others)] if what and attempted.others else []


def recovery(before: Health, _after: Health, now: datetime) -> Sequence[AlertRaised]:
    """Return the alert that an endpoint takes things again, for those who were told that it did not."""
    told = [name for name in before.told.split(",") if name]
    if not told:
        return []
    said = EndpointNotice(
        what="recovered",
        endpoint=before.endpoint,
        happened_at=now,
        since=before.failing_since or now,
        failures=before.failures,
        reason=f"before: {before.last_failure}" if before.last_failure else "",
    )
    return [alert(said, told)]


def marked(before: Health, after: Health, attempted: Attempted) -> Health:
    """Return an endpoint's health with those who are told of it."""
    if attempted.result.outcome is AttemptOutcome.DELIVERED or not trouble(before, after, attempted):
        return after
    return after.model_copy(update={"told": _joined((*before.told.split(","), *attempted.others))})


def trouble(before: Health, after: Health, attempted: Attempted) -> What | None:
    """Return which trouble an attempt means for its endpoint; None where it means none that others should hear of."""
    if after.disabled_at and not before.disabled_at:
        return "disabled"
    if before.disabled_at:
        return None
    if attempted.state.status in _GIVEN_UP:
        return "undelivered"
    return "untrusted" if attempted.result.slow and attempted.result.outcome is AttemptOutcome.NOT_SENT else None


def _notice(health: Health, attempted: Attempted, what: What) -> EndpointNotice:
    owing = attempted.owing
    return EndpointNotice(
        what=what,
        endpoint=health.endpoint,
        happened_at=attempted.at,
        since=health.failing_since,
        failures=health.failures,
        reason=health.disabled_why if what == "disabled" else attempted.result.detail,
        delivery_id=attempted.delivery_id,
        run_id=owing.run_id,
        job=owing.raised.job if isinstance(owing, AlertState) else owing.job.name,
        probe_at=health.probe_at,
    )


def _joined(names: Iterable[str]) -> str:
    return ",".join(dict.fromkeys(name for name in names if name))
