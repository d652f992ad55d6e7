"""Everything that a schedule may say is read, and everything that is wrong with it is named with its place."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Job, ScheduleTable
from kova_auto.core.schedule.cron import parse_cron
from kova_auto.core.schedule.exclusions import Calendar, Exclusions, parse_hours
from kova_auto.core.schedule.timetable import Timetable
from kova_auto.core.schedule.triggers import CronTrigger, EveryTrigger, StartupTrigger
from kova_auto.core.toml.places import spell
from kova_auto.scheduling.triggers import Calendars, ScheduleReading, timetable_of

BERLIN = ZoneInfo("Europe/Berlin")
HOLIDAYS: Calendars = {"holidays": frozenset({date(2026, 12, 25)}), "fairs": frozenset({date(2026, 5, 4)})}
BOUND = "wanted a date, or a date and a time"
WEEKDAY = "wanted a weekday as SAT, or a range as FRI-SUN"


def job(**schedule: object) -> Job:
    table = ScheduleTable.model_validate(schedule) if schedule else None
    return Job(name="j", path="/j.toml", prompt="x", workspace="/", schedule=table)


def problems(calendars: Calendars | None = None, **schedule: object) -> list[str]:
    reading = ScheduleReading(ScheduleTable.model_validate(schedule), calendars=calendars)
    reading.timetable("j")
    return [
        f"{spell(key)}: {problem.message}{f' ({problem.hint})' if problem.hint else ''}"
        for key, problem in reading.problems
    ]


def test_everything_that_is_laid_over_a_schedule_is_read_in_its_zone() -> None:
    found = timetable_of(
        job(
            cron="30 8 * * *",
            timezone="Europe/Berlin",
            start=date(2026, 1, 1),
            end="2027-01-01T12:00",
            exclude={
                "dates": [date(2026, 5, 1), "2026-05-02"],
                "weekdays": ["SAT", "sunday"],
                "hours": ["22:00-06:00"],
                "calendars": ["holidays"],
            },
            jitter="5m",
        ),
        calendars=HOLIDAYS,
    )
    assert found == Timetable(
        job="j",
        trigger=CronTrigger((parse_cron("30 8 * * *"),), BERLIN),
        zone=BERLIN,
        start=datetime(2025, 12, 31, 23, tzinfo=UTC),
        end=datetime(2027, 1, 1, 11, tzinfo=UTC),
        exclude=Exclusions(
            frozenset({date(2026, 5, 1), date(2026, 5, 2)}),
            0b1000001,
            (parse_hours("22:00-06:00"),),
            (Calendar("holidays", HOLIDAYS["holidays"]),),
        ),
        jitter=timedelta(minutes=5),
    )


def test_a_schedule_without_any_of_it_is_its_trigger_alone() -> None:
    assert timetable_of(job(on="startup")) == Timetable("j", StartupTrigger(), ZoneInfo("UTC"))
    seen_at = datetime(2026, 1, 1, tzinfo=UTC)
    assert timetable_of(job(every="1h"), seen_at) == Timetable(
        "j", EveryTrigger(timedelta(hours=1), seen_at), ZoneInfo("UTC")
    )


def test_a_job_that_only_a_person_makes_run_has_no_timetable() -> None:
    assert timetable_of(job()) is None


def test_bounds_and_exclusions_are_laid_over_what_no_clock_implies() -> None:
    hook = {"source": "github", "secret": {"env": "A"}}
    found = timetable_of(job(webhook=hook, start="2026-12-01", exclude={"weekdays": ["SAT"]}))

    assert found is not None
    assert [found.covers(datetime(2026, 11, 30, tzinfo=UTC)), found.covers(datetime(2026, 12, 1, tzinfo=UTC))] == [
        False,
        True,
    ]
    assert found.next_nominal(datetime(2026, 12, 1, tzinfo=UTC)) is None
    assert found.why_excluded(datetime(2026, 12, 5, tzinfo=UTC)) == "excluded: weekday SAT"


def test_where_the_settings_are_not_known_a_calendar_excludes_nothing() -> None:
    found = timetable_of(job(cron="@daily", exclude={"calendars": ["holidays"]}))
    assert found is not None
    assert found.exclude == Exclusions(calendars=(Calendar("holidays", frozenset()),))


def test_a_schedule_that_makes_no_sense_is_never_a_timetable() -> None:
    with pytest.raises(ConfigError, match="after the start"):
        timetable_of(job(cron="@daily", start="2027-01-01", end="2026-01-01"))


WRONG = {
    "bounds": (
        {"cron": "@daily", "start": "soon", "end": "2026-02-30"},
        [
            f"start: {BOUND}, found 'soon' (for example 2026-01-01, or 2026-01-01T09:00)",
            f"end: {BOUND}, found '2026-02-30' (for example 2026-01-01, or 2026-01-01T09:00)",
        ],
    ),
    "an end that is the start": (
        {"cron": "@daily", "start": "2026-01-01", "end": "2026-01-01"},
        ["end: wanted an end after the start, found '2026-01-01' (the end is not included)"],
    ),
    "nothing between the bounds": (
        {"cron": "0 0 29 2 *", "start": "2026-01-01", "end": "2027-01-01"},
        ["end: wanted an instant from the start to before the end, found none"],
    ),
    "nothing after the start": (
        {"at": "2025-12-24T09:00", "start": "2026-01-01"},
        ["start: wanted an instant from the start to before the end, found none"],
    ),
    "exclusions": (
        {
            "cron": "@daily",
            "exclude": {
                "dates": ["2026-12-25", "Christmas"],
                "weekdays": ["Samstag"],
                "hours": ["22-06"],
                "calendars": ["holydays", "x"],
            },
        },
        [
            "exclude.dates[1]: wanted a date, found 'Christmas' (for example 2026-12-25)",
            f"exclude.weekdays[0]: {WEEKDAY}, found 'Samstag' (one of MON, TUE, WED, THU, FRI, SAT, SUN)",
            (
                "exclude.hours[0]: wanted a stretch of the day as 22:00-06:00, found '22-06'"
                " (from 00:00 to 24:00; it may go over midnight)"
            ),
            "exclude.calendars[0]: no calendar is called 'holydays' (did you mean holidays?)",
            "exclude.calendars[1]: no calendar is called 'x' (known here: fairs, holidays)",
        ],
    ),
    "every weekday": (
        {"cron": "@daily", "exclude": {"weekdays": ["MON-FRI", "SAT", "SUN"]}},
        ["exclude.weekdays: wanted at least one weekday that is left, found none"],
    ),
    "every hour": (
        {"cron": "@daily", "exclude": {"hours": ["00:00-12:00", "12:00-24:00"]}},
        ["exclude.hours: wanted at least one minute of the day that is left, found none"],
    ),
    "every instant": (
        {"cron": "0 9 * * SAT", "exclude": {"weekdays": ["SAT"]}},
        ["exclude: wanted an instant that is left, found every one excluded (excluded: weekday SAT)"],
    ),
    "an anchor of nothing": (
        {"cron": "@daily", "anchor": "2026-01-01T00:00"},
        ["anchor: only every has a grid that begins somewhere (leave it out)"],
    ),
    "parents": (
        {"after": [{"job": "a"}, {"job": "b", "within": "0s"}, {"job": "a", "on": "any"}]},
        [
            "after[1].within: wanted more than 0s, found 0s (leave it out where it may be long)",
            "after[2].job: wanted each job once, found 'a' again (leave it out)",
        ],
    ),
    "no parents": ({"after": []}, ["after: wanted at least one, found an empty list"]),
}


@pytest.mark.parametrize(("schedule", "said"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_key(schedule: dict[str, object], said: list[str]) -> None:
    assert problems(HOLIDAYS, **schedule) == said


def test_a_calendar_of_settings_that_have_none_is_to_be_added() -> None:
    assert problems({}, cron="@daily", exclude={"calendars": ["holidays"]}) == [
        "exclude.calendars[0]: no calendar is called 'holidays' (add [calendars.holidays] to the settings)"
    ]


def test_what_is_left_of_a_grid_is_judged_once_it_is_known_where_it_begins() -> None:
    table = ScheduleTable.model_validate({"every": "24h", "exclude": {"hours": ["09:00-10:00"]}})
    first, nine = ScheduleReading(table), datetime(2026, 1, 1, 9, tzinfo=UTC)
    assert (first.timetable("j") is not None, first.problems) == (True, [])
    again = ScheduleReading(table, first_seen_at=nine)
    again.timetable("j")
    assert [spell(key) for key, _ in again.problems] == ["exclude"]


def test_a_zone_of_the_settings_counts_where_the_schedule_names_none() -> None:
    # 09:00 in winter is 10:00 in summer, where clocks change.
    table = ScheduleTable.model_validate(
        {"every": "24h", "anchor": "2026-01-01T09:00", "exclude": {"hours": ["09:00-10:00"]}}
    )
    found = [ScheduleReading(table, timezone=zone) for zone in ("UTC", "Europe/Berlin")]
    assert [(reading.timetable("j") is not None, len(reading.problems)) for reading in found] == [(True, 1), (True, 0)]
