"""A job's `[schedule]` becomes the trigger that implies its instants."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from kova_auto.core.errors import ConfigError
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
)
from kova_auto.core.webhook_source import WebhookSource
from kova_auto.scheduling.triggers import trigger_of

BERLIN = ZoneInfo("Europe/Berlin")
GITHUB = {"source": "github", "secret": {"env": "A"}, "events": ["push"]}


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
        ({"every": "90m"}, EveryTrigger(timedelta(minutes=90), datetime(1970, 1, 1, tzinfo=UTC))),
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
