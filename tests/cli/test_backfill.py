"""`kova-auto jobs backfill`: which instants are filled in, and that it is said before and after."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kova_auto.core.job import Job, Outcome
from kova_auto.scheduling.jobfiles import load_job
from tests.cli.command import Home
from tests.cli.ledgers import version, write_ledger
from tests.cli.test_calendar import DAILY, day, lines
from tests.docs.pages import table
from tests.support import a_request

WEEK = ("--from", "2026-03-20", "--to", "2026-03-27")
FAILS = {22, 24}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path)
    found.settings('timezone = "Europe/Berlin"\n')
    return found


@pytest.fixture
def job(home: Home) -> Job:
    found = load_job(home.job("look", DAILY), timezone="Europe/Berlin")
    runs = [
        (a_request(f"look@{number}", nominal_at=day(number), due_at=day(number), at=day(number)), Outcome.DONE)
        for number in range(20, 27)
        if number not in FAILS
    ]
    failed = a_request("look@24", nominal_at=day(24), due_at=day(24), at=day(24))
    write_ledger(home, [version(found, day(19, "12:00"))], day(26), (), [*runs, (failed, Outcome.FAILED)])
    return found


def filled(home: Home, *args: str) -> list[str]:
    """Return which instants are filled in."""
    result = home.run("jobs", "backfill", "look", *args, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return [one["nominal_at"][8:10] for one in json.loads(result.stdout) if one["fills"]]


def test_of_a_week_with_two_that_lack_a_good_run_these_two_are_filled_in(home: Home, job: Job) -> None:
    assert filled(home, *WEEK) == ["22", "24"]


def test_with_all_every_instant_of_the_week_is(home: Home, job: Job) -> None:
    assert filled(home, *WEEK, "--all") == ["20", "21", "22", "23", "24", "25", "26"]


def test_a_dry_run_does_nothing_and_what_was_asked_for_waits(home: Home, job: Job) -> None:
    assert filled(home, *WEEK, "--dry-run") == filled(home, *WEEK, "--dry-run") == ["22", "24"]
    assert filled(home, *WEEK) == ["22", "24"]
    assert filled(home, *WEEK) == []

    result = home.run("jobs", "backfill", "look", "--drop")
    assert result.stdout == "2 of look waited, and are not filled in.\n"
    assert filled(home, *WEEK, "--dry-run") == ["22", "24"]


def test_a_person_is_told_of_each_instant(home: Home, job: Job) -> None:
    result = home.run("jobs", "backfill", "look", "--from", "2026-03-23", "--to", "2026-03-25", "--dry-run")

    assert lines(result.stdout) == [
        "LOCAL UTC WHAT",
        "Mon 2026-03-23 08:30 +01:00 2026-03-23T07:30:00Z had a good run: look@23",
        "Tue 2026-03-24 08:30 +01:00 2026-03-24T07:30:00Z is filled in",
        "1 instant would be filled in (queue); nothing was done.",
    ]


def test_what_is_to_come_and_what_is_excluded_are_left_out(home: Home, job: Job) -> None:
    home.job("look", DAILY + 'schedule.exclude.weekdays = ["TUE"]\n')

    assert filled(home, "--from", "2026-03-20", "--to", "2026-05-01", "--dry-run") == ["22", "27"]


def test_a_run_that_goes_on_is_waited_for(home: Home, job: Job) -> None:
    again = a_request("look+24", nominal_at=day(24), due_at=day(24), at=day(26))
    write_ledger(home, [version(job, day(19, "12:00"))], None, (), [(again, None)])

    assert filled(home, *WEEK, "--dry-run") == ["22"]
    assert "its run goes on: look+24" in home.run("jobs", "backfill", "look", *WEEK, "--dry-run").stdout


def test_the_past_before_the_job_was_there_can_be_filled_in_too(home: Home, job: Job) -> None:
    assert filled(home, "--from", "2026-01-01", "--to", "2026-01-03", "--dry-run") == ["01", "02"]


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (
            ("--from", "2026-01-01", "--to", "2026-03-20", "--limit", "50"),
            "--limit: wanted at most 50 instants",
        ),
        (("--from", "2026-01-01"), "wanted --from and --to, found one of them"),
        ((), "wanted --from and --to, found neither"),
        (("--from", "2026-01-02", "--to", "2026-01-02"), "--to: wanted an end behind the beginning"),
        ((*WEEK, "--overlap", "cancel_previous"), "--overlap"),
        (("--drop", "--all"), "--drop lets everything of the job be that waits"),
    ],
)
def test_a_wrong_command_line_is_a_sentence_and_does_nothing(
    home: Home, job: Job, args: tuple[str, ...], error: str
) -> None:
    result = home.run("jobs", "backfill", "look", *args)

    assert result.exit_code == 2
    assert error in result.stderr
    assert filled(home, *WEEK) == ["22", "24"]


def test_a_job_that_no_clock_fires_cannot_be_filled_in(home: Home, job: Job) -> None:
    home.job("hand", 'prompt = "Look."\n')
    result = home.run("jobs", "backfill", "hand", *WEEK)

    assert result.exit_code == 2
    assert "wanted a schedule that implies instants" in result.stderr


def test_programs_are_given_the_names_of_the_page(home: Home, job: Job) -> None:
    (first, *_) = json.loads(home.run("jobs", "backfill", "look", *WEEK, "--json").stdout)

    assert list(first) == table("docs/json.md", "`kova-auto jobs backfill`").names
    assert first["what"] == "had a good run"
    assert datetime.fromisoformat(first["nominal_at"]) == datetime(2026, 3, 20, 7, 30, tzinfo=UTC)
