"""A job's trigger with what its schedule lays over it: bounds, exclusions, jitter.

*Implied* are the instants of the trigger from `start` to before `end`; they are the *nominal* ones, each of which gets
its row in the ledger. *Open* are those that are not excluded. *Due* is nominal plus a delay that depends on nothing but
the job's name and the instant: the same in every process and after a restart.

Source: reference on scheduling, 3.2 and 3.3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from typing import Final
from zoneinfo import ZoneInfo

from kova_auto.core.schedule.exclusions import NOTHING, Exclusions, opens_at
from kova_auto.core.schedule.search import TICK, Following, between, newest, newest_few
from kova_auto.core.schedule.triggers import COUNT_CAP, Trigger, next_fire
from kova_auto.core.schedule.zone import SECOND

MOST_STRETCHES: Final = 100
_MILLISECOND: Final = timedelta(milliseconds=1)
_MOST_JUMPS: Final = 1_000


@dataclass(frozen=True, slots=True)
class Timetable:
    """Hold when one job falls due.

    Attributes:
        job: Its name, so that jobs of one schedule are delayed differently.
        zone: Whose clock the exclusions speak of.
        start: First instant that may be implied; aware.
        end: First instant that may not be any more; aware.
        jitter: The delay is shorter than this.
    """

    job: str
    trigger: Trigger
    zone: ZoneInfo
    start: datetime | None = None
    end: datetime | None = None
    exclude: Exclusions = NOTHING
    jitter: timedelta = timedelta(0)

    def next_nominal(self, after: datetime) -> datetime | None:
        """Return the first implied instant strictly after `after`, excluded or not, in UTC."""
        if self.start is not None and after < self.start:
            after = self.start - TICK
        found = next_fire(self.trigger, after)
        return None if found is None or not self.covers(found) else found

    def next_open(self, after: datetime, until: datetime | None = None) -> datetime | None:
        """Return the first implied instant strictly after `after` that is not excluded, in UTC.

        Args:
            after: Aware.
            until: Look no further than this; without it, no further than a thousand excluded stretches.
        """
        nominal, jumps = self.next_nominal(after), 0
        while nominal is not None and (jumps < _MOST_JUMPS if until is None else nominal <= until):
            if not self.exclude or (opens := opens_at(self.exclude, nominal, self.zone)) == nominal:
                return nominal
            nominal, jumps = self.next_nominal(opens - TICK), jumps + 1
        return None

    def next_due(self, after: datetime) -> datetime | None:
        """Return when the first open instant strictly after `after` is due."""
        found = self.next_open(after)
        return None if found is None else self.due_at(found)

    def newest_open(self, after: datetime, until: datetime, limit: int) -> tuple[datetime, ...]:
        """Return the newest open instants from `after`, excluded, to `until`, included.

        Returns:
            At most `limit`, oldest first.
        """
        return newest_few(partial(self.next_open, until=until), after, until, limit)

    def implies(self, instant: datetime) -> bool:
        """Say whether an instant is one of the clock's nominal ones."""
        return self.next_nominal(instant - TICK) == instant

    def covers(self, nominal: datetime) -> bool:
        """Say whether an instant is not before the start, and before the end."""
        return (self.start is None or self.start <= nominal) and (self.end is None or nominal < self.end)

    def why_excluded(self, nominal: datetime) -> str:
        """Return what excludes an instant, as `excluded: weekday SAT`; empty where nothing does.

        What counts is the nominal instant, as the zone's clock shows it: after a gap, the time to which it was shifted.
        """
        return self.exclude.why(nominal.astimezone(self.zone).replace(tzinfo=None, fold=0)) if self.exclude else ""

    def due_at(self, nominal: datetime) -> datetime:
        """Return when a nominal instant is due: never before it, and at least a second before the next one."""
        if not self.jitter:
            return nominal
        following = self.next_nominal(nominal)
        room = self.jitter if following is None else min(self.jitter, following - nominal - SECOND)
        if room < _MILLISECOND:
            return nominal
        return nominal + (room // _MILLISECOND * _hash64(self.job, nominal) >> 64) * _MILLISECOND

    def due_until(self, after: datetime, now: datetime) -> datetime:
        """Return up to where, included, the nominal instants after `after` are due: now, or before one that is not.

        No instant waits for a later one: at most the newest is not due.
        """
        if not self.jitter:
            return now
        latest = newest(self.next_nominal, max(after, now - self.jitter), now)
        return now if latest is None or self.due_at(latest) <= now else latest - TICK


@dataclass(frozen=True, slots=True)
class Stretch:
    """Hold nominal instants that follow one another and share a fate.

    Attributes:
        first: Oldest of them, UTC.
        last: Newest of them, UTC.
        count: How many they are; of a rest, so many or more.
        why: What excludes them; empty for open ones.
        is_rest: It stands for all that was not looked at one by one: some of it may be open, some excluded.
    """

    first: datetime
    last: datetime
    count: int
    why: str = ""
    is_rest: bool = False


def stretches(
    timetable: Timetable, after: datetime, until: datetime, *, most: int = MOST_STRETCHES, cap: int = COUNT_CAP
) -> tuple[Stretch, ...]:
    """Return what the clock implies from `after`, excluded, to `until`, included, oldest first.

    Args:
        timetable: What is asked.
        after: Aware.
        until: Aware.
        most: So many stretches are told apart; with more, the last one is a rest. At least 1.
        cap: So many instants are looked at; with more, the last stretch is a rest, up to the newest. At least 1.
    """
    following: Following = timetable.next_nominal
    instants = list(between(following, after, until, cap))
    found = [_stretch(why, list(alike)) for why, alike in groupby(instants, timetable.why_excluded)]
    last = newest(following, instants[-1], until) if len(instants) == cap else None
    if last is None and len(found) <= most:
        return tuple(found)
    kept = min(most, len(found)) - 1
    return (*found[:kept], _rest(found[kept:], last))


def fates(
    timetable: Timetable, after: datetime, until: datetime, *, limit: int = COUNT_CAP
) -> Iterator[tuple[datetime, str]]:
    """Yield implied instants from `after`, excluded, to `until`, included, oldest first, each with what excludes it."""
    for nominal in between(timetable.next_nominal, after, until, limit):
        yield nominal, timetable.why_excluded(nominal)


def _stretch(why: str, instants: list[datetime]) -> Stretch:
    return Stretch(instants[0], instants[-1], len(instants), why)


def _rest(parts: list[Stretch], last: datetime | None) -> Stretch:
    """Return one stretch for all of these, and for what nobody looked at up to `last`, where there is some."""
    whys = {part.why for part in parts} if last is None else {""}
    why = whys.pop() if len(whys) == 1 else ""
    return Stretch(parts[0].first, last or parts[-1].last, sum(part.count for part in parts), why, is_rest=True)


def _hash64(job: str, nominal: datetime) -> int:
    text = f"{job}@{nominal.astimezone(UTC).isoformat()}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
