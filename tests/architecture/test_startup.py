"""What every command pays for: nothing heavy is imported by those that need nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "alembic",
    "bs4",
    "httpcore",
    "httpx",
    "httpx2",
    "jinja2",
    "jsonschema",
    "markdownify",
    "mcp",
    "mcp_types",
    "psycopg",
    "sqlalchemy",
    "sqlmodel",
    "starlette",
    "uvicorn",
}
JOB = 'prompt = "Look."\nworkspace = "."\nschedule.cron = "0 7 * * *"\n'


def imported(*arguments: str, home: Path) -> set[str]:
    """Return the top-level packages that a command has imported, once it has ended well."""
    command = [sys.executable, "-X", "importtime", "-m", "kova_auto", *arguments]
    done = subprocess.run(command, cwd=home, env={"HOME": str(home)}, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = (line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:"))
    return {name.partition(".")[0] for name in lines}


def test_the_list_of_jobs_knows_which_are_paused_and_imports_nothing_heavy(tmp_path: Path) -> None:
    jobs = tmp_path / ".config" / "kova-auto" / "jobs"
    jobs.mkdir(parents=True)
    (jobs / "nightly.toml").write_text(JOB)
    assert "sqlalchemy" in imported("jobs", "pause", "nightly", home=tmp_path)

    assert imported("jobs", "list", home=tmp_path) & HEAVY == set()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["jobs", "--help"],
        ["jobs", "check", "nightly.toml"],
        ["jobs", "schema"],
        ["explain", "nightly.toml", "read", "notes.txt"],
        ["rules", "list"],
        ["rules", "test", "ls -l", "--rule", "ls *"],
    ],
)
def test_a_light_command_imports_nothing_heavy(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "nightly.toml").write_text(JOB)
    found = imported(*arguments, home=tmp_path)

    assert "kova_auto" in found
    assert found & HEAVY == set()


def test_a_run_without_servers_and_a_look_at_those_that_there_are_import_no_library_for_them(tmp_path: Path) -> None:
    (tmp_path / "nightly.toml").write_text(JOB + 'script = "nightly.script.toml"\n')
    (tmp_path / "nightly.script.toml").write_text('[[turns]]\ntext = "Done."\n')
    configured = tmp_path / ".kova" / "mcp.json"
    configured.parent.mkdir()
    configured.write_text('{"mcpServers": {"db": {"command": "true"}, "web": {"url": "https://x.test/mcp"}}}')
    for arguments in (["run", "nightly.toml"], ["mcp", "list"], ["mcp", "check"]):
        assert imported(*arguments, home=tmp_path) & {"mcp", "mcp_types", "httpx2", "starlette"} == set(), arguments
