"""`kova-auto jobs next`: when jobs run, what becomes of what comes too late, and answers about expressions."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from kova_auto.cli.main import app
from kova_auto.scheduling.jobfiles import load_job
from tests.cli.command import NOW, Home, StoppedClock
from tests.cli.ledgers import version, write_ledger
from tests.support import ROOT

CASES = Path(__file__).parents[1] / "cases" / "cron.jsonl"
LATE = "in time within 1m; after that the newest runs if it is no older than 1d, and any others are missed"
NIGHTLY = """\
prompt = "Look around"
[schedule]
cron = "30 2 * * *"
timezone = "Europe/Berlin"
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_next_follows_each_jobs_own_zone_across_a_change_of_clocks(home: Home) -> None:
    home.job("nightly", NIGHTLY)
    home.job("weekly", 'prompt = "x"\nschedule = { cron = "0 12 * * SUN", timezone = "UTC" }')
    home.job("broken", "prompt = 1")
    result = home.run("jobs", "next", "--count", "4")
    assert result.stdout.splitlines() == [
        "LOCAL                        UTC                   JOB",
        "Sat 2026-03-28 02:30 +01:00  2026-03-28T01:30:00Z  nightly",
        "Sun 2026-03-29 03:00 +02:00  2026-03-29T01:00:00Z  nightly",
        "Sun 2026-03-29 12:00 +00:00  2026-03-29T12:00:00Z  weekly",
        "Mon 2026-03-30 02:30 +02:00  2026-03-30T00:30:00Z  nightly",
        f"nightly: {LATE}",
        f"weekly: {LATE}",
    ]
    assert result.stderr == f"left out: {home.jobs}/broken.toml:1: prompt: wanted text, found 1\n"


def test_next_may_begin_at_any_instant(home: Home) -> None:
    home.settings('timezone = "Europe/Berlin"')
    home.job("a", 'prompt = "x"\nschedule = { cron = "0 0 * * *" }')
    result = home.run("jobs", "next", "a", "-n", "1", "--from", "2026-12-24", "--json")
    assert json.loads(result.stdout) == [
        {
            "job": "a",
            "nominal_at": "2026-12-24T23:00:00Z",
            "local": "2026-12-25T00:00:00+01:00",
            "timezone": "Europe/Berlin",
            "due_at": "2026-12-24T23:00:00Z",
            "late": LATE,
            "seen": True,
        }
    ]


GRID = 'prompt = "x"\nschedule = { every = "90m" }'


def test_a_grid_that_no_service_has_seen_is_counted_from_now_and_that_is_said(home: Home) -> None:
    home.job("a", GRID)
    result = home.run("jobs", "next", "a", "-n", "2")

    assert NOW.isoformat() == "2026-03-27T12:00:00+00:00"
    assert result.stdout.splitlines()[1:] == [
        "Fri 2026-03-27 13:30 +00:00  2026-03-27T13:30:00Z  a",
        "Fri 2026-03-27 15:00 +00:00  2026-03-27T15:00:00Z  a",
        f"a: counted from now (2026-03-27T12:00:00Z), as no service has seen it; {LATE}",
    ]
    (told,) = json.loads(home.run("jobs", "next", "a", "-n", "1", "--json").stdout)
    assert told["seen"] is False


def test_a_grid_that_a_service_has_seen_is_counted_from_then_as_the_service_does(home: Home) -> None:
    job = load_job(home.job("a", GRID))
    seen_at = datetime(2026, 3, 20, 7, 10, 5, 250_000, tzinfo=UTC)
    write_ledger(home, [version(job, seen_at)])
    result = home.run("jobs", "next", "a", "-n", "1")

    assert result.stdout.splitlines()[1:] == ["Fri 2026-03-27 13:10:05 +00:00  2026-03-27T13:10:05Z  a", f"a: {LATE}"]
    listed = home.run("jobs", "list").stdout
    assert "every 1 hour and 30 minutes, counted from 2026-03-20 07:10:05 UTC" in listed
    assert "Fri 2026-03-27 13:10:05 +00:00" in listed


def test_a_grid_that_was_edited_since_is_a_new_one(home: Home) -> None:
    write_ledger(home, [version(load_job(home.job("a", GRID)), datetime(2026, 3, 20, 7, 10, tzinfo=UTC))])
    home.job("a", GRID.replace("90m", "1h"))

    assert "counted from now" in home.run("jobs", "next", "a", "-n", "1").stdout


def test_where_the_journal_cannot_be_read_a_grid_is_counted_from_now_and_both_is_said(home: Home) -> None:
    home.job("a", GRID)
    path = home.path / ".local" / "share" / "kova-auto" / "kova-auto.db"
    path.parent.mkdir(parents=True)
    path.write_text("this is no database, and it is long enough to be taken for a broken one" * 100)
    result = home.run("jobs", "next", "a", "-n", "1")

    assert result.exit_code == 0
    assert result.stderr.startswith("note: since when schedules are counted is not known: the journal ")
    assert "counted from now" in result.stdout


