"""Public reports against other schedulers, each as what should have happened."""

from __future__ import annotations

import pytest

from tests.core.schedule.schedule_oracle import fires

REPORTS = [
    (
        "weekday 4 is Thursday (apscheduler#286)",
        "30 7 * * 4",
        "UTC",
        "2026-01-01T08:00Z",
        ["2026-01-08T07:30:00+00:00"],
    ),
    (
        "an hour after the second pass comes the next hour (apscheduler#1021, #980)",
        "30 * * * *",
        "Europe/Helsinki",
        "2017-10-29T03:45+02:00",
        ["2017-10-29T04:30:00+02:00"],
    ),
    (
        "a time in a gap fires at the gap's end (apscheduler#1059)",
        "0 2 * * *",
        "US/Eastern",
        "2013-03-10T00:00-05:00",
        ["2013-03-10T03:00:00-04:00"],
    ),
    (
        "weekdays begin on Monday after a spring weekend (apscheduler#529)",
        "0 0 * * 1-5",
        "US/Central",
        "2021-03-12T00:00:01-06:00",
        ["2021-03-15T00:00:00-05:00", "2021-03-16T00:00:00-05:00"],
    ),
    (
        "the day after a spring change has its midnight (apscheduler#606)",
        "0 0 * * *",
        "US/Pacific",
        "2022-03-13T00:00-08:00",
        ["2022-03-14T00:00:00-07:00", "2022-03-15T00:00:00-07:00"],
    ),
    (
        "every month has its first (apscheduler 3.11)",
        "0 0 1 * *",
        "Europe/Berlin",
        "2026-02-27T00:00Z",
        ["2026-03-01T00:00:00+01:00", "2026-04-01T00:00:00+02:00"],
    ),
    (
        "each second of a second pass fires (croner#343)",
        "* * * * * *",
        "Europe/Vienna",
        "2025-10-26T02:59:59+02:00",
        ["2025-10-26T02:00:00+01:00", "2025-10-26T02:00:01+01:00"],
    ),
    (
        "each minute of a second pass fires once (croner#286)",
        "* * * * *",
        "America/Los_Angeles",
        "2026-11-01T01:58-07:00",
        ["2026-11-01T01:59:00-07:00", "2026-11-01T01:00:00-08:00", "2026-11-01T01:01:00-08:00"],
    ),
    (
        "minute 0 is looked up after a gap of half an hour (pallets-eco/croniter#258)",
        "0 * * * *",
        "Australia/Lord_Howe",
        "2019-10-06T01:43+10:30",
        ["2019-10-06T03:00:00+11:00"],
    ),
    (
        "minute 58 is moved to the end of half an hour's gap (cronsim)",
        "58 * * * *",
        "Australia/Lord_Howe",
        "2026-10-03T14:00Z",
        [
            "2026-10-04T00:58:00+10:30",
            "2026-10-04T01:58:00+10:30",
            "2026-10-04T02:58:00+11:00",
            "2026-10-04T03:58:00+11:00",
        ],
    ),
    (
        "a fixed time is over in the second pass (cronsim)",
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-25T01:00Z",
        ["2026-10-26T02:30:00+01:00"],
    ),
    (
        "a minute of every hour fires in both passes (taichino/croniter#91)",
        "30 * * * *",
        "Europe/Vienna",
        "2017-10-29T02:00+02:00",
        ["2017-10-29T02:30:00+02:00", "2017-10-29T02:30:00+01:00", "2017-10-29T03:30:00+01:00"],
    ),
    (
        "a time after the gap keeps its hour (sentry#66868)",
        "0 5 * * *",
        "America/New_York",
        "2024-03-10T00:00-05:00",
        ["2024-03-10T05:00:00-04:00"],
    ),
    (
        "a gap of two hours has its end (cron-parser#435)",
        "30 1 * * *",
        "Antarctica/Troll",
        "2026-03-29T00:00Z",
        ["2026-03-29T03:00:00+02:00"],
    ),
    (
        "an hour before the change back is an hour later (celery#10107)",
        "0 * * * *",
        "US/Pacific",
        "2026-11-01T08:00Z",
        ["2026-11-01T01:00:00-08:00"],
    ),
    (
        "every fourth hour goes on after a gap (airflow#30088)",
        "20 */4 * * *",
        "US/Pacific",
        "2023-03-12T00:20-08:00",
        ["2023-03-12T04:20:00-07:00"],
    ),
    (
        "a start within the second pass goes on there (qwen-code#11720)",
        "* * * * *",
        "America/New_York",
        "2026-11-01T06:30:15Z",
        ["2026-11-01T01:31:00-05:00"],
    ),
    (
        "a week ends on Sunday even if that has 23 hours (cronie#218)",
        "0 12 * * 0",
        "Europe/Berlin",
        "2022-03-24T12:00+01:00",
        ["2022-03-27T12:00:00+02:00"],
    ),
    (
        "each half minute of a second pass fires (node-cron#492)",
        "*/30 * * * * *",
        "Europe/Berlin",
        "2026-10-25T00:59:30Z",
        ["2026-10-25T02:00:00+01:00", "2026-10-25T02:00:30+01:00"],
    ),
    (
        "a step that begins in a gap goes on the same day (systemd#13745)",
        "30 2-23/4 * * *",
        "Australia/Sydney",
        "2019-10-06T00:00+10:00",
        ["2019-10-06T03:00:00+11:00", "2019-10-06T06:30:00+11:00", "2019-10-06T10:30:00+11:00"],
    ),
    (
        "each minute fires in both passes (systemd#8647)",
        "* * * * *",
        "Europe/Berlin",
        "2026-10-25T00:59Z",
        ["2026-10-25T02:00:00+01:00", "2026-10-25T02:01:00+01:00"],
    ),
    (
        "a daily time is not lost in a gap (systemd#5595)",
        "0 2 * * *",
        "Europe/Berlin",
        "2026-03-28T02:00Z",
        ["2026-03-29T03:00:00+02:00", "2026-03-30T02:00:00+02:00"],
    ),
    (
        "nothing is repeated across a spring change (croner#142)",
        "*/20 1-3 * * *",
        "Europe/Berlin",
        "2026-03-29T00:30Z",
        [
            "2026-03-29T01:40:00+01:00",
            "2026-03-29T03:00:00+02:00",
            "2026-03-29T03:20:00+02:00",
            "2026-03-29T03:40:00+02:00",
            "2026-03-30T01:00:00+02:00",
        ],
    ),
    (
        "a list of weekdays has all its days (openclaw#12327)",
        "30 9 * * 0,1,3,5",
        "Asia/Kolkata",
        "2026-03-02T09:00+05:30",
        ["2026-03-02T09:30:00+05:30", "2026-03-04T09:30:00+05:30", "2026-03-06T09:30:00+05:30"],
    ),
    (
        "six fields begin with the second (openclaw#77867)",
        "0 0 21 * * *",
        "UTC",
        "2026-03-02T20:00Z",
        ["2026-03-02T21:00:00+00:00", "2026-03-03T21:00:00+00:00"],
    ),
    (
        "weekdays are the zone's (claude-code#64372)",
        "10 4 * * 1-5",
        "Asia/Singapore",
        "2026-03-01T20:09Z",
        ["2026-03-02T04:10:00+08:00"],
    ),
    (
        "a time keeps its hour over both changes of a year (hermes-agent#109532)",
        "0 9 8 3,11 *",
        "America/Toronto",
        "2026-03-07T12:00Z",
        ["2026-03-08T09:00:00-04:00", "2026-11-08T09:00:00-05:00"],
    ),
    (
        "7 is Sunday (apscheduler#349)",
        "0 0 * * 5-7",
        "UTC",
        "2026-03-04T00:00Z",
        ["2026-03-06T00:00:00+00:00", "2026-03-07T00:00:00+00:00", "2026-03-08T00:00:00+00:00"],
    ),
]


@pytest.mark.parametrize(
    ("expression", "zone", "start", "expected"), [row[1:] for row in REPORTS], ids=[row[0] for row in REPORTS]
)
def test_it_fires_when_it_should(expression: str, zone: str, start: str, expected: list[str]) -> None:
    assert fires(expression, zone, start, len(expected)) == expected


def test_in_half_an_hours_gap_a_fixed_time_moves_to_the_end_and_a_wildcard_does_not() -> None:
    """The other library said 02:30 when asked for the one before (pallets-eco/croniter#258)."""
    start, zone = "2019-10-05T15:29:59.999999Z", "Australia/Lord_Howe"
    assert fires("0 2 * * *", zone, start, 1) == ["2019-10-06T02:30:00+11:00"]
    assert fires("0 * * * *", zone, start, 1) == ["2019-10-06T03:00:00+11:00"]


def test_a_restriction_of_both_day_fields_means_either() -> None:
    """So say apscheduler's users (Octop PR #904) and parse-crontab's (#49)."""
    found = fires("0 0 13 * 5", "UTC", "2025-12-31T00:00Z", 62)
    assert [moment[:4] for moment in found] == ["2026"] * 61 + ["2027"]
