"""A trigger, in one sentence for a person."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Final, assert_never
from zoneinfo import ZoneInfo

from kova_auto.core.schedule.cron import Cron
from kova_auto.core.schedule.date_words import say_dates
from kova_auto.core.schedule.time_words import ALL_HOURS, say_times
from kova_auto.core.schedule.triggers import AtTrigger, CronTrigger, EveryTrigger, Trigger
from kova_auto.core.schedule.words import listing

_UNITS: Final = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))
_SHOWN_INSTANTS: Final = 3


def sentence(trigger: Trigger) -> str:
    """Say when a trigger fires, as "at 08:30 on weekdays, Berlin time"."""
    match trigger:
        case CronTrigger(crons, zone):
            return f"{'; '.join(dict.fromkeys(map(_say_cron, crons)))}, {_say_zone(zone)}"
        case EveryTrigger(every, anchor):
            return f"every {_say_duration(every)}, counted from {anchor.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        case AtTrigger(instants):
            moments = [f"{moment:%Y-%m-%d %H:%M}" for moment in sorted({moment.astimezone(UTC) for moment in instants})]
            shown, more = moments[:_SHOWN_INSTANTS], len(moments) - _SHOWN_INSTANTS
            return f"at {listing([*shown, f'{more} more'] if more > 0 else shown)} UTC"
        case _:
            assert_never(trigger)


def _say_cron(cron: Cron) -> str:
    times, dates = say_times(cron.times), say_dates(cron.dates)
    if not dates and cron.times.hours != ALL_HOURS and times.startswith("at "):
        dates = "every day"
    return f"{times} {dates}".strip()


def _say_zone(zone: ZoneInfo) -> str:
    if zone.key in ("UTC", "Etc/UTC"):
        return "UTC"
    if zone.key.startswith("Etc/"):  # Etc/GMT+5 is five hours behind: a sign to be shown only with its whole name
        return zone.key
    return f"{zone.key.rpartition('/')[2].replace('_', ' ')} time"


def _say_duration(duration: timedelta) -> str:
    words: list[str] = []
    for unit, length in _UNITS:
        count, duration = divmod(duration, length)
        if count:
            words.append(f"{count} {unit}{'s' if count > 1 else ''}")
    if duration:
        words.append(f"{duration.total_seconds():g} seconds")
    return listing(words)
