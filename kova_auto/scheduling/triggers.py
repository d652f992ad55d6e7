"""Turn a job's `[schedule]` into the trigger that implies its instants, and into its whole timetable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from kova_auto.core.errors import ConfigError
from kova_auto.core.job import After, Exclude, Job, JobFile, ScheduleTable
from kova_auto.core.schedule.cron import Cron, parse_cron
from kova_auto.core.schedule.exclusions import (
    NOTHING,
    Calendar,
    Exclusions,
    parse_date,
    parse_hours,
    parse_weekdays,
    union,
)
from kova_auto.core.schedule.search import TICK
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.schedule.triggers import (
    AfterTrigger,
    AtTrigger,
    CronTrigger,
    EveryTrigger,
    Parent,
    ParentEnding,
    StartupTrigger,
    Trigger,
    WebhookTrigger,
    parse_at,
    parse_bound,
)
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.toml.complaints import did_you_mean
from kova_auto.core.toml.places import Key

T = TypeVar("T")
V = TypeVar("V")

Calendars = Mapping[str, frozenset[date]]
"""The dates of each calendar of the settings, by its name."""

_parsed = lru_cache(maxsize=4096)(parse_cron)
"""Among thousands of jobs most expressions are those of others too; one that was parsed never changes."""

UTC_ZONE: Final = "UTC"
GRID_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Where the grid of `every` begins for a job that nobody has seen yet, where not even now is known: it is checked."""

