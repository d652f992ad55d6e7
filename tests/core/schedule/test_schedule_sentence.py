"""How a schedule reads."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from kova_auto.core.schedule.cron import parse_cron
from kova_auto.core.schedule.sentence import sentence
from kova_auto.core.schedule.triggers import (
    AfterTrigger,
    AtTrigger,
    CronTrigger,
    EveryTrigger,
    Parent,
    ParentEnding,
    StartupTrigger,
    WebhookTrigger,
)
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.webhook_source import WebhookSource
from tests.core.schedule.schedule_oracle import utc
from tests.core.schedule.timetables import excluding, timetable

SENTENCES = {
    "30 8 * * MON-FRI": "at 08:30 on weekdays",
    "0 9 * * *": "at 09:00 every day",
    "0 8,12,18 * * SAT,SUN": "at 08:00, 12:00 and 18:00 on weekends",
    "15 30 2 * * *": "at 02:30:15 every day",
    "* * * * *": "every minute",
    "*/5 * * * *": "every 5 minutes",
    "*/15 8-17 * * 1-5": "every 15 minutes from 08:00 to 17:45 on weekdays",
    "*/15 */2 * * *": "every 15 minutes of hours 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20 and 22",
    "*/25 * * * *": "at minutes 0, 25 and 50 of every hour",
    "0-10 17 * * *": "at minutes 0 to 10 of hour 17 every day",
    "0 * * * *": "every hour",
    "58 * * * *": "every hour at minute 58",
    "10 */2 * * *": "every 2 hours at minute 10",
    "30 9-17 * * *": "every hour from 09:30 to 17:30",
    "0 9-17/2 * * *": "at 09:00, 11:00, 13:00, 15:00 and 17:00 every day",
    "*/15 * * * * *": "every 15 seconds",
    "10-12 * * * * *": "at seconds 10 to 12 of every minute",
    "*/20 * 9 * * *": "every 20 seconds of hour 9",
    "* 0 0 1 1 *": "every second of minute 0 of hour 0 on the 1st of January",
    "*/20 */30 * * * *": "every 20 seconds of minutes 0 and 30 of every hour",
    "0 0 * * SUN-TUE": "at 00:00 on Monday, Tuesday and Sunday",
    "0 0 * * 1-4,6": "at 00:00 on Monday to Thursday and Saturday",
    "0 0 1,2,15,23 * *": "at 00:00 on the 1st, 2nd, 15th and 23rd of the month",
    "0 0 11-13 * *": "at 00:00 on the 11th to 13th of the month",
    "0 0 L * *": "at 00:00 on the last day of the month",
    "0 0 LW 2-4 *": "at 00:00 on the last weekday of February to April",
    "0 0 1W,15 * *": "at 00:00 on the 15th and the weekday nearest the 1st of the month",
    "0 0 * 5 5#2": "at 00:00 on the second Friday of May",
    "0 0 * * FRIL": "at 00:00 on the last Friday of the month",
    "0 0 * * 1,2#1": "at 00:00 on Monday and the first Tuesday of the month",
    "0 0 * 2 *": "at 00:00 in February",
    "0 0 * DEC FRI": "at 00:00 on Friday in December",
    "0 0 13 * 5": "at 00:00 on the 13th of the month and also on Friday",
    "0 0 13 5 5": "at 00:00 on the 13th of the month and also on Friday in May",
    "0 0 13 * +5": "at 00:00 on the 13th of the month if that is Friday",
    "0 0 1-31 * 1": "at 00:00 every day",
    "0 0 13 * 0-6": "at 00:00 every day",
    "0 0 13 * +0-6": "at 00:00 on the 13th of the month",
    "0 0 12 1 1 * 2027,2029": "at 12:00 on the 1st of January in 2027 and 2029",
}


@pytest.mark.parametrize(("expression", "expected"), SENTENCES.items(), ids=SENTENCES)
def test_an_expression_reads_as_a_person_would_say_it(expression: str, expected: str) -> None:
    assert sentence(CronTrigger((parse_cron(expression),), parse_zone("UTC"))) == f"{expected}, UTC"


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("Europe/Berlin", "Berlin time"),
        ("America/Argentina/Buenos_Aires", "Buenos Aires time"),
        ("Etc/GMT+5", "Etc/GMT+5"),
        ("Etc/UTC", "UTC"),
        ("EST5EDT", "EST5EDT time"),
    ],
)
def test_the_zone_is_named_by_its_city(zone: str, said: str) -> None:
    assert sentence(CronTrigger((parse_cron("@daily"),), parse_zone(zone))) == f"at 00:00 every day, {said}"


def test_several_expressions_are_said_one_after_the_other_and_none_twice() -> None:
    crons = tuple(map(parse_cron, ("30 8 * * 1-5", "0 10 * * 6,0", "30 8 * * MON-FRI")))
    trigger = CronTrigger(crons, parse_zone("Europe/Berlin"))
    assert sentence(trigger) == "at 08:30 on weekdays; at 10:00 on weekends, Berlin time"


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (timedelta(minutes=90), "1 hour and 30 minutes"),
        (timedelta(hours=1), "hour"),
        (timedelta(days=1), "day"),
        (timedelta(days=2), "2 days"),
        (timedelta(seconds=5.5), "5.5 seconds"),
        (timedelta(days=1, hours=1, minutes=1, seconds=30), "1 day, 1 hour, 1 minute and 30 seconds"),
    ],
)
def test_an_interval_is_said_with_the_anchor_of_its_grid(length: timedelta, said: str) -> None:
    trigger = EveryTrigger(length, utc("2026-01-01T06:00"))
    assert sentence(trigger) == f"every {said}, counted from 2026-01-01 06:00:00 UTC"


def test_listed_instants_are_said_in_order_and_not_all() -> None:
    days = [utc("2026-01-01T08:00") + timedelta(days=count) for count in range(6)]
    assert sentence(AtTrigger((days[1], days[0], days[1]))) == "at 2026-01-01 08:00 and 2026-01-02 08:00 UTC"
    assert sentence(AtTrigger((days[0],))) == "at 2026-01-01 08:00 UTC"
    shown = "2026-01-01 08:00, 2026-01-02 08:00, 2026-01-03 08:00"
    assert sentence(AtTrigger(tuple(days))) == f"at {shown} and 3 more UTC"


@pytest.mark.parametrize(
    ("parents", "said"),
    [
        ((Parent("fetch"),), "after fetch has succeeded"),
        ((Parent("fetch", within=timedelta(hours=6)),), "after fetch has succeeded, within 6 hours"),
        (
            tuple(Parent(job, ParentEnding.FAILURE, timedelta(hours=1)) for job in ("a", "b", "c")),
            "after a, b and c have failed, within 1 hour",
        ),
        (
            (Parent("a", within=timedelta(minutes=90)), Parent("b", ParentEnding.ANY), Parent("c", ParentEnding.ANY)),
            "after a has succeeded (within 1 hour and 30 minutes) and b and c have ended",
        ),
    ],
)
def test_who_must_have_ended_is_said_with_how(parents: tuple[Parent, ...], said: str) -> None:
    assert sentence(AfterTrigger(parents)) == said


def test_a_start_of_the_service_is_said() -> None:
    assert sentence(StartupTrigger()) == "whenever the service starts"


MODIFIED = {
    "nothing": ({}, ""),
    "bounds": (
        {"start": "2025-12-31T23:00", "end": "2027-07-01T07:30"},
        ", from 1 January 2026, before 1 July 2027 09:30",
    ),
    "seconds": ({"start": "2026-01-01T08:00:05"}, ", from 1 January 2026 09:00:05"),
    "weekday": ({"exclude": excluding("SAT")}, ", not on Saturdays"),
    "weekend": ({"exclude": excluding("SAT", "SUN")}, ", not on weekends"),
    "weekdays": ({"exclude": excluding("MON-FRI")}, ", not on weekdays"),
    "range": ({"exclude": excluding("MON-WED")}, ", not on Mondays to Wednesdays"),
    "hours": (
        {"exclude": excluding(hours=("22:00-06:00", "12:00-13:00"))},
        ", not from 22:00 to 06:00 or from 12:00 to 13:00",
    ),
    "calendar": ({"exclude": excluding(holidays=("2026-12-25",))}, ", not on days of holidays"),
    "dates": (
        {"exclude": excluding(dates=tuple(f"2026-12-{day}" for day in (28, 24, 25, 26, 27)))},
        ", not on 24 December 2026, 25 December 2026, 26 December 2026 or 2 more dates",
    ),
    "jitter": ({"jitter": timedelta(minutes=5)}, ", up to 5 minutes later"),
    "everything": (
        {
            "start": "2025-12-31T23:00",
            "exclude": excluding("SAT", dates=("2026-12-25",), hours=("22:00-06:00",), holidays=("2026-12-26",)),
            "jitter": timedelta(seconds=1),
        },
        (
            ", from 1 January 2026, not on Saturdays, 25 December 2026, days of holidays or from 22:00 to 06:00"
            ", up to 1 second later"
        ),
    ),
}


@pytest.mark.parametrize(("modifiers", "said"), MODIFIED.values(), ids=MODIFIED)
def test_what_is_laid_over_a_schedule_follows_it(modifiers: dict[str, Any], said: str) -> None:
    assert sentence(timetable("30 8 * * MON-FRI", **modifiers)) == f"at 08:30 on weekdays, Berlin time{said}"


def test_the_zone_of_modifiers_is_named_where_the_trigger_has_none() -> None:
    hourly = EveryTrigger(timedelta(hours=1), utc("2026-01-01T06:00"))
    said = "every hour, counted from 2026-01-01 06:00:00 UTC"
    assert sentence(timetable(hourly, exclude=excluding("SUN"))) == f"{said}, not on Sundays, Berlin time"
    assert sentence(timetable(hourly, jitter=timedelta(minutes=5))) == f"{said}, up to 5 minutes later"
    assert sentence(timetable(StartupTrigger(), start="2026-07-01T00:00", zone="UTC")) == (
        "whenever the service starts, from 1 July 2026, UTC"
    )


@pytest.mark.parametrize(
    ("trigger", "said"),
    [
        (WebhookTrigger(WebhookSource.GITHUB), "whenever GitHub sends a request"),
        (
            WebhookTrigger(WebhookSource.GITHUB, ("push", "release.published"), ("ada", "bob")),
            "whenever GitHub sends push or release.published by ada or bob",
        ),
        (WebhookTrigger(WebhookSource.TOKEN), "whenever who has the token sends a request"),
        (
            WebhookTrigger(WebhookSource.STRIPE, ("a", "b", "c", "d", "e")),
            "whenever Stripe sends a, b, c or 2 more",
        ),
    ],
)
def test_who_starts_it_from_outside_is_said(trigger: WebhookTrigger, said: str) -> None:
    assert sentence(trigger) == said
