"""`kova-auto jobs calendar`: what schedules implied and what the ledger says, in lines and in names."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from kova_auto.cli.job_rows import local
from kova_auto.core.ids import JobName
from kova_auto.core.job import Job, Outcome
from kova_auto.core.ledger import Occurrence
from kova_auto.scheduling.jobfiles import load_job
from tests.cli.command import Home
from tests.cli.ledgers import version, write_ledger
from tests.support import ROOT, a_request

DAILY = 'prompt = "Look."\nschedule.cron = "30 8 * * *"\nschedule.timezone = "Europe/Berlin"\n'
LOOK = JobName("look")


def day(number: int, clock: str = "07:30") -> datetime:
    return datetime.fromisoformat(f"2026-03-{number}T{clock}").replace(tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path)
    found.settings('timezone = "Europe/Berlin"\n')
    return found


@pytest.fixture
def job(home: Home) -> Job:
    return load_job(home.job("look", DAILY), timezone="Europe/Berlin")


def row(number: int, status: str, **more: object) -> Occurrence:
    fields = {"job": LOOK, "schedule": "a", "nominal_at": day(number), "due_at": day(number), "status": status}
    return Occurrence.model_validate({**fields, **more})


def filled(home: Home, job: Job, *, without: int = 0) -> None:
    """Leave four days behind."""
    rows = [
        row(23, "ran", run_id="look@23", settled_at=day(23) + timedelta(seconds=65)),
        row(24, "missed", why="outside_window"),
        row(25, "skipped", why="overlap", settled_at=day(25)),
        row(26, "ran", run_id="look@26", settled_at=day(26)),
    ]
    runs = [
        (a_request("look@23", nominal_at=day(23), due_at=day(23), at=day(23)), Outcome.DONE),
        (a_request("look+24", nominal_at=day(24), due_at=day(24), at=day(26)), Outcome.FAILED),
        (a_request("look@26", nominal_at=day(26), due_at=day(26), at=day(26)), None),
    ]
    kept = [each for each in rows if each.nominal_at != day(without or 10)]
    write_ledger(home, [version(job, day(22, "12:00"))], day(26), kept, runs)


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_every_instant_has_a_line_that_says_what_became_of_it(home: Home, job: Job) -> None:
    filled(home, job)

    result = home.run("jobs", "calendar", "look", "--from", "2026-03-23", "--to", "2026-03-30")
    assert (result.exit_code, lines(result.stdout)) == (
        0,
        [
            "LOCAL UTC JOB WHAT LATE WHY",
            "Mon 2026-03-23 08:30 +01:00 2026-03-23T07:30:00Z look ran 0:01:05 look@23: done",
            "Tue 2026-03-24 08:30 +01:00 2026-03-24T07:30:00Z look missed outside_window; filled in by look+24: failed",
            "Wed 2026-03-25 08:30 +01:00 2026-03-25T07:30:00Z look skipped on time overlap",
            "Thu 2026-03-26 08:30 +01:00 2026-03-26T07:30:00Z look pending on time waits for a slot; look@26: queued",
            "Fri 2026-03-27 08:30 +01:00 2026-03-27T07:30:00Z look due no service has looked since",
            "Sat 2026-03-28 08:30 +01:00 2026-03-28T07:30:00Z look upcoming",
            "Sun 2026-03-29 08:30 +02:00 2026-03-29T06:30:00Z look upcoming",
        ],
    )


def test_a_row_that_is_missing_is_named_and_a_check_fails(home: Home, job: Job) -> None:
    filled(home, job, without=25)
    asked = ("jobs", "calendar", "--from", "2026-03-23", "--to", "2026-03-27")

    result = home.run(*asked)
    assert result.exit_code == 0
    assert "look missing the ledger has gone past it without a row" in lines(result.stdout)[3]
    assert home.run(*asked, "--check").exit_code == 1
    assert "look: 1 row is missing" in result.stderr


def test_a_sound_ledger_passes_the_check(home: Home, job: Job) -> None:
    filled(home, job)

    assert home.run("jobs", "calendar", "--check").exit_code == 0


def test_looking_moves_nothing(home: Home, job: Job) -> None:
    filled(home, job)
    first, second = (home.run("jobs", "calendar", "--json").stdout for _ in range(2))

    assert first == second


def test_without_any_ledger_the_file_says_what_is_to_come(home: Home, job: Job) -> None:
    assert job.name == "look"
    result = home.run("jobs", "calendar", "--from", "2026-03-27", "--to", "2026-03-29")

    assert [line.split()[-1] for line in lines(result.stdout)[1:]] == ["upcoming"]


def test_a_file_that_no_service_has_read_yet_takes_over_from_now_on(home: Home, job: Job) -> None:
    filled(home, job)
    home.job("look", DAILY.replace("30 8", "0 18"))
    result = home.run("jobs", "calendar", "--from", "2026-03-26", "--to", "2026-03-28")

    assert [line[4:40] for line in lines(result.stdout)[1:]] == [
        "2026-03-26 08:30 +01:00 2026-03-26T0",
        "2026-03-27 08:30 +01:00 2026-03-27T0",
        "2026-03-27 18:00 +01:00 2026-03-27T1",
    ]
    assert "superseded" in result.stdout


def test_a_job_whose_file_is_gone_is_still_on_record(home: Home, job: Job) -> None:
    filled(home, job)
    (home.jobs / "look.toml").unlink()
    result = home.run("jobs", "calendar", "look", "--from", "2026-03-26", "--to", "2026-03-29")

    assert [line.split()[6] for line in lines(result.stdout)[1:]] == ["pending", "superseded"]


def test_of_a_broken_file_the_last_good_version_goes_on(home: Home, job: Job) -> None:
    filled(home, job)
    home.job("look", "prompt = 7\n")
    result = home.run("jobs", "calendar", "look", "--from", "2026-03-27", "--to", "2026-03-29")

    assert [line.split()[6] for line in lines(result.stdout)[1:]] == ["due", "upcoming"]


def test_programs_are_given_stable_names(home: Home, job: Job) -> None:
    filled(home, job)
    result = home.run("jobs", "calendar", "look", "--from", "2026-03-23", "--to", "2026-03-24", "--json")

    assert json.loads(result.stdout) == [
        {
            "job": "look",
            "nominal_at": "2026-03-23T07:30:00Z",
            "local": "2026-03-23T08:30:00+01:00",
            "timezone": "Europe/Berlin",
            "until_at": None,
            "count": 1,
            "due_at": "2026-03-23T07:30:00Z",
            "schedule": "a",
            "what": "ran",
            "why": "",
            "settled_at": "2026-03-23T07:31:05Z",
            "late_s": 65.0,
            "expect_at": None,
            "late_at": None,
            "recovered_at": None,
            "run_id": "look@23",
            "runs": [
                {
                    "run_id": "look@23",
                    "execution": "finished",
                    "outcome": "done",
                    "reason": "",
                    "started_at": None,
                    "finished_at": "2026-03-23T07:30:00Z",
                }
            ],
        }
    ]
    page = (ROOT / "docs" / "json.md").read_text()
    section = page[page.index("## `kova-auto jobs calendar`") :].split("\n## ")[0]
    assert {name for name in json.loads(result.stdout)[0] if f"`{name}`" not in section} == set()


def test_a_job_that_is_run_by_hand_has_no_lines(home: Home) -> None:
    home.job("hand", 'prompt = "Look."\n')

    assert home.run("jobs", "calendar").stdout == "No schedule implied anything there.\n"


def test_an_instant_is_shown_to_the_second() -> None:
    instant = day(23) + timedelta(seconds=5, microseconds=838_323)

    assert local(instant, ZoneInfo("Europe/Berlin")) == "Mon 2026-03-23 08:30:05 +01:00"


def test_more_than_is_wanted_is_said_to_be_left_out(home: Home, job: Job) -> None:
    filled(home, job)
    result = home.run("jobs", "calendar", "--from", "2026-03-23", "--to", "2026-03-30", "-n", "2")

    assert len(lines(result.stdout)) == 3
    assert "there is more" in result.stderr


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("look", "--from", "2026-03-23", "--to", "2026-03-23"), "--to: wanted an end behind the beginning"),
        (("look", "--from", "soon"), "--from: "),
        (("nobody",), "there is no job 'nobody', and none of this name is on record"),
        (("./nobody.toml",), "wanted a job file, found nothing"),
    ],
)
def test_a_wrong_command_line_is_a_sentence(home: Home, job: Job, args: tuple[str, ...], error: str) -> None:
    filled(home, job)
    result = home.run("jobs", "calendar", *args)

    assert result.exit_code == 2
    assert error in result.stderr