_LOOK_FROM: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Where it is looked whether anything is left of a schedule that has no start: clocks are as they are today."""


def trigger_of(job: JobFile, first_seen_at: datetime | None = None) -> Trigger | None:
    """Return what fires a job; None for one that is only run by hand.

    Args:
        job: Whose schedule it is.
        first_seen_at: When this schedule of the job was first seen, which is where the grid of `every` begins if it
            names no anchor, cut to the second; None where it was not seen yet.

    Raises:
        ConfigError: Its schedule makes no sense; never for a job that `load_job` returned.
    """
    if job.schedule is None:
        return None
    reading = ScheduleReading(job.schedule, first_seen_at=first_seen_at)
    trigger = reading.trigger()
    reading.raise_any()
    return trigger


def timetable_of(
    job: Job,
    first_seen_at: datetime | None = None,
    calendars: Calendars | None = None,
    *,
    now: datetime | None = None,
) -> Timetable | None:
    """Return when a job falls due; None for one that is only run by hand.

    Args:
        job: Whose schedule it is.
        first_seen_at: As for `trigger_of`.
        calendars: Of the settings; None where these are not known, so that no calendar excludes anything.
        now: Stands for when it will first be seen, where it was not.

    Raises:
        ConfigError: Its schedule makes no sense; never for a job that `load_job` returned with the same calendars.
    """
    if job.schedule is None:
        return None
    reading = ScheduleReading(job.schedule, first_seen_at=first_seen_at, calendars=calendars, now=now)
    timetable = reading.timetable(job.name)
    reading.raise_any()
    return timetable


class ScheduleReading:
    """Read a schedule, and collect everything that is wrong with it.

    Attributes:
        problems: Each with its key inside the table.
    """

    def __init__(
        self,
        table: ScheduleTable,
        *,
        timezone: str = UTC_ZONE,
        first_seen_at: datetime | None = None,
        calendars: Calendars | None = None,
        now: datetime | None = None,
    ) -> None:
        """Read the zone first: everything else is said in it.

        Args:
            table: As the file has it.
            timezone: For a table that names none.
            first_seen_at: As for `trigger_of`.
            calendars: As for `timetable_of`.
            now: As for `timetable_of`.
        """
        self.table, self.first_seen_at, self.calendars, self._now = table, first_seen_at, calendars, now
        self.problems: list[tuple[Key, ConfigError]] = []
        self.zone = self._try(("timezone",), parse_zone, table.timezone or timezone) or ZoneInfo(UTC_ZONE)

    def raise_any(self) -> None:
        """Raise the first problem, if there is one."""
        for _, problem in self.problems:
            raise problem

    def trigger(self) -> Trigger | None:
        """Return what the table implies, as far as it can be read."""
        table = self.table
        if table.anchor is not None and table.every is None:
            self._problem(("anchor",), "only every has a grid that begins somewhere", "leave it out")
        if table.cron is not None:
            return CronTrigger(self._crons(table.cron), self.zone)
        if table.every is not None:
            anchor, is_unseen = self._anchor(), table.anchor is None and self.first_seen_at is None
            return self._try(("every",), lambda every: EveryTrigger(every, anchor, is_unseen), table.every)
        if table.at is not None:
            return AtTrigger(self._instants(table.at))
        if table.after is not None:
            return AfterTrigger(self._parents(table.after))
        if table.webhook is not None:
            return WebhookTrigger(table.webhook.source, table.webhook.events, table.webhook.actors)
        return StartupTrigger() if table.on is not None else None

    def timetable(self, job: str) -> Timetable | None:
        """Return when a job of this name falls due, as far as the table can be read."""
        trigger, table = self.trigger(), self.table
        start, end = self._bound("start", table.start), self._bound("end", table.end)
        if start and end and start >= end:
            self._problem(("end",), f"wanted an end after the start, found {table.end!r}", "the end is not included")
        exclude = self._exclusions(table.exclude) if table.exclude else NOTHING
        if trigger is None:
            return None
        found = Timetable(job, trigger, self.zone, start, end, exclude, table.jitter)
        if not self.problems and self._is_known(trigger):
            self._check_what_is_left(found)
        return found

    def _crons(self, written: str | tuple[str, ...]) -> tuple[Cron, ...]:
        return self._each(("cron",), _parsed, written)

    def _instants(self, written: str | tuple[str, ...]) -> tuple[datetime, ...]:
        return self._each(("at",), lambda text: parse_at(text, self.zone), written)

    def _anchor(self) -> datetime:
        usual = (self.first_seen_at or self._now or GRID_START).replace(microsecond=0)
        if self.table.anchor is None:
            return usual
        return self._try(("anchor",), lambda text: parse_at(text, self.zone), self.table.anchor) or usual

    def _parents(self, written: tuple[After, ...]) -> tuple[Parent, ...]:
        found: dict[str, Parent] = {}
        if not written:
            self._problem(("after",), "wanted at least one, found an empty list")
        for index, after in enumerate(written):
            key: Key = ("after", index)
            if after.job in found:
                self._problem((*key, "job"), f"wanted each job once, found {after.job!r} again", "leave it out")
            parent = self._try((*key, "within"), _parent, after)
            if parent:
                found.setdefault(after.job, parent)
        return tuple(found.values())

    def _bound(self, key: str, written: str | None) -> datetime | None:
        if written is None:
            return None
        return self._try((key,), lambda text: parse_bound(text, self.zone), written)

    def _exclusions(self, table: Exclude) -> Exclusions:
        key = "exclude"
        dates = self._all((key, "dates"), parse_date, table.dates)
        weekdays = self._all((key, "weekdays"), parse_weekdays, table.weekdays)
        hours = self._all((key, "hours"), parse_hours, table.hours)
        calendars = self._all((key, "calendars"), self._calendar, table.calendars)
        try:
            return Exclusions(frozenset(dates), union(weekdays), hours, calendars)
        except ConfigError as exc:
            self.problems.append(((key, exc.key), exc))
            return NOTHING

    def _calendar(self, name: str) -> Calendar:
        if self.calendars is None:
            return Calendar(name, frozenset())
        if name not in self.calendars:
            hint = did_you_mean(name, sorted(self.calendars)) or f"add [calendars.{name}] to the settings"
            message = f"no calendar is called {name!r}"
            raise ConfigError(message, key="calendars", hint=hint)
        return Calendar(name, self.calendars[name])

    def _is_known(self, trigger: Trigger) -> bool:
        """Say whether the clock implies instants that are known already."""
        if isinstance(trigger, EveryTrigger):
            return self.table.anchor is not None or self.first_seen_at is not None
        return isinstance(trigger, CronTrigger | AtTrigger)

    def _check_what_is_left(self, timetable: Timetable) -> None:
        """Refuse bounds and exclusions that leave nothing."""
        if not (timetable.start or timetable.end or timetable.exclude):
            return
        before = (timetable.start or _LOOK_FROM) - TICK
        first = timetable.next_nominal(before)
        if first is None:
            if timetable.start or timetable.end:
                key = "end" if timetable.end else "start"
                self._problem((key,), "wanted an instant from the start to before the end, found none")
        elif timetable.exclude and timetable.next_open(before) is None:
            why = timetable.why_excluded(first)
            self._problem(("exclude",), "wanted an instant that is left, found every one excluded", why)

    def _each(self, key: Key, parse: Callable[[str], T], written: str | tuple[str, ...]) -> tuple[T, ...]:
        """Read one text, or each of a list, which may not be empty."""
        if isinstance(written, str):
            found = self._try(key, parse, written)
            return () if found is None else (found,)
        if not written:
            self._problem(key, "wanted at least one, found an empty list")
        return self._all(key, parse, written)

    def _all(self, key: Key, parse: Callable[[str], T], written: tuple[str, ...]) -> tuple[T, ...]:
        found = [self._try((*key, index), parse, text) for index, text in enumerate(written)]
        return tuple(value for value in found if value is not None)

    def _try(self, key: Key, parse: Callable[[V], T], written: V) -> T | None:
        try:
            return parse(written)
        except ConfigError as exc:
            self.problems.append((key, exc))
            return None

    def _problem(self, key: Key, message: str, hint: str = "") -> None:
        self.problems.append((key, ConfigError(message, hint=hint)))


def _parent(after: After) -> Parent:
    return Parent(after.job, ParentEnding(after.on), after.within)
