"""`kova-auto mcp`: which servers files configure, and whether they can be used; and what `doctor` says of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kova_auto.cli.main import app
from tests.app.mcp_homes import configure, runs
from tests.cli.command import Home, StoppedClock, logging_restored
from tests.support import ALONE


@dataclass(frozen=True)
class Desk:
    """Sit in a workspace, at home."""

    home: Home

    @property
    def workspace(self) -> Path:
        return self.home.path / "app"

    def run(self, *words: str) -> Result:
        variables = {"HOME": str(self.home.path), "TZ": "Europe/Berlin", "COLUMNS": "200", **ALONE}
        with logging_restored():
            return CliRunner(env=variables).invoke(app, [*words], obj=StoppedClock(), prog_name="kova-auto")

    def here(self, command: str, *words: str) -> Result:
        return self.run("mcp", command, *words, "--workspace", str(self.workspace))

    def said(self, command: str, *words: str) -> Any:  # noqa: ANN401  # whatever it writes
        return json.loads(self.here(command, *words, "--json").stdout)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(Home(tmp_path.resolve()))
    desk.workspace.mkdir()
    return desk


def test_servers_are_listed_with_who_brought_them_and_what_hides_what(desk: Desk) -> None:
    configure(desk.home.path, db={"command": "run-db", "description": "Ours"}, off={"command": "x", "disabled": True})
    configure(desk.workspace, ".mcp.json", db={"url": "https://x.test/mcp?key=1"}, bad={"type": "sse"})
    found = desk.said("list")
    assert [(one["server"], one["used"], one["reached_by"], one["shadowed_by"]) for one in found["servers"]] == [
        ("db", "if named", "run-db", None),
        ("off", "disabled", "x", None),
        ("workspace:bad", "broken", None, None),
        ("workspace:db", "if named", "https://x.test/mcp", "db"),
    ]
    shown = desk.here("list")
    assert shown.stdout.splitlines()[1].split() == ["db", "user", "if", "named", "run-db", "Ours"]
    assert "db means db; workspace:db means the one of" in shown.stderr


def test_a_job_uses_what_it_names(desk: Desk) -> None:
    configure(desk.home.path, db={"command": "run-db"})
    configure(desk.workspace, ".mcp.json", db={"command": "x"}, own={"command": "own"})
    desk.home.job("nightly", f'prompt = "Look."\nworkspace = "{desk.workspace}"\nmcp.servers = ["db", "own"]\n')
    found = json.loads(desk.run("mcp", "list", "--job", "nightly", "--json").stdout)
    assert {one["server"]: one["used"] for one in found["servers"]} == {
        "db": "yes",
        "workspace:db": "no",
        "workspace:own": "yes",
    }


def test_no_server_is_said_with_where_one_stands(desk: Desk) -> None:
    assert "No file configures an MCP server here." in desk.here("list").stdout
    assert desk.said("list")["servers"] == []


def test_a_check_starts_nothing(desk: Desk) -> None:
    log = desk.home.path / "log"
    configure(desk.home.path, db=runs("stubborn", str(log)), gone={"command": "no-such-program"})
    done = desk.here("check")
    assert done.exit_code == 2
    assert "there is no program no-such-program" in done.stdout
    assert not log.exists()


def test_a_check_that_connects_shows_the_tools_by_their_full_names(desk: Desk) -> None:
    configure(desk.home.path, db=runs())
    (found,) = desk.said("check", "--connect")
    assert (found["server"], found["ok"], found["problems"]) == ("db", True, [])
    assert [(tool["full_name"], tool["read_only"]) for tool in found["tools"]] == [
        ("mcp__db__echo", False),
        ("mcp__db__look", True),
        ("mcp__db__where", False),
    ]
    shown = desk.here("check", "--connect")
    assert shown.exit_code == 0
    assert "mcp__db__look (says that it only reads): Look at it" in shown.stdout


def test_a_server_that_does_not_start_fails_the_check(desk: Desk) -> None:
    configure(desk.home.path, db=runs("dies"), good=runs())
    done = desk.here("check", "--connect")
    assert done.exit_code == 1
    assert "its last words: cannot open the database" in done.stdout
    assert "mcp__good__echo" in done.stdout


def test_what_comes_with_a_workspace_is_run_only_if_it_is_named(desk: Desk) -> None:
    log = desk.home.path / "log"
    configure(desk.workspace, ".mcp.json", own=runs("stubborn", str(log), timeout=3))
    assert desk.here("check", "--connect").exit_code == 0
    assert not log.exists()
    assert desk.here("check", "own", "--connect").exit_code == 1
    assert log.exists()


def test_a_server_that_nobody_configures_is_an_error(desk: Desk) -> None:
    done = desk.here("check", "nobody")
    assert done.exit_code == 2
    assert "no file configures a server 'nobody'" in done.stderr


def doctored(desk: Desk) -> list[tuple[str, str, str]]:
    done = desk.run("doctor", "--offline", "--json")
    return [(one["name"], one["mark"], one["text"]) for one in json.loads(done.stdout) if one["check"] == "mcp"]


def test_doctor_names_what_files_and_jobs_have_wrong(desk: Desk) -> None:
    path = configure(desk.home.path, db=runs(), bad={"type": "sse"})
    desk.home.job(
        "nightly",
        f'prompt = "Look."\nworkspace = "{desk.workspace}"\nmcp.servers = ["db", "nobody"]\n'
        'permissions.allow_mcp_tools = ["mcp__db__echo", "mcp__workspace:db__echo"]\n',
    )
    found, no_such = doctored(desk), "no server of the job has the address workspace:db"
    assert (str(path), "ok", "1 server can be named by jobs") in found
    assert [mark for name, mark, text in found if name == str(path) and "sse" in text] == ["warn"]
    assert [text for name, mark, text in found if (name, mark) == ("nightly", "fail")] == [
        "mcp.servers names 'nobody': no file configures a server of this name; known here: bad, db, user:bad, user:db"
    ]
    assert [text for name, mark, text in found if (name, mark) == ("nightly", "warn")] == [
        f"permissions.allow_mcp_tools: mcp__workspace:db__echo allows nothing: {no_such}"
    ]


def test_doctor_names_a_grant_for_a_tool_that_is_not_there_any_more(desk: Desk) -> None:
    configure(desk.home.path, db=runs())
    grants = 'permissions.allow_mcp_tools = ["mcp__db__echo", "mcp__db__merge*"]\n'
    job = f'prompt = "Look."\nworkspace = "{desk.workspace}"\nmcp.servers = ["db"]\n{grants}'
    desk.home.job("nightly", job)
    assert [mark for _, mark, _ in doctored(desk)] == ["ok"]  # nobody has asked it yet
    desk.here("check", "--connect")
    assert [text for _, mark, text in doctored(desk) if mark == "warn"] == [
        "permissions.allow_mcp_tools: mcp__db__merge* allows nothing: db had no such tool when it last told"
    ]


def test_a_check_leaves_nothing_behind(desk: Desk) -> None:
    configure(desk.home.path, db=runs())
    desk.here("check", "--connect")
    work = desk.home.path / ".cache" / "kova-auto"
    assert sorted(path.name for path in work.iterdir()) == ["mcp", "runs"]
    assert list((work / "runs").iterdir()) == []


def test_a_check_says_what_of_a_servers_configuration_means_nothing(desk: Desk) -> None:
    configure(desk.home.path, db=runs(autoApprove=["echo"], env={"DB_TOKEN": "hunter2-hunter2"}))
    for connect in ([], ["--connect"]):
        (found,) = desk.said("check", *connect)
        assert found["ok"]
        assert ["autoApprove" in note or "a secret seems to be written out" in note for note in found["notes"]] == [
            True
        ] * 2
    shown = desk.here("check")
    assert shown.exit_code == 0
    assert "mcpServers.db.autoApprove: means nothing here (write approveTools" in shown.stdout
    assert "hunter2" not in shown.stdout


def test_a_file_that_cannot_be_read_fails_the_check(desk: Desk) -> None:
    path = configure(desk.home.path, db=runs())
    path.write_text('{\n  // as some editors write\n  "mcpServers": {}\n}')
    done = desk.here("check")
    assert done.exit_code == 2
    assert f"{path}:2: wanted JSON" in done.stderr


def test_a_server_on_this_machine_that_may_not_be_is_said_to_need_a_word(desk: Desk) -> None:
    configure(desk.home.path, db={"url": "http://localhost:${PORT:-8080}/mcp"})
    assert "write allow_private: true" in desk.here("check").stdout


def test_doctor_names_a_job_that_would_be_refused_what_it_needs(desk: Desk) -> None:
    configure(desk.home.path, db=runs("stubborn"))
    needs = 'mcp.servers = ["db"]\nlimits.required_tools = ["mcp__db__echo"]\n'
    job = f'prompt = "Look."\nworkspace = "{desk.workspace}"\n{needs}'
    desk.home.job("nightly", job)
    desk.home.job("other", f'{job}permissions.allow_mcp_tools = ["mcp__db__echo"]\n')
    done = desk.run("doctor", "--offline", "--json")
    said = {(one["name"], one["text"]) for one in json.loads(done.stdout) if "required_tools" in one["text"]}
    assert [name for name, _ in said] == ["nightly"]
    assert "mcp__db__echo would be refused (level.read-only.outward)" in next(iter(said))[1]
