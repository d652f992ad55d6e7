"""Say all that is on record of one delivery, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from zoneinfo import ZoneInfo

from kova_auto.cli.run_rows import when
from kova_auto.core.delivery.document import spell_duration
from kova_auto.core.delivery.health import Gate, standing
from kova_auto.core.delivery.story import Story, Try
from kova_auto.core.delivery.text import one_line
from kova_auto.core.owed import OPEN, Cause, DeliveryStatus
from kova_auto.core.view import DeliveryRow

_LONGEST = 2048
_CAUSES = {
    Cause.OUTCOME: "the result",
    Cause.APPROVAL: "a call that waits",
    Cause.UNREACHED: "that nobody could be asked",
    Cause.ALERT: "an alert",
}
_ENDS = {
    DeliveryStatus.DELIVERED: "nothing: the receiver has it",
    DeliveryStatus.DEAD: "nothing by itself: it was given up",
    DeliveryStatus.EXPIRED: "nothing: it is of no use any more",
    DeliveryStatus.UNKNOWN: "nothing by itself: it may have arrived, and one more attempt may be a second message",
    DeliveryStatus.CANCELLED: "nothing by itself: its endpoint is not there",
}


def tell(story: Story, now: datetime, zone: ZoneInfo) -> Iterator[str]:
    """Yield the lines."""
    row = story.row
    yield f"delivery   {row.delivery_id}"
    yield f"endpoint   {row.endpoint}"
    yield f"tells      {_CAUSES[Cause(row.cause)]} of {row.run_id}"
    yield f"owed       {when(row.owed_at, zone)}"
    if row.expires_at:
        yield f"of use     until {when(row.expires_at, zone)}"
    yield f"status     {row.status}"
    events = [*((one.started_at or one.ended_at or now, _of_try(one, zone)) for one in story.tries)]
    events += [(one.at, [f"{when(one.at, zone)}  {one.by} asked for it again"]) for one in story.wanted]
    for _, lines in sorted(events, key=lambda event: event[0]):
        yield ""
        yield from lines
    yield ""
    yield f"next       {_next(story, now, zone)}"
    if row.status != DeliveryStatus.DELIVERED:
        yield f"try again  kova-auto deliveries retry {row.delivery_id}"


def _of_try(one: Try, zone: ZoneInfo) -> list[str]:
    began = one.started_at
    if one.ended_at is None:
        return [f"{when(began, zone)}  attempt {one.attempt}: under way, or cut off"]
    if began is None:
        return [f"{when(one.ended_at, zone)}  no attempt: {one.result.replace('_', ' ')}: {one_line(one.detail, 500)}"]
    took_s = (one.ended_at - began).total_seconds()
    took = f"{took_s * 1000:.0f} ms" if took_s < 1 else spell_duration(took_s)
    status = f", {one.http_status}" if one.http_status else ""
    head = f"{when(began, zone)}  attempt {one.attempt}: {one.result.replace('_', ' ')}{status}, after {took}"
    said = [f"  the receiver said: {one_line(one.excerpt, _LONGEST)}"] if one.excerpt else []
    return [head, *([f"  {one_line(one.detail, 500)}"] if one.detail else []), *said]


def _next(story: Story, now: datetime, zone: ZoneInfo) -> str:
    row = story.row
    if row.status not in OPEN:
        return _ENDS[DeliveryStatus(row.status)]
    if row.in_flight:
        return "an attempt is under way; one that was cut off is taken up again once its lease is over"
    closed = standing(story.health, now) if story.health else None
    if closed and closed.gate is not Gate.OPEN:
        until = f"at {when(closed.until, zone)}" if closed.until else f"once kova-auto endpoints test {row.endpoint} is"
        return f"{closed.why}; it goes on {until}{'' if closed.until else ' delivered'}"
    return f"an attempt at {when(row.next_at, zone)}" if _waits(row, now) else "an attempt as soon as a service runs"


def _waits(row: DeliveryRow, now: datetime) -> bool:
    return row.next_at is not None and row.next_at > now
