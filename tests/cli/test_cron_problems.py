"""What is wrong with a schedule is said as its file is loaded: with file, line, field and what to write."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command import Home

JOB = """\
prompt = "Look around"
[schedule]
timezone = "Europe/Berln"
cron = [
  "0 7 * * MON-FRI",
  "0 0 31 2 *",
  "0 22-2 * * *",
  "*/90 * * * *",
]
"""


def test_each_problem_of_a_schedule_names_file_line_field_and_what_to_write(tmp_path: Path) -> None:
    home = Home(tmp_path)
    path = home.job("nightly", JOB)
    home.job("other", 'prompt = "x"\nschedule = { cron = "0 7 * * *" }')
    result = home.run("jobs", "check")
    assert result.stderr.splitlines() == [
        f"error: {path}:{line}: schedule.{rest}"
        for line, rest in (
            (3, "timezone: wanted the IANA name of a time zone, found 'Europe/Berln' (did you mean Europe/Berlin?)"),
            (
                6,
                (
                    "cron[1]: day of month: wanted a day that exists in the months and years given, found '31' "
                    "(this would never fire; the last day of any month is L)"
                ),
            ),
            (7, "cron[2]: hour: wanted a range that ascends, found '22-2' (write 22-23,0-2)"),
            (
                8,
                (
                    "cron[3]: minute: wanted a step from 1 to 60, found '*/90' "
                    '(a step begins anew with each round; for an interval write every = "90m" instead of cron)'
                ),
            ),
        )
    ]
    assert (result.exit_code, result.stdout) == (1, "ok  other  at 07:00 every day, UTC\n")
