"""`kova-auto jobs`: what is there, what is wrong with it, when it runs next."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import datetime
from pathlib import Path

import jsonschema
import pytest

from tests.cli.command import Home

NIGHTLY = """\
description = "What changed"
prompt = "Look around"
model = ["openai/gpt-5"]
automation = "workspace-write"
[schedule]
cron = "30 2 * * *"
timezone = "Europe/Berlin"
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_the_list_shows_each_job_in_one_line(home: Home) -> None:
    home.job("nightly", NIGHTLY)
    home.job("hourly", 'prompt = "x"\nschedule = { every = "1h" }')
    home.job("by-hand", 'prompt = "x"')
    home.job("broken", "promt = 1\nmodel = 2")
    result = home.run("jobs", "list")
    assert result.exit_code == 0
    assert [re.split("  +", line) for line in result.stdout.splitlines()] == [
        ["NAME", "SCHEDULE", "NEXT", "AUTOMATION", "MODEL", "PROBLEM"],
        ["broken", "prompt: wanted prompt or prompt_file, found neither (and 2 more)"],
        ["by-hand", "by hand", "-", "read-only", "auto"],
        [
            "hourly",
            "every hour, counted from when a service sees it first",
            "Fri 2026-03-27 13:00 +00:00",
            "read-only",
            "auto",
        ],
        [
            "nightly",
            "at 02:30 every day, Berlin time",
            "Sat 2026-03-28 02:30 +01:00",
            "workspace-write",
            "openai/gpt-5",
        ],
    ]


def test_the_list_has_stable_names_for_programs(home: Home) -> None:
    path = home.job("nightly", NIGHTLY)
    broken = home.job("worse", 'prompt = "x"\niterations = 5')
    result = home.run("jobs", "list", "--json")
    assert json.loads(result.stdout) == [
        {
            "name": "nightly",
            "path": str(path),
            "description": "What changed",
            "schedule": "at 02:30 every day, Berlin time",
            "timezone": "Europe/Berlin",
            "next_at": "2026-03-28T01:30:00Z",
            "paused": None,
            "mode": "agent",
            "automation": "workspace-write",
            "models": ["openai/gpt-5"],
            "scripted": False,
            "workspace": str(home.jobs),
            "warnings": [],
            "problems": [],
            "goes_on": None,
        },
        {
            "name": "worse",
            "path": str(broken),
            "description": None,
            "schedule": None,
            "timezone": None,
            "next_at": None,
            "paused": None,
            "mode": None,
            "automation": None,
            "models": None,
            "scripted": None,
            "workspace": None,
            "warnings": [],
            "problems": [
                {
                    "path": str(broken),
                    "line": 2,
                    "key": "iterations",
                    "message": "unknown key",
                    "hint": "it belongs in [limits]",
                }
            ],
            "goes_on": None,
        },
    ]


def test_every_name_that_programs_read_is_documented(home: Home) -> None:
    home.job("nightly", NIGHTLY)
    documented = (Path(__file__).parents[2] / "docs" / "json.md").read_text()
    listed = json.loads(home.run("jobs", "list", "--json").stdout)[0]
    upcoming = json.loads(home.run("jobs", "next", "-n", "1", "--json").stdout)[0]
    assert [name for name in (*listed, *upcoming) if f"| `{name}` |" not in documented] == []


def test_an_empty_directory_says_what_to_do(home: Home) -> None:
    home.jobs.mkdir(parents=True)
    assert home.run("jobs", "list").stdout == "No jobs yet. kova-auto jobs new NAME writes one.\n"


def test_without_a_jobs_directory_the_way_to_begin_is_named(home: Home) -> None:
    result = home.run("jobs", "list")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: {home.jobs}: jobs_dir: wanted a directory of job files: No such file or directory"
        " (kova-auto init writes settings and a first job)\n"
    )


def test_a_sound_file_is_checked_without_settings(home: Home, tmp_path: Path) -> None:
    home.settings("this is no TOML")
    path = tmp_path / "a.toml"
    path.write_text('prompt = "x"\n[[notify]]\nendpoint = "anywhere"')
    result = home.run("jobs", "check", str(path))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "ok  a  by hand\n", "")


