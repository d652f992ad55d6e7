"""Public reports against other schedulers, each as what should have happened."""

from __future__ import annotations

import pytest

from tests.core.schedule.schedule_oracle import fires

REPORTS = [
    ("apscheduler#286", "30 7 * * 4", "UTC", "2026-01-01T08:00Z", ["2026-01-08T07:30:00+00:00"]),
    ("apscheduler#1021", "30 * * * *", "Europe/Helsinki", "2017-10-29T03:45+02:00", ["2017-10-29T04:30:00+02:00"]),
    ("apscheduler#1059", "0 2 * * *", "US/Eastern", "2013-03-10T00:00-05:00", ["2013-03-10T03:00:00-04:00"]),
    (
        "apscheduler#529",
        "0 0 * * 1-5",
        "US/Central",
        "2021-03-12T00:00:01-06:00",
        ["2021-03-15T00:00:00-05:00", "2021-03-16T00:00:00-05:00"],
    ),
    (
        "apscheduler#606",
        "0 0 * * *",
        "US/Pacific",
        "2022-03-13T00:00-08:00",
        ["2022-03-14T00:00:00-07:00", "2022-03-15T00:00:00-07:00"],
    ),
    (
        "apscheduler 3.11 loses a month",
        "0 0 1 * *",
        "Europe/Berlin",
        "2026-02-27T00:00Z",
        ["2026-03-01T00:00:00+01:00", "2026-04-01T00:00:00+02:00"],
    ),
    (
        "croner#343",
        "* * * * * *",
        "Europe/Vienna",
        "2025-10-26T02:59:59+02:00",
        ["2025-10-26T02:00:00+01:00", "2025-10-26T02:00:01+01:00"],
    ),
    (
        "croner#286",
        "* * * * *",
        "America/Los_Angeles",
        "2026-11-01T01:58-07:00",
        ["2026-11-01T01:59:00-07:00", "2026-11-01T01:00:00-08:00", "2026-11-01T01:01:00-08:00"],
    ),
    (
        "croniter#258 (pallets-eco)",
        "0 * * * *",
        "Australia/Lord_Howe",
        "2019-10-06T01:43+10:30",
        ["2019-10-06T03:00:00+11:00"],
    ),
    (
        "cronsim: a minute lost in half an hour's gap",
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
        "cronsim: a firing in the past",
        "30 2 * * *",
        "Europe/Berlin",
        "2026-10-25T01:00Z",
        ["2026-10-26T02:30:00+01:00"],
    ),
    (
        "croniter#91 (taichino)",
        "30 * * * *",
        "Europe/Vienna",
        "2017-10-29T02:00+02:00",
        ["2017-10-29T02:30:00+02:00", "2017-10-29T02:30:00+01:00", "2017-10-29T03:30:00+01:00"],
    ),
    ("sentry#66868", "0 5 * * *", "America/New_York", "2024-03-10T00:00-05:00", ["2024-03-10T05:00:00-04:00"]),
    ("cron-parser#435", "30 1 * * *", "Antarctica/Troll", "2026-03-29T00:00Z", ["2026-03-29T03:00:00+02:00"]),
    ("celery#10107", "0 * * * *", "US/Pacific", "2026-11-01T08:00Z", ["2026-11-01T01:00:00-08:00"]),
    ("airflow#30088", "20 */4 * * *", "US/Pacific", "2023-03-12T00:20-08:00", ["2023-03-12T04:20:00-07:00"]),
    ("qwen-code#11720", "* * * * *", "America/New_York", "2026-11-01T06:30:15Z", ["2026-11-01T01:31:00-05:00"]),
    ("cronie#218", "0 12 * * 0", "Europe/Berlin", "2022-03-24T12:00+01:00", ["2022-03-27T12:00:00+02:00"]),
    (
        "node-cron#492",
        "*/30 * * * * *",
        "Europe/Berlin",
        "2026-10-25T00:59:30Z",
        ["2026-10-25T02:00:00+01:00", "2026-10-25T02:00:30+01:00"],
    ),
    (
        "systemd#13745",
        "30 2-23/4 * * *",
        "Australia/Sydney",
        "2019-10-06T00:00+10:00",
        ["2019-10-06T03:00:00+11:00", "2019-10-06T06:30:00+11:00", "2019-10-06T10:30:00+11:00"],
    ),
]


@pytest.mark.parametrize(
    ("expression", "zone", "start", "expected"), [row[1:] for row in REPORTS], ids=[row[0] for row in REPORTS]
)
def test_what_others_got_wrong_is_right(expression: str, zone: str, start: str, expected: list[str]) -> None:
    assert fires(expression, zone, start, len(expected)) == expected


def test_a_restriction_of_both_day_fields_means_either() -> None:
    found = fires("0 0 13 * 5", "UTC", "2025-12-31T00:00Z", 62)
    assert [moment[:4] for moment in found] == ["2026"] * 61 + ["2027"]
