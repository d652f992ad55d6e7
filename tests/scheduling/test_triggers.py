"""A job's `[schedule]` becomes the trigger that implies its instants."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName, run_id
from kova_auto.core.job import Job, ScheduleTable
from kova_auto.core.schedule.cron import parse_cron
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
    occurrences,
)
from kova_auto.core.webhook_source import WebhookSource
from kova_auto.scheduling.triggers import trigger_of

BERLIN = ZoneInfo("Europe/Berlin")
GITHUB = {"source": "github", "secret": {"env": "A"}, "events": ["push"]}

SEEN = datetime(2026, 5, 1, 9, 17, 3, 482_913, tzinfo=UTC)


def job(**schedule: object) -> Job:
    table = ScheduleTable.model_validate(schedule) if schedule else None
    return Job(name="j", path="/j.toml", prompt="x", workspace="/", schedule=table)


@pytest.mark.parametrize(
    ("schedule", "trigger"),
    [
        (
            {"cron": ["@daily", "0 12 * * SUN"], "timezone": "Europe/Berlin"},
            CronTrigger((parse_cron("@daily"), parse_cron("0 12 * * SUN")), BERLIN),
        ),
        ({"every": "90m"}, EveryTrigger(timedelta(minutes=90), datetime(1970, 1, 1, tzinfo=UTC), is_unseen=True)),
        (
            {"every": "1h", "anchor": "2026-01-01T00:30", "timezone": "Europe/Berlin"},
            EveryTrigger(timedelta(hours=1), datetime(2025, 12, 31, 23, 30, tzinfo=UTC)),
        ),
        (
            {"at": ["2026-07-01T09:00", datetime(2026, 7, 1, 9, tzinfo=UTC)], "timezone": "Europe/Berlin"},
            AtTrigger((datetime(2026, 7, 1, 7, tzinfo=UTC), datetime(2026, 7, 1, 9, tzinfo=UTC))),
        ),
        ({"on": "startup"}, StartupTrigger()),
        (
            {"after": [{"job": "fetch"}, {"job": "build", "on": "any", "within": "6h"}]},
            AfterTrigger((Parent("fetch"), Parent("build", ParentEnding.ANY, timedelta(hours=6)))),
        ),
        ({"webhook": GITHUB}, WebhookTrigger(WebhookSource.GITHUB, ("push",))),
        ({}, None),
    ],
    ids=["cron", "every", "anchor", "at", "startup", "after", "webhook", "by hand"],
)
def test_a_schedule_is_read_in_its_zone(schedule: dict[str, object], trigger: Trigger | None) -> None:
    assert trigger_of(job(**schedule)) == trigger


def test_a_schedule_that_makes_no_sense_is_never_a_trigger() -> None:
    with pytest.raises(ConfigError, match="Mars/Base"):
        trigger_of(job(cron="@daily", timezone="Mars/Base"))
    with pytest.raises(ConfigError, match="at least one"):
        trigger_of(job(cron=[]))


def test_a_grid_without_an_anchor_begins_when_its_schedule_was_first_seen() -> None:
    seen_at = datetime(2026, 5, 1, 9, 17, tzinfo=UTC)
    assert trigger_of(job(every="90m"), seen_at) == EveryTrigger(timedelta(minutes=90), seen_at)
    anchored = job(every="90m", anchor="2026-01-01T00:00Z")
    assert trigger_of(anchored, seen_at) == EveryTrigger(timedelta(minutes=90), datetime(2026, 1, 1, tzinfo=UTC))


def test_a_grid_that_was_first_seen_within_a_second_is_counted_from_whole_seconds() -> None:
    seen_at = datetime(2026, 5, 1, 9, 17, 3, 482_913, tzinfo=UTC)
    trigger = trigger_of(job(every="90s"), seen_at)
    assert trigger is not None
    instants = list(occurrences(trigger, seen_at, seen_at + timedelta(minutes=5), 10))

    assert [run_id(JobName("j"), at) for at in instants] == [
        "j@20260501T091833Z",
        "j@20260501T092003Z",
        "j@20260501T092133Z",
    ]


@pytest.mark.parametrize(
    "schedule",
    [
        {"every": "5.25s"},
        {"every": "7s", "anchor": "2026-05-01T09:00:00.4Z"},
        {"at": ["2026-05-01T09:17:10.1Z", "2026-05-01T09:17:10.2Z", "2026-05-01T09:17:10Z"]},
    ],
)
def test_no_two_instants_of_a_schedule_share_a_run_s_id_however_close_they_are(schedule: dict[str, object]) -> None:
    trigger = trigger_of(job(**schedule), SEEN)
    assert trigger is not None
    instants = list(occurrences(trigger, SEEN, SEEN + timedelta(minutes=2), 100))

    ids = {run_id(JobName("j"), at) for at in instants}
    assert len(ids) == len(instants) >= 3
    assert all(re.fullmatch(r"j@20260501T\d{6}(\.\d{6})?Z", each) for each in ids)