def test_a_broken_file_fails_the_check_with_every_problem(home: Home, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('prompt = "x"\nmodel = 5\n[limits]\ntokens = 0')
    result = home.run("jobs", "check", str(path))
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        f"error: {path}:2: model: wanted text or a list, found 5",
        f"error: {path}:4: limits.tokens: wanted at least 1, found 0",
    ]


def test_checked_by_name_a_job_may_only_tell_endpoints_of_the_settings(home: Home) -> None:
    home.settings('[endpoints.ci]\nurl = "https://ci.example.org/x"\nsecret = { env = "S" }')
    path = home.job("a", 'prompt = "x"\n[[notify]]\nendpoint = "cl"')
    home.job("b", 'prompt = "x"\n[[notify]]\nendpoint = "ci"')
    result = home.run("jobs", "check")
    assert (result.exit_code, result.stdout) == (1, "ok  b  by hand\n")
    assert result.stderr == f"error: {path}:3: notify[0].endpoint: no endpoint is called 'cl' (known here: ci)\n"


def test_a_jobs_script_is_checked_with_it(home: Home) -> None:
    home.job("a", 'prompt = "x"\nscript = "a.script.toml"')
    script = home.jobs / "a.script.toml"
    script.write_text('[[turns]]\ntext = "hello"\n[[turns.calls]]\ntol = "read"\n')
    result = home.run("jobs", "check", "a")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        f"error: {script}:3: turns[0].calls[0].tool: wanted a value, found none",
        f"error: {script}:4: turns[0].calls[0].tol: unknown key (did you mean tool?)",
    ]