def test_jobs_run_by_hand_are_never_next(home: Home) -> None:
    home.job("a", 'prompt = "x"')
    assert home.run("jobs", "next").stdout == "Nothing runs by itself.\n"


@pytest.mark.parametrize(
    ("policy", "late"),
    [
        ({}, LATE),
        ({"missed": "skip"}, "in time within 1m; after that it is missed"),
        (
            {"missed": "all", "missed_window": "3d", "start_deadline": "10m"},
            "in time within 10m; after that the newest 5 no older than 3d run, oldest first",
        ),
        (
            {"missed": "all", "overlap": "cancel_previous"},
            LATE,
        ),
        ({"missed": "latest", "missed_window": "0s"}, "in time within 1m; after that it is missed"),
        (
            {"missed": "skip", "expect_within": "15m"},
            "in time within 1m; after that it is missed; without a success within 15m the job is late",
        ),
    ],
)
def test_what_becomes_of_a_late_instant_is_said_in_words(home: Home, policy: dict[str, str], late: str) -> None:
    written = "".join(f'{key} = "{value}"\n' for key, value in policy.items())
    home.job("nightly", f"{NIGHTLY}[policy]\n{written}")
    assert home.run("jobs", "next", "-n", "1").stdout.splitlines()[-1] == f"nightly: {late}"


def test_a_single_instant_is_no_good_after_an_hour(home: Home) -> None:
    home.job("once", 'prompt = "x"\nschedule = { at = "2026-12-24T09:00" }')
    late = "in time within 1m; after that the newest runs if it is no older than 1h, and any others are missed"
    assert home.run("jobs", "next").stdout.splitlines()[-1] == f"once: {late}"


def test_next_leaves_out_what_is_excluded(home: Home) -> None:
    home.job("a", 'prompt = "x"\nschedule = { cron = "0 9 * * *", exclude = { weekdays = ["SAT", "SUN"] } }')
    found = json.loads(home.run("jobs", "next", "-n", "1", "--json").stdout)
    assert [one["nominal_at"] for one in found] == ["2026-03-30T09:00:00Z"]


def test_jitter_delays_what_is_due_and_not_what_it_is_called(home: Home) -> None:
    home.job("a", 'prompt = "x"\nschedule = { cron = "0 9 * * *", jitter = "5m" }')
    (found,) = json.loads(home.run("jobs", "next", "-n", "1", "--json").stdout)
    assert found["nominal_at"] == "2026-03-28T09:00:00Z"
    assert "2026-03-28T09:00:00Z" < found["due_at"] < "2026-03-28T09:05:00Z"
    assert "a: due at Sat 2026-03-28 09:0" in home.run("jobs", "next", "-n", "1").stdout


def ask(text: str | bytes, *args: str) -> Result:
    return CliRunner().invoke(app, ["jobs", "next", "--jsonl", *args], input=text, obj=StoppedClock())


def answers(*lines: object) -> list[dict[str, object]]:
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines)
    return [json.loads(line) for line in ask(text).stdout.splitlines()]


def test_every_vector_is_answered_through_the_command() -> None:
    vectors = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    asked = [{key: vector[key] for key in ("expr", "tz", "start", "count")} for vector in vectors]
    result = ask("".join(f"{json.dumps(one)}\n" for one in asked))
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert (len(found), result.exit_code) == (len(vectors), 0)
    wrong = []
    for vector, answer in zip(vectors, found, strict=True):
        match vector["kind"]:
            case "ok":
                is_right = answer == {"times": vector["expected"]}
            case "invalid":
                is_right = list(answer) == ["error"]
            case _:
                is_right = list(answer) == ["error"] or answer == {"times": []}
        if not is_right:
            wrong.append((vector["expr"], vector["kind"], answer))
    assert wrong == []


