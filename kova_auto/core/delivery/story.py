"""Tell all that is on record of one delivery: each attempt, what the receiver said, and who asked for another."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kova_auto.core.delivery.alert import AlertFact
from kova_auto.core.delivery.health import Health
from kova_auto.core.event import DeliveryFinished, DeliveryRequeued, DeliveryStarted, Event
from kova_auto.core.value import Value
from kova_auto.core.view import DeliveryRow


class Try(Value):
    """Hold one attempt, or that none could be made.

    Attributes:
        attempt: Its number; where none was made, of the one before.
        started_at: When it began; None where none was made.
        ended_at: When its end was known; None where it is not.
        result: Outcome class of the attempt, as `server_error`.
        status: Of the delivery afterwards.
        excerpt: Beginning of what the receiver answered.
    """

    attempt: int
    started_at: datetime | None = None
    ended_at: datetime | None = None
    result: str = ""
    status: str = ""
    http_status: int | None = None
    detail: str = ""
    excerpt: str = ""
    next_at: datetime | None = None


class Wanted(Value):
    """Hold that a person has asked for another attempt."""

    at: datetime
    by: str


class Story(Value):
    """Hold all that is on record of one delivery.

    Attributes:
        tries: In their order.
        wanted: In their order.
        health: What is known of its endpoint; None where that is nothing.
    """

    row: DeliveryRow
    tries: tuple[Try, ...] = ()
    wanted: tuple[Wanted, ...] = ()
    health: Health | None = None


def story(row: DeliveryRow, facts: Iterable[Event | AlertFact], health: Health | None) -> Story:
    """Return the story of a delivery from the facts of what owes it."""
    tries, wanted = list[Try](), list[Wanted]()
    for fact in facts:
        match fact:
            case DeliveryStarted(delivery_id=row.delivery_id):
                tries.append(Try(attempt=fact.attempt, started_at=fact.at))
            case DeliveryFinished(delivery_id=row.delivery_id):
                is_open = bool(tries) and tries[-1].ended_at is None
                began = tries.pop() if is_open else Try(attempt=fact.attempt)
                tries.append(began.model_copy(update=_end(fact)))
            case DeliveryRequeued(delivery_id=row.delivery_id):
                wanted.append(Wanted(at=fact.at, by=fact.by))
            case _:
                continue
    return Story(row=row, tries=tuple(tries), wanted=tuple(wanted), health=health)


def _end(fact: DeliveryFinished) -> dict[str, object]:
    names = ("result", "status", "http_status", "detail", "excerpt", "next_at")
    return {"ended_at": fact.at, **{name: getattr(fact, name) for name in names}}