def test_what_other_crons_would_understand_differently_is_a_warning(home: Home) -> None:
    path = home.job("a", 'prompt = "x"\nschedule = { cron = "0 0 */2 * MON" }')
    result = home.run("jobs", "check", "a")
    assert result.exit_code == 0
    assert result.stderr.startswith(f"warning: {path}: day of month '*/2' and weekday 'MON': a date that fits either")


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (
            ("jobs", "check", "none.toml"),
            "none.toml: wanted a job file, found nothing (kova-auto jobs list shows the jobs)",
        ),
        (("jobs", "show", "trage"), "wanted the name of a job or a file, found no job 'trage' (did you mean triage?)"),
        (("jobs", "next", "--from", "soon"), "--from: wanted a date and a time, found 'soon'"),
        (
            ("jobs", "list", "--config", "none.toml"),
            "none.toml: wanted a text file, found nothing (kova-auto init writes one)",
        ),
    ],
    ids=["no file", "no job", "no instant", "no settings"],
)
def test_a_wrong_command_line_is_a_sentence_and_exit_code_2(home: Home, args: tuple[str, ...], error: str) -> None:
    home.job("triage", 'prompt = "x"')
    result = home.run(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert error in result.stderr
    assert "Traceback" not in result.stderr


def test_show_writes_the_job_with_every_default(home: Home) -> None:
    path = home.job("nightly", NIGHTLY)
    result = home.run("jobs", "show", "nightly")
    assert result.stdout.splitlines()[:4] == [
        f"# {path}",
        "# Runs at 02:30 every day, Berlin time.",
        "# Next: Sat 2026-03-28 02:30 +01:00",
        "# Where prices are known: limits.cost_usd = 1.0, limits.cost_usd_per_day = 5.0.",
    ]
    effective = tomllib.loads(result.stdout)
    assert effective["limits"] == {
        "timeout": "20m",
        "cancel_grace": "30s",
        "iterations": 50,
        "tokens": 500_000,
        "denials": 5,
        "required_tools": [],
    }


@pytest.mark.parametrize("limits", ["", "limits.cost_usd = 0.5\n"])
def test_what_show_writes_is_the_same_job_again(home: Home, limits: str) -> None:
    home.job("nightly", limits + NIGHTLY + '[inputs]\nbranch = "main"\n[env]\nT = { env = "X" }')
    home.job("again", home.run("jobs", "show", "nightly").stdout)
    first, again = (json.loads(home.run("jobs", "show", name, "--json").stdout)["job"] for name in ("nightly", "again"))
    assert {**first, "name": "again", "path": again["path"]} == again


def test_a_new_job_runs_as_it_was_written(home: Home) -> None:
    result = home.run("jobs", "new", "triage", "--prompt", "Look around", "--cron", "0 7 * * *")
    path = home.jobs / "triage.toml"
    assert result.stdout.splitlines() == [
        f"Wrote {path}",
        "",
        "Edit it, then: kova-auto jobs check triage; kova-auto run triage",
    ]
    said = tomllib.loads(path.read_text())
    assert (said["prompt"], said["schedule"]) == ("Look around\n", {"cron": "0 7 * * *"})
    assert home.run("jobs", "check", "triage").stdout == "ok  triage  at 07:00 every day, UTC\n"


def test_a_new_job_needs_nothing_but_a_name(home: Home) -> None:
    assert home.run("jobs", "new", "triage").exit_code == 0
    assert home.run("jobs", "check", "triage").stdout == "ok  triage  by hand\n"


@pytest.mark.parametrize(
    ("args", "error"),
    [
        (("old",), "old.toml: wanted a new file, found one that is there already"),
        (("../x",), "wanted a name of letters, digits, - and _, at most 64, found '../x'"),
        (("x", "--cron", "61 * * * *"), "--cron: minute: wanted"),
        (
            ("x", "--workspace", "/nowhere"),
            "workspace: nothing was written: wanted a directory, found nothing at /nowhere",
        ),
    ],
    ids=["it is there", "no name", "no cron", "no workspace"],
)
def test_what_would_be_no_job_is_not_written(home: Home, args: tuple[str, ...], error: str) -> None:
    before = home.job("old", 'prompt = "x"').read_text()
    result = home.run("jobs", "new", *args)
    assert result.exit_code == 2
    assert error in result.stderr
    assert [path.name for path in home.jobs.iterdir()] == ["old.toml"]
    assert (home.jobs / "old.toml").read_text() == before


def test_editors_are_told_what_a_job_file_may_hold(home: Home) -> None:
    schema = json.loads(home.run("jobs", "schema").stdout)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert list(validator.iter_errors(tomllib.loads(NIGHTLY))) == []
    assert [error.json_path for error in validator.iter_errors({"promt": "x", "limits": {"timeout": "soon"}})] == [
        "$",
        "$.limits.timeout",
    ]


def test_the_example_jobs_are_sound(home: Home) -> None:
    settings = home.path / "settings.toml"
    settings.write_text(f'jobs_dir = "{Path(__file__).parents[2] / "jobs"}"')
    result = home.run("jobs", "check", "--config", str(settings))
    assert (result.exit_code, result.stderr) == (0, "")
    assert "repo-digest" in result.stdout


def test_what_is_excluded_is_neither_next_nor_left_out_of_the_sentence(home: Home) -> None:
    home.job("daily", 'prompt = "x"\n[schedule]\ncron = "0 7 * * *"\nexclude = { weekdays = ["TUE", "WED"] }\n')
    (row,) = json.loads(home.run("jobs", "list", "--json").stdout)

    assert row["next_at"].endswith("T07:00:00Z")
    assert datetime.fromisoformat(row["next_at"]).weekday() not in (1, 2)
    assert "Tuesday" in row["schedule"]


def test_a_subagent_that_nobody_defines_is_a_problem_where_the_settings_are_looked_at(home: Home) -> None:
    home.settings("")
    job = home.job("fan", 'prompt = "Look."\nagents = { allow = ["explorer", "scribe"] }\n')

    assert home.run("jobs", "check", str(job)).exit_code == 0
    result = home.run("jobs", "check", "fan")
    assert result.exit_code == 1
    assert "agents.allow: scribe: " in result.stderr
