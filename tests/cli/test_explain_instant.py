"""`kova-auto explain JOB@INSTANT`: why a job did or did not run then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kova_auto.cli.explain_instant import is_instant
from kova_auto.core.job import Job
from kova_auto.core.schedule.occurrences import LATER
from kova_auto.scheduling.jobfiles import load_job
from tests.cli.command import Home
from tests.cli.ledgers import version, write_ledger
from tests.cli.test_calendar import DAILY, day, filled, row
from tests.docs.pages import table


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path)
    found.settings('timezone = "America/New_York"\n')
    return found


@pytest.fixture
def job(home: Home) -> Job:
    return load_job(home.job("look", DAILY))


def said(home: Home, instant: str) -> list[str]:
    result = home.run("explain", f"look@{instant}")
    assert (result.exit_code, result.stderr) == (0, "")
    return [line.strip() for line in result.stdout.splitlines()]


def test_an_instant_that_ran_names_its_run_and_how_late_it_was(home: Home, job: Job) -> None:
    filled(home, job)

    assert said(home, "2026-03-23T08:30") == [
        "look at Mon 2026-03-23 08:30 +01:00 (2026-03-23T07:30:00Z)",
        "The schedule implied this instant.",
        "It ran.",
        "That was settled 0:01:05 after it was due.",
        "Run look@23 ended as done. kova-auto runs loop look@23 shows how.",
    ]


@pytest.mark.parametrize("instant", ["2026-03-23T07:30Z", "2026-03-23T08:30+01:00", "20260323T073000Z"])
def test_an_instant_may_be_said_as_a_run_s_id_has_it(home: Home, job: Job, instant: str) -> None:
    filled(home, job)

    assert said(home, instant) == said(home, "2026-03-23T08:30")


def test_an_instant_that_was_missed_says_why_and_what_filled_it_in(home: Home, job: Job) -> None:
    filled(home, job)

    assert said(home, "2026-03-24T08:30")[2:] == [
        "It was missed: it was noticed when it was older than policy.missed_window.",
        "Run look+24, which was asked for afterwards, ended as failed. kova-auto runs loop look+24 shows how.",
    ]


def test_an_instant_that_was_skipped_says_why(home: Home, job: Job) -> None:
    filled(home, job)

    assert said(home, "2026-03-25T08:30")[2:] == [
        "It was skipped: a run of the job was still going on, and policy.overlap says to skip then.",
        "That was settled in time.",
    ]


def test_what_goes_on_has_no_outcome_yet(home: Home, job: Job) -> None:
    filled(home, job)

    assert said(home, "2026-03-26T08:30")[-1] == "Run look@26 has not begun yet."


def test_what_is_due_asks_for_the_service_and_what_is_to_come_says_so(home: Home, job: Job) -> None:
    filled(home, job)

    assert said(home, "2026-03-27T08:30")[-1].endswith("is kova-auto serve running?")
    assert said(home, "2026-03-28T08:30")[-1] == "It is still to come."


def test_a_row_that_is_missing_is_called_a_fault(home: Home, job: Job) -> None:
    filled(home, job, without=25)

    assert said(home, "2026-03-25T08:30")[-1].startswith("The ledger has gone past it and has no row of it")


def test_one_of_many_that_share_a_row_says_so(home: Home, job: Job) -> None:
    shared = row(23, "missed", why=LATER, until_at=day(25), count=3)
    write_ledger(home, [version(job, day(22, "12:00"))], day(25), [shared])

    assert said(home, "2026-03-24T08:30")[1:] == [
        (
            "The schedule implied this instant. It shares a row with others: 3 from Mon 2026-03-23 08:30 +01:00 "
            "to Wed 2026-03-25 08:30 +01:00."
        ),
        "It was missed: several had been missed, and a newer one runs in their place.",
    ]
    assert home.run("explain", "look@2026-03-24T08:31").exit_code == 1


def test_where_the_schedule_implied_nothing_the_nearest_are_named(home: Home, job: Job) -> None:
    filled(home, job)
    result = home.run("explain", "look@2026-03-24T09:00")

    assert result.exit_code == 1
    assert [line.strip() for line in result.stdout.splitlines()][1:] == [
        "The schedule implied no such instant, so nothing was to run.",
        "The nearest are Tue 2026-03-24 08:30 +01:00 and Wed 2026-03-25 08:30 +01:00.",
    ]


def test_programs_are_given_the_names_of_the_page(home: Home, job: Job) -> None:
    filled(home, job)
    found = json.loads(home.run("explain", "look@2026-03-24T09:00", "--json").stdout)
    assert found["nearest"] == ["2026-03-24T07:30:00Z", "2026-03-25T07:30:00Z"]
    assert (found["implied"], found["occurrence"]) == (False, None)

    found = json.loads(home.run("explain", "look@2026-03-24T08:30", "--json").stdout)
    assert (found["implied"], found["occurrence"]["what"], found["nearest"]) == (True, "missed", [])
    assert list(found) == table("docs/json.md", "`kova-auto explain JOB@INSTANT`").names


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("nobody@2026-03-24", "there is no job 'nobody', and none of this name is on record"),
        ("look@2026-13-24T08:30", "INSTANT: wanted a date and a time"),
    ],
)
def test_what_is_no_instant_of_a_job_is_a_sentence(home: Home, job: Job, word: str, error: str) -> None:
    filled(home, job)
    result = home.run("explain", word)

    assert result.exit_code == 2
    assert error in result.stderr


def test_only_a_job_and_an_instant_alone_are_one() -> None:
    assert is_instant(["look@2026-03-24"])
    assert not is_instant(["look"])
    assert not is_instant(["look@work.toml"])
    assert not is_instant(["look@2026-03-24", "bash"])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "It is late: no success by Mon 2026-03-23 08:45 +01:00 (policy.expect_within)."),
        ({"recovered_at": day(23, "08:30")}, "one at Mon 2026-03-23 09:30 +01:00 (policy.expect_within)."),
    ],
)
def test_an_instant_that_is_late_says_since_when_and_whether_it_is_over(
    home: Home, job: Job, changes: dict[str, object], sentence: str
) -> None:
    late = row(23, "missed", why="outside_window", expect_at=day(23, "07:45"), late_at=day(23, "07:46"), **changes)
    write_ledger(home, [version(job, day(22, "12:00"))], day(26), [late])

    assert any(line.endswith(sentence) for line in said(home, "2026-03-23T08:30"))


def test_an_instant_whose_run_waits_says_for_what(home: Home, job: Job) -> None:
    filled(home, job)

    assert said(home, "2026-03-26T08:30")[2] == "It waits for a slot."
