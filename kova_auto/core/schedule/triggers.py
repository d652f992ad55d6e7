"""The ways a schedule names instants, and the questions asked of all of them: what comes next, what fell due.

A trigger knows nothing of jobs, of what ran, or of now. Jitter, exclusions and policies are laid over it by others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final, NamedTuple, assert_never
from zoneinfo import ZoneInfo

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.cron import Cron
from kova_auto.core.schedule.zone import resolve

SHORTEST_EVERY: Final = timedelta(seconds=5)
COUNT_CAP: Final = 1_000


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """Fire whenever one of the expressions does; an instant that several share counts once."""

    crons: tuple[Cron, ...]
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class EveryTrigger:
    """Fire at `anchor` plus every multiple of `every`, negative ones too, in elapsed time.

    Raises:
        ConfigError: `every` is under 5 seconds, or `anchor` has no offset from UTC.
    """

    every: timedelta
    anchor: datetime

    def __post_init__(self) -> None:
        if self.every < SHORTEST_EVERY:
            message = f"wanted at least 5s, found {self.every.total_seconds():g}s"
            raise ConfigError(message, key="every", hint="what must react faster is better started by a webhook")
        if self.anchor.tzinfo is None:
            message = f"wanted an instant with its offset, found {self.anchor.isoformat()}"
            raise ConfigError(message, key="anchor", hint=f"write {self.anchor.isoformat()}Z for UTC")


@dataclass(frozen=True, slots=True)
class AtTrigger:
    """Fire at each of these aware instants; order and repetition do not matter."""

    instants: tuple[datetime, ...]


Trigger = CronTrigger | EveryTrigger | AtTrigger


class Backlog(NamedTuple):
    """Hold what fell due in a stretch of time: the newest instant, and how many there were, counted to a limit."""

    latest: datetime | None
    total: int


def next_fire(trigger: Trigger, after: datetime) -> datetime | None:
    """Return the first instant strictly after `after`, in UTC; None where the trigger is exhausted."""
    match trigger:
        case CronTrigger(crons, zone):
            firings = [cron.next_after(after, zone) for cron in crons]
            return min((firing for firing in firings if firing is not None), default=None)
        case EveryTrigger(every, anchor):
            start = anchor.astimezone(UTC)
            try:
                return start + ((after - start) // every + 1) * every
            except OverflowError:  # past the year 9999
                return None
        case AtTrigger(instants):
            return min((instant.astimezone(UTC) for instant in instants if instant > after), default=None)
        case _:
            assert_never(trigger)


def occurrences(trigger: Trigger, after: datetime, until: datetime, limit: int) -> Iterator[datetime]:
    """Yield at most `limit` instants of the stretch from `after`, excluded, to `until`, included, oldest first."""
    for _ in range(limit):
        found = next_fire(trigger, after)
        if found is None or found > until:
            return
        yield found
        after = found


def latest_fire(trigger: Trigger, after: datetime, until: datetime, *, cap: int = COUNT_CAP) -> Backlog:
    """Return the newest instant from `after`, excluded, to `until`, included, without walking a long backlog.

    Args:
        trigger: What is asked.
        after: Aware.
        until: Aware.
        cap: Counting stops here, so that this many means "this many or more". At least 1.

    Returns:
        No instant and a total of 0 where nothing fell due.
    """
    found = list(occurrences(trigger, after, until, cap))
    if len(found) < cap:
        return Backlog(found[-1] if found else None, len(found))
    return Backlog(_newest(trigger, found[-1], until), cap)


def parse_at(text: str, zone: ZoneInfo) -> datetime:
    """Read a date with its time; without an offset it is what the clock of `zone` shows.

    A time that the clock skips means the end of the gap, one that it shows twice the first of both.

    Returns:
        The instant, in UTC.

    Raises:
        ConfigError: With key `at`, for anything else, a date without a time among them.
    """
    written = text.strip()
    if _is_date(written):
        raise _wrong_at(text, f"write {written}T09:00")
    try:
        moment = datetime.fromisoformat(written)
        return resolve(moment, zone) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError) as exc:
        raise _wrong_at(text, "for example 2026-12-24T09:00, or 2026-12-24T09:00+01:00 with its offset") from exc


def _newest(trigger: Trigger, known: datetime, until: datetime) -> datetime:
    """Return the newest instant up to `until`, halving the time it may lie in; `known` is an earlier one."""
    ceiling = until
    while (following := next_fire(trigger, known)) is not None and following <= until:
        middle = known + (ceiling - known) / 2
        found = next_fire(trigger, middle)
        if found is None or found > until:
            known, ceiling = following, middle
        else:
            known = found
    return known


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _wrong_at(text: str, hint: str) -> ConfigError:
    return ConfigError(f"wanted a date and a time, found {text!r}", key="at", hint=hint)
