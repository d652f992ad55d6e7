"""The ways a schedule names instants, and the questions asked of all of them: what comes next, what fell due.

A trigger knows nothing of what ran, or of now. Bounds, exclusions and jitter are laid over it by a timetable, policies
by others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple, assert_never
from zoneinfo import ZoneInfo

from kova_auto.core.errors import ConfigError
from kova_auto.core.schedule.cron import Cron
from kova_auto.core.schedule.search import between, newest
from kova_auto.core.schedule.zone import resolve
from kova_auto.core.webhook_source import WebhookSource

SHORTEST_EVERY: Final = timedelta(seconds=5)
COUNT_CAP: Final = 1_000
_FIRST_YEAR: Final = 1970
_LAST_YEAR: Final = 9998


@dataclass(frozen=True, slots=True)
class CronTrigger:
    """Fire whenever one of the expressions does; an instant that several share counts once."""

    crons: tuple[Cron, ...]
    zone: ZoneInfo


@dataclass(frozen=True, slots=True)
class EveryTrigger:
    """Fire at `anchor` plus every multiple of `every`, negative ones too, in elapsed time.

    Attributes:
        is_unseen: No service has seen the schedule, which names no anchor: it will be counted from when one does.

    Raises:
        ConfigError: `every` is under 5 seconds, or `anchor` has no offset from UTC.
    """

    every: timedelta
    anchor: datetime
    is_unseen: bool = False

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


@dataclass(frozen=True, slots=True)
class StartupTrigger:
    """Fire once whenever the service starts: no clock implies that."""


class ParentEnding(StrEnum):
    """Say how another job must have ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Parent:
    """Name a job that another waits for.

    Attributes:
        job: Its name.
        on: How it must have ended.
        within: The other must begin this soon after it; None where there is no haste.

    Raises:
        ConfigError: `within` is not positive.
    """

    job: str
    on: ParentEnding = ParentEnding.SUCCESS
    within: timedelta | None = None

    def __post_init__(self) -> None:
        if self.within is not None and self.within <= timedelta(0):
            message = "wanted more than 0s, found 0s"
            raise ConfigError(message, key="within", hint="leave it out where it may be long")


@dataclass(frozen=True, slots=True)
class AfterTrigger:
    """Fire when other jobs have ended, all of them: no clock implies that."""

    parents: tuple[Parent, ...]


@dataclass(frozen=True, slots=True)
class WebhookTrigger:
    """Fire when somebody outside sends a request that can be believed: no clock implies that.

    Attributes:
        events: What must have happened; empty for anything.
        actors: Who must have done it; empty for anybody.
    """

    source: WebhookSource
    events: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()


Trigger = CronTrigger | EveryTrigger | AtTrigger | StartupTrigger | AfterTrigger | WebhookTrigger


class Backlog(NamedTuple):
    """Hold what fell due in a stretch of time: the newest instant, and how many there were, counted to a limit."""

    latest: datetime | None
    total: int


def next_fire(trigger: Trigger, after: datetime) -> datetime | None:
    """Return the first instant strictly after `after`, in UTC; None where the clock implies no more, or never any."""
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
        case StartupTrigger() | AfterTrigger() | WebhookTrigger():
            return None
        case _:
            assert_never(trigger)


def occurrences(trigger: Trigger, after: datetime, until: datetime, limit: int) -> Iterator[datetime]:
    """Yield at most `limit` instants of the stretch from `after`, excluded, to `until`, included, oldest first."""
    return between(partial(next_fire, trigger), after, until, limit)


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
    following = partial(next_fire, trigger)
    found = list(between(following, after, until, cap))
    if len(found) < cap:
        return Backlog(found[-1] if found else None, len(found))
    return Backlog(newest(following, found[-1], until) or found[-1], cap)


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
        return _instant(written, zone)
    except (ValueError, OverflowError) as exc:
        raise _wrong_at(text, "for example 2026-12-24T09:00, or 2026-12-24T09:00+01:00 with its offset") from exc


def parse_bound(text: str, zone: ZoneInfo) -> datetime:
    """Read where a schedule begins or ends: as `parse_at` does, or a date alone, which is its midnight.

    Returns:
        The instant, in UTC; of a year from 1970 to 9998.

    Raises:
        ConfigError: It is neither.
    """
    written = text.strip()
    try:
        found = _instant(f"{written}T00:00" if _is_date(written) else written, zone)
    except (ValueError, OverflowError) as exc:
        message = f"wanted a date, or a date and a time, found {text!r}"
        raise ConfigError(message, hint="for example 2026-01-01, or 2026-01-01T09:00") from exc
    if found.year < _FIRST_YEAR:
        message = f"wanted a year from {_FIRST_YEAR} on, found {text!r}"
        raise ConfigError(message)
    return found


def _instant(written: str, zone: ZoneInfo) -> datetime:
    moment = datetime.fromisoformat(written)
    found = resolve(moment, zone) if moment.tzinfo is None else moment.astimezone(UTC)
    if found.year > _LAST_YEAR:
        msg = "no search goes so far"
        raise ValueError(msg)
    return found


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _wrong_at(text: str, hint: str) -> ConfigError:
    return ConfigError(f"wanted a date and a time, found {text!r}", key="at", hint=hint)