def test_an_error_names_the_field_and_what_to_write() -> None:
    asked = {"expr": "5/15 * * * *", "tz": "UTC", "start": "2026-01-01T00:00:00Z", "count": 1}
    said = "cron: minute: wanted a range or * before the step, found '5/15' (write 5-59/15)"
    assert answers(asked) == [{"error": said}]


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"tz": "Europe/Berln"}, "tz: wanted the IANA name of a time zone, found 'Europe/Berln' (did you mean "),
        ({"tz": 7}, "tz: wanted the IANA name of a time zone, found 7"),
        ({"start": "soon"}, "start: wanted an instant, found 'soon' (for example 2026-03-28T00:00:00Z)"),
        ({"start": 5}, "start: wanted an instant, found 5"),
        ({"start": "0001-01-01T00:00:00Z", "tz": "America/New_York"}, "start: wanted an instant that the zone's clock"),
        ({"count": -1}, "count: wanted a whole number from 0 to 10000, found -1"),
        ({"count": 10_001}, "count: wanted a whole number from 0 to 10000, found 10001"),
        ({"count": True}, "count: wanted a whole number from 0 to 10000, found True"),
    ],
)
def test_what_makes_no_sense_is_answered_with_an_error(change: dict[str, object], error: str) -> None:
    (answer,) = answers({"expr": "0 7 * * *", **change})
    assert str(answer["error"]).startswith(error)


def test_zone_start_and_count_have_defaults() -> None:
    (answer,) = answers({"expr": "0 7 * * *"})
    times = answer["times"]
    assert isinstance(times, list)
    assert (times[0], len(times), NOW.isoformat()) == ("2026-03-28T07:00:00+00:00", 10, "2026-03-27T12:00:00+00:00")


def test_a_start_may_have_any_offset_and_without_one_is_utc() -> None:
    asked = {"expr": "0 7 * * *", "tz": "Asia/Tokyo", "count": 1}
    starts = ["2026-01-01T07:30+09:00", "2025-12-31T22:30", "2025-12-31T22:30:00Z"]
    assert answers(*({**asked, "start": start} for start in starts)) == [{"times": ["2026-01-02T07:00:00+09:00"]}] * 3


def test_nothing_more_to_come_is_an_empty_list_and_no_error() -> None:
    asked = {"expr": "0 0 0 1 1 * 2025", "tz": "UTC", "start": "2026-01-01T00:00:00Z", "count": 3}
    assert answers(asked, {**asked, "expr": "* * * * *", "count": 0}) == [{"times": []}] * 2


@pytest.mark.parametrize("line", ["{", "[1]", "7", '{"tz": "UTC"}', '{"expr": 5}', "[" * 100_000, "1" * 5000])
def test_a_line_that_is_no_question_is_answered_all_the_same_and_shows_in_the_exit_code(line: str) -> None:
    result = ask(f'{line}\n\n{{"expr": "0 7 * * *", "count": 0}}\n')
    first, second = map(json.loads, result.stdout.splitlines())
    assert str(first["error"]).startswith('line 1: wanted an object as {"expr": ')
    assert (second, result.exit_code) == ({"times": []}, 2)


def test_bytes_that_are_no_text_are_answered_too() -> None:
    result = ask(b"\xff\xfe\n")
    assert (list(json.loads(result.stdout)), result.exit_code) == (["error"], 2)


@pytest.mark.parametrize("args", [("nightly",), ("--from", "2026-03-28")])
def test_expressions_come_from_standard_input_alone(args: tuple[str, ...]) -> None:
    result = ask("", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--jsonl takes expressions from standard input" in result.stderr


def test_each_answer_comes_before_the_next_question_and_nothing_else_is_looked_at(tmp_path: Path) -> None:
    """A home that cannot be entered, settings that are broken: neither matters."""
    broken = tmp_path / ".config" / "kova-auto" / "kova-auto.toml"
    broken.parent.mkdir(parents=True)
    broken.write_text("no settings")
    command = [sys.executable, "-m", "kova_auto", "jobs", "next", "--jsonl"]
    environ = {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as asked:
        assert asked.stdin
        assert asked.stdout
        for day in ("02", "03"):
            question = {"expr": "0 7 * * *", "tz": "UTC", "start": f"2026-01-{day}T00:00:00Z", "count": 1}
            asked.stdin.write(f"{json.dumps(question)}\n")
            asked.stdin.flush()
            assert json.loads(asked.stdout.readline()) == {"times": [f"2026-01-{day}T07:00:00+00:00"]}
        asked.stdin.close()
        assert asked.wait(timeout=60) == 0
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["kova-auto.toml"]


def test_answers_need_neither_what_reads_jobs_nor_settings_nor_the_database(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "kova_auto", "jobs", "next", "--jsonl"]
    environ = {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environ, input="", capture_output=True, text=True, check=True)
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "kova_auto.cli.cron_lines" in names
    assert (
        names & {"kova_auto.core.job", "kova_auto.settings.load", "kova_auto.store", "sqlalchemy", "sqlite3"} == set()
    )


def test_help_and_answers_are_the_same_by_way_of_the_group(home: Home) -> None:
    shown = home.run("jobs", "next", "--help").stdout
    assert ("Usage: kova-auto jobs next [OPTIONS] [JOB]..." in shown, "--jsonl" in shown) == (True, True)
    assert "  next " in home.run("jobs", "--help").stdout
