"""What a run owes to endpoints: which of them, of which event, and how far each duty has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from kova_auto.core.event import (
    ApprovalRequested,
    DeliveryFinished,
    DeliveryRequeued,
    DeliveryStarted,
    RunFinished,
    RunRequested,
)
from kova_auto.core.ids import DeliveryId, EndpointName, delivery_id
from kova_auto.core.job import Notify, Outcome


class DeliveryStatus(StrEnum):
    """Say how far a duty has come."""

    PENDING = "pending"
    WAITING = "waiting"
    DELIVERED = "delivered"
    DEAD = "dead"
    EXPIRED = "expired"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"


TOLD_TOGETHER = "told_together"
"""Result of a delivery that one message has told with many others; no attempt was made for it."""
PUT_OFF = "put_off"
"""Result of a delivery whose endpoint is left alone for now; no attempt was made."""

OPEN = frozenset({DeliveryStatus.PENDING, DeliveryStatus.WAITING})


class Cause(StrEnum):
    """Say which kind of event an endpoint is told of."""

    OUTCOME = "outcome"
    APPROVAL = "approval"
    UNREACHED = "unreached"  # a request for an approval that no endpoint has taken
    ALERT = "alert"  # of a schedule; `core/delivery/alert.py` owes it, and no run does


URGENT = frozenset({Cause.APPROVAL, Cause.UNREACHED})
"""What somebody waits for: it goes before all else."""


@dataclass(frozen=True, slots=True)
class Owed:
    """Hold the duty to tell one endpoint of one event.

    Attributes:
        cause_seq: Position of that event in the run's journal.
        attempts: Attempts that were started.
        in_flight: An attempt was started and its end is not on record.
        at_once: It is tried again in this very moment, so that nothing can be said of it yet.
        next_at: Not to be tried before; None means at once.
        expires_at: Of no use to the receiver from then on.
        about_seq: Position of the request that this is about, where nobody could be asked.
    """

    id: DeliveryId
    endpoint: EndpointName
    cause: Cause
    cause_seq: int
    owed_at: datetime
    status: DeliveryStatus = DeliveryStatus.PENDING
    attempts: int = 0
    in_flight: bool = False
    at_once: bool = False
    next_at: datetime | None = None
    expires_at: datetime | None = None
    http_status: int | None = None
    result: str = ""
    detail: str = ""
    about_seq: int = 0

    @property
    def failed(self) -> bool:
        """Say whether it was tried or could not even be, and the receiver has not taken it so far."""
        is_known = (self.attempts > 0 and not self.in_flight and not self.at_once) or self.put_off
        return is_known and self.status is not DeliveryStatus.DELIVERED

    @property
    def put_off(self) -> bool:
        """Say whether it waits until its endpoint is sent to again."""
        return self.status in OPEN and self.result == PUT_OFF and not self.in_flight

    def after(self, event: DeliveryStarted | DeliveryFinished | DeliveryRequeued) -> Owed:
        """Return the duty after one more fact about it.

        Raises:
            ValueError: The fact cannot follow.
        """
        match event:
            case DeliveryStarted():
                if self.status not in OPEN or event.attempt != self.attempts + 1:
                    msg = f"attempt {event.attempt} of a delivery that is {self.status} after {self.attempts}"
                    raise ValueError(msg)
                return replace(self, attempts=event.attempt, in_flight=True, next_at=None)
            case DeliveryFinished():
                if not (self.in_flight or self._needs_no_attempt(event)) or event.attempt != self.attempts:
                    msg = f"attempt {event.attempt} is not the one in flight"
                    raise ValueError(msg)
                return replace(
                    self,
                    in_flight=False,
                    at_once=event.next_at is not None and event.next_at <= event.at,
                    status=DeliveryStatus(event.status),
                    next_at=event.next_at,
                    http_status=event.http_status,
                    result=event.result,
                    detail=event.detail,
                )
            case DeliveryRequeued():
                if self.status is DeliveryStatus.DELIVERED:
                    msg = "it was delivered"
                    raise ValueError(msg)
                return replace(
                    self,
                    status=DeliveryStatus.PENDING,
                    in_flight=False,
                    at_once=True,
                    next_at=None,
                    expires_at=None,
                    result="" if self.put_off else self.result,
                )
            case _:
                assert_never(event)

    def _needs_no_attempt(self, event: DeliveryFinished) -> bool:
        """Say whether it may be so without an attempt: its time is over, another message has told it, it is put off."""
        without = {(DeliveryStatus.DELIVERED, TOLD_TOGETHER), (DeliveryStatus.WAITING, PUT_OFF)}
        return self.status in OPEN and (
            event.status == DeliveryStatus.EXPIRED or (event.status, event.result) in without
        )


_GOOD = frozenset({Outcome.DONE, Outcome.NOTHING_TO_REPORT})


def wants(notify: Notify, finished: RunFinished) -> bool:
    """Say whether an endpoint that was promised `notify.when` is told of this end.

    `change` means that outcome or answer differ from the job's last finished run; the first run is a change.
    `recovery` means that the last one was not good and this one is.
    """
    match notify.when:
        case "always":
            return True
        case "change":
            return finished.previous is None or (finished.previous.outcome, finished.previous.answer_hash) != (
                finished.outcome,
                finished.answer_hash,
            )
        case "recovery":
            return (
                finished.outcome in _GOOD and finished.previous is not None and (finished.previous.outcome not in _GOOD)
            )
        case outcomes:
            return finished.outcome in outcomes


def for_outcome(request: RunRequested, seq: int, finished: RunFinished) -> dict[DeliveryId, Owed]:
    """Return what is owed because a run ended: one duty for each endpoint, however often the job names it.

    That the job's schedule rests from here on is told to all of them: no later run will. A staged run owes nothing.
    """
    names = [n.endpoint for n in request.job.notify if finished.pauses or wants(n, finished)]
    return _duties(request, names, Cause.OUTCOME, seq, finished.at)


def for_approval(request: RunRequested, seq: int, asked: ApprovalRequested) -> dict[DeliveryId, Owed]:
    """Return what is owed because a call needs a person; of no use once the time to answer is over."""
    duties = _duties(request, request.job.approval.notify, Cause.APPROVAL, seq, asked.at)
    return {key: replace(duty, expires_at=asked.expires_at) for key, duty in duties.items()}


def otherwise_told(request: RunRequested) -> tuple[EndpointName, ...]:
    """Return the endpoints of a job's `[[notify]]`; for a child those of its root, though none hears of its end."""
    own = tuple(dict.fromkeys(EndpointName(one.endpoint) for one in request.job.notify))
    return request.child_of.notify if request.child_of else own


