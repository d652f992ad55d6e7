"""When a job runs, in one sentence for a person."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import groupby
from typing import Final, assert_never
from zoneinfo import ZoneInfo

from kova_auto.core.schedule.cron import Cron
from kova_auto.core.schedule.date_words import say_date, say_dates, say_every
from kova_auto.core.schedule.exclusions import Exclusions
from kova_auto.core.schedule.time_words import ALL_HOURS, say_duration, say_times
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
)
from kova_auto.core.schedule.words import listing
from kova_auto.core.webhook_source import WebhookSource

_SHOWN: Final = 3
_ENDED: Final = {ParentEnding.SUCCESS: "succeeded", ParentEnding.FAILURE: "failed", ParentEnding.ANY: "ended"}

_SENDERS: Final = {
    WebhookSource.GITHUB: "GitHub",
    WebhookSource.SLACK: "Slack",
    WebhookSource.STANDARD: "who has the signing secret",
    WebhookSource.STRIPE: "Stripe",
    WebhookSource.GITLAB: "GitLab",
    WebhookSource.TOKEN: "who has the token",
}


def sentence(when: Trigger | Timetable) -> str:
    """Say when something fires, as "at 08:30 on weekdays, Berlin time, not on 25 December 2026"."""
    match when:
        case Timetable():
            return _say_timetable(when)
        case CronTrigger(crons, zone):
            return f"{'; '.join(dict.fromkeys(map(_say_cron, crons)))}, {_say_zone(zone)}"
        case EveryTrigger(every, is_unseen=True):
            return f"every {_say_period(every)}, counted from when a service sees it first"
        case EveryTrigger(every, anchor):
            return f"every {_say_period(every)}, counted from {anchor.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        case AtTrigger(instants):
            moments = [f"{moment:%Y-%m-%d %H:%M}" for moment in sorted({moment.astimezone(UTC) for moment in instants})]
            return f"at {listing(_shortened(moments))} UTC"
        case StartupTrigger():
            return "whenever the service starts"
        case AfterTrigger(parents):
            return f"after {_say_parents(parents)}"
        case WebhookTrigger():
            return _say_webhook(when)
        case _:
            assert_never(when)


def _say_timetable(timetable: Timetable) -> str:
    bounds = {"from": timetable.start, "before": timetable.end}
    local = [f"{word} {_say_bound(at, timetable.zone)}" for word, at in bounds.items() if at is not None]
    if timetable.exclude:
        local.append(f"not {_say_exclusions(timetable.exclude)}")
    if local and not isinstance(timetable.trigger, CronTrigger):
        local.append(_say_zone(timetable.zone))
    jitter = [f"up to {say_duration(timetable.jitter)} later"] if timetable.jitter else []
    return ", ".join([sentence(timetable.trigger), *local, *jitter])


def _say_cron(cron: Cron) -> str:
    times, dates = say_times(cron.times), say_dates(cron.dates)
    if not dates and cron.times.hours != ALL_HOURS and times.startswith("at "):
        dates = "every day"
    return f"{times} {dates}".strip()


def _say_period(every: timedelta) -> str:
    """Say what comes after "every": "hour", "30 seconds", "1 hour and 30 minutes"."""
    words = say_duration(every)
    return words.removeprefix("1 ") if words.count(" ") == 1 else words


def _say_zone(zone: ZoneInfo) -> str:
    if zone.key in ("UTC", "Etc/UTC"):
        return "UTC"
    if zone.key.startswith("Etc/"):  # Etc/GMT+5 is five hours behind: a sign to be shown only with its whole name
        return zone.key
    return f"{zone.key.rpartition('/')[2].replace('_', ' ')} time"


def _say_bound(at: datetime, zone: ZoneInfo) -> str:
    wall = at.astimezone(zone)
    clock = "" if wall.time() == time() else f"{wall: %H:%M:%S}" if wall.second else f"{wall: %H:%M}"
    return f"{say_date(wall.date())}{clock}"


def _say_exclusions(exclude: Exclusions) -> str:
    days = [say_every(exclude.weekdays)] if exclude.weekdays else []
    days += _shortened([say_date(day) for day in sorted(exclude.dates)], "dates")
    days += [f"days of {calendar.name}" for calendar in exclude.calendars]
    hours = [f"from {hours.first:%H:%M} to {hours.until:%H:%M}" for hours in exclude.hours]
    return listing([*(f"on {day}" for day in days[:1]), *days[1:], *hours], "or")


def _say_parents(parents: tuple[Parent, ...]) -> str:
    """Say who must have ended how; those of a kind together, their haste at the end where all share it."""
    hastes = {parent.within for parent in parents}
    shared = hastes.pop() if len(hastes) == 1 else None
    groups = [(kind, list(alike)) for kind, alike in groupby(parents, lambda parent: (parent.on, parent.within))]
    words = []
    for (ending, within), alike in groups:
        has = "has" if len(alike) == 1 else "have"
        haste = f" (within {say_duration(within)})" if within and not shared else ""
        words.append(f"{listing([parent.job for parent in alike])} {has} {_ENDED[ending]}{haste}")
    return f"{listing(words)}, within {say_duration(shared)}" if shared else listing(words)


def _say_webhook(when: WebhookTrigger) -> str:
    what = listing(_shortened(list(when.events)), "or") if when.events else "a request"
    who = f" by {listing(_shortened(list(when.actors)), 'or')}" if when.actors else ""
    return f"whenever {_SENDERS[when.source]} sends {what}{who}"


def _shortened(words: list[str], noun: str = "") -> list[str]:
    """Return the first few, and how many more there are."""
    more = len(words) - _SHOWN
    return [*words[:_SHOWN], f"{more} more {noun}".strip()] if more > 0 else words
