"""Turn a job's `[schedule]` into the trigger that implies its instants."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TypeVar
from zoneinfo import ZoneInfo

from kova_auto.core.errors import ConfigError
from kova_auto.core.job import JobFile, ScheduleTable
from kova_auto.core.schedule.cron import Cron, parse_cron
from kova_auto.core.schedule.triggers import AtTrigger, CronTrigger, EveryTrigger, Trigger, parse_at
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.toml.places import Key

T = TypeVar("T")
V = TypeVar("V")

UTC_ZONE: Final = "UTC"
GRID_START: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Where the grid of `every` begins if the schedule names no anchor: the same in every process, and after a restart."""


def trigger_of(job: JobFile) -> Trigger | None:
    """Return what fires a job; None for one that is only run by hand, or by something other than the clock.

    Raises:
        ConfigError: Its schedule makes no sense; never for a job that `load_job` returned.
    """
    if job.schedule is None:
        return None
    reading = ScheduleReading(job.schedule)
    trigger = reading.trigger()
    for _, problem in reading.problems:
        raise problem
    return trigger


class ScheduleReading:
    """Read a schedule, and collect everything that is wrong with it.

    Attributes:
        problems: Each with its key inside the table.
    """

    def __init__(self, table: ScheduleTable) -> None:
        """Read the zone first: everything else is said in it."""
        self.table = table
        self.problems: list[tuple[Key, ConfigError]] = []
        self.zone = self._try(("timezone",), parse_zone, table.timezone or UTC_ZONE) or ZoneInfo(UTC_ZONE)

    def trigger(self) -> Trigger | None:
        """Return what the table implies, as far as it can be read."""
        table = self.table
        if table.cron is not None:
            return CronTrigger(self._crons(table.cron), self.zone)
        if table.every is not None:
            anchor = self._anchor()
            return self._try(("every",), lambda every: EveryTrigger(every, anchor), table.every)
        if table.at is not None:
            return AtTrigger(self._instants(table.at))
        return None

    def _crons(self, written: str | tuple[str, ...]) -> tuple[Cron, ...]:
        return self._each(("cron",), parse_cron, written)

    def _instants(self, written: str | tuple[str, ...]) -> tuple[datetime, ...]:
        return self._each(("at",), lambda text: parse_at(text, self.zone), written)

    def _anchor(self) -> datetime:
        if self.table.anchor is None:
            return GRID_START
        return self._try(("anchor",), lambda text: parse_at(text, self.zone), self.table.anchor) or GRID_START

    def _each(self, key: Key, parse: Callable[[str], T], written: str | tuple[str, ...]) -> tuple[T, ...]:
        """Read one text, or each of a list."""
        if isinstance(written, str):
            found = [self._try(key, parse, written)]
        else:
            found = [self._try((*key, index), parse, text) for index, text in enumerate(written)]
            if not written:
                self.problems.append((key, ConfigError("wanted at least one, found an empty list")))
        return tuple(value for value in found if value is not None)

    def _try(self, key: Key, parse: Callable[[V], T], written: V) -> T | None:
        try:
            return parse(written)
        except ConfigError as exc:
            self.problems.append((key, exc))
            return None