def undelivered(deliveries: Mapping[DeliveryId, Owed], seq: int) -> Owed | None:
    """Return one of the requests that an event caused where each was tried and none was taken; None otherwise."""
    asked = [owed for owed in deliveries.values() if owed.cause is Cause.APPROVAL and owed.cause_seq == seq]
    failed = [owed for owed in asked if owed.failed]
    return failed[-1] if asked and len(failed) == len(asked) else None


def for_unreached(
    request: RunRequested, deliveries: Mapping[DeliveryId, Owed], seq: int, event: DeliveryFinished
) -> dict[DeliveryId, Owed]:
    """Return what is owed because nobody could be asked: the job's other endpoints are told, once for each request."""
    cause_seq = deliveries[event.delivery_id].cause_seq
    if undelivered(deliveries, cause_seq) is None:
        return {}
    told = {owed.about_seq for owed in deliveries.values() if owed.cause is Cause.UNREACHED}
    if cause_seq in told:
        return {}
    names = [name for name in otherwise_told(request) if name not in request.job.approval.notify]
    duties = _duties(request, names, Cause.UNREACHED, seq, event.at)
    return {key: replace(duty, about_seq=cause_seq) for key, duty in duties.items()}


def _duties(
    request: RunRequested, names: Iterable[str], cause: Cause, seq: int, at: datetime
) -> dict[DeliveryId, Owed]:
    duties: dict[DeliveryId, Owed] = {}
    for endpoint in map(EndpointName, () if request.staged else names):
        key = delivery_id(request.run_id, seq, endpoint)
        duties[key] = Owed(id=key, endpoint=endpoint, cause=cause, cause_seq=seq, owed_at=at)
    return duties
