"""`kova-auto explain`: one verdict with all that led to it, and every tool at a job's level."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from kova_auto.core.approval.levels import AutomationLevel
from kova_auto.core.tool_names import MCP, TOOL_NAMES, WORK_NEEDED
from tests.cli.command import Home

OPEN = '[permissions]\nsandbox = "off"\n'
"""Needs no confinement, which not every machine that runs tests can prove."""
GRANTED = f"""\
{OPEN}allow_commands = ["make docs", "npm test *"]
web = ["docs.python.org", "*.wiki.org"]
[agents]
allow = ["explorer"]
"""
TOOLS = {*TOOL_NAMES}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    (tmp_path / "app").mkdir()
    return Home(tmp_path)


def job(home: Home, more: str = GRANTED, keys: str = "") -> None:
    home.job("nightly", f'prompt = "Look."\nworkspace = "{home.path}/app"\n{keys}\n{more}')


def a_skill(home: Home) -> None:
    folder = home.path / "app/.kova/skills/notes"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: notes\ndescription: Notes.\n---\n")


def explained(home: Home, *args: str) -> dict[str, Any]:
    result = home.run("explain", "nightly", *args, "--json")
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def ruled(home: Home, *args: str) -> tuple[int, str, str, str]:
    """Return the exit code, the ruling, what becomes of it, and the rule that decided."""
    result = home.run("explain", "nightly", *args, "--json")
    found = json.loads(result.stdout)
    return result.exit_code, found["verdict"]["ruling"], found["settled"], found["verdict"]["rule"]


def test_a_subagent_that_writes_is_refused_to_a_plan_as_it_is_in_a_run(home: Home) -> None:
    job(home, f'{OPEN}[agents]\nallow = ["*"]\n', 'mode = "plan"\nautomation = "full"')
    for agent, found in (
        ("explorer", (0, "allow", "allow", "level.full.subagent")),
        ("fixer", (3, "deny", "deny", "mode.plan.subagent")),
    ):
        assert (agent, ruled(home, "Task", f'{{"agent": "{agent}", "task": "look"}}')) == (agent, found)


def test_a_command_that_is_refused_shows_its_segments_and_each_rule_that_was_asked(home: Home) -> None:
    job(home)
    result = home.run("explain", "nightly", "bash", "git log && rm -rf x")
    assert (result.exit_code, result.stderr) == (3, "")
    verdict, reason, *rest = result.stdout.splitlines()
    assert verdict == "ask: level.read-only.command: nobody is there to be asked, so it is denied at once"
    assert reason.startswith("Running this command needs a person's approval, and nobody is there to give it. You may")
    assert rest == [
        "",
        "job          nightly: agent mode, level read-only, nobody attends, nobody can be asked",
        "call         bash git log && rm -rf x",
        "segments     git log",
        "               grant.job:make docs  does not match",
        "               grant.job:npm test *  does not match",
        "               safe:git log  is on the list of commands that only read",
        "             rm -rf x",
        "               grant.job:make docs  does not match",
        "               grant.job:npm test *  does not match",
        "               no rule covers it, and it is not on the list of commands that only read",
        "asked        floor        nothing against it  (the tool, its arguments, the paths it touches)",
        "             mode         nothing against it  (agent mode, command: yes)",
        '             confinement  nothing against it  (sandbox = "off"; open will do)',
        "             level        ask level.read-only.command  (read-only, command: own or safe)",
        "             taint        nothing against it  (nothing untrusted has been read)",
        "confinement  open",
    ]


@pytest.mark.parametrize(
    ("args", "wanted"),
    [
        (("read", "notes.txt"), (0, "allow", "allow", "level.read-only.read_inside")),
        (("read", "/usr/share/x"), (3, "ask", "deny", "level.read-only.read_elsewhere")),
        (("write", "notes.txt"), (3, "ask", "deny", "level.read-only.write_inside")),
        (("write", '{"file_path": "a", "content": "b"}'), (3, "ask", "deny", "level.read-only.write_inside")),
        (("edit", ".git/config"), (3, "deny", "deny", "floor.control_path")),
        (("bash", "npm test -- -x"), (0, "allow", "allow", "grant.job:npm test *")),
        (("bash", "{ ls; }"), (3, "ask", "deny", "level.read-only.command")),
        (("web_fetch", "https://docs.python.org/3/"), (0, "allow", "allow", "web:docs.python.org")),
        (("web_fetch", "https://example.org/"), (3, "ask", "deny", "level.read-only.web_read")),
        (("web_fetch", "nonsense"), (3, "deny", "deny", "arguments")),
        (("glob", "**/*.py"), (0, "allow", "allow", "level.read-only.read_inside")),
        (("todo", '{"items": []}'), (0, "allow", "allow", "level.read-only.note")),
        (("todo", '{"itmes": []}'), (3, "deny", "deny", "arguments")),
        (("nothing", "x"), (3, "deny", "deny", "floor.unknown_tool")),
        (("nothing",), (3, "deny", "deny", "floor.unknown_tool")),
        (
            ("write", "notes.txt", "--attended", "auto-edit"),
            (0, "allow", "allow", "level.attended.auto-edit.write_inside"),
        ),
        (("write", "notes.txt", "--attended", "ask"), (3, "ask", "waits", "level.attended.ask.write_inside")),
        (("bash", "npm test", "--tainted"), (3, "ask", "deny", "taint")),
        (("web_fetch", "https://docs.python.org/3/", "--tainted"), (0, "allow", "allow", "web:docs.python.org")),
        (("read", "notes.txt", "--tainted"), (0, "allow", "allow", "level.read-only.read_inside")),
    ],
)
def test_a_call_is_judged_as_a_run_would(home: Home, args: tuple[str, ...], wanted: tuple[int, str, str, str]) -> None:
    job(home)
    assert ruled(home, *args) == wanted


def test_a_place_of_keys_is_the_floors_whatever_the_level(home: Home) -> None:
    job(home)
    told = ruled(home, "read", f"{home.path}/.ssh/id", "--attended", "auto")
    assert told == (3, "deny", "deny", "floor.secret")


def test_a_job_with_an_approver_lets_the_call_wait(home: Home) -> None:
    job(home, '[approval]\nwhen_needed = "suspend"\n')
    assert ruled(home, "write", "notes.txt") == (3, "ask", "waits", "level.read-only.write_inside")
    first = home.run("explain", "nightly", "write", "notes.txt").stdout.splitlines()[0]
    assert first == "ask: level.read-only.write_inside: it waits for a person"


def test_what_this_machine_allows_counts_and_what_the_project_proposes_does_not(home: Home) -> None:
    job(home, OPEN, 'automation = "workspace-write"')
    for place in (home.path / "app" / ".kova", home.path / ".kova"):
        place.mkdir()
        (place / "permissions.json").write_text(json.dumps({"allowCommands": [f"{place.parent.name} *"]}))
    assert ruled(home, "bash", "app x")[1:] == ("ask", "deny", "level.workspace-write.command")
    assert ruled(home, "bash", f"{home.path.name} x")[1:] == ("allow", "allow", f"grant.user:{home.path.name} *")


def test_a_broken_permission_file_grants_nothing_and_is_said(home: Home) -> None:
    job(home)
    (home.path / ".kova").mkdir()
    (home.path / ".kova" / "permissions.json").write_text("{")
    result = home.run("explain", "nightly", "read", "notes.txt")
    assert result.exit_code == 0
    assert "permissions.json" in result.stderr
    assert result.stdout.startswith("allow: level.read-only.read_inside\n")


def test_a_file_is_explained_as_well_as_a_name(home: Home) -> None:
    job(home)
    assert home.run("explain", str(home.jobs / "nightly.toml"), "read", "x").exit_code == 0


def test_neither_a_database_nor_a_service_is_needed_or_made(home: Home) -> None:
    job(home)
    home.run("explain", "nightly", "read", "x")
    home.run("explain", "nightly", "--all")
    assert list(home.path.rglob("*.db")) == []
    assert list((home.path / "app").iterdir()) == []


def test_a_program_is_told_everything(home: Home) -> None:
    job(home)
    found = explained(home, "bash", "npm test", "--tainted")
    assert list(found) == [
        *("job", "mode", "level", "attended", "tool", "arguments"),
        *("verdict", "settled", "effect", "paths", "host", "segments", "heeds_rules", "unread", "stages", "tainted_by"),
    ]
    assert (found["job"], found["level"], found["attended"]) == ("nightly", "read-only", False)
    assert (found["arguments"], found["tainted_by"]) == ({"command": "npm test"}, "untrusted text")
    assert [stage["stage"] for stage in found["stages"]] == ["floor", "mode", "confinement", "level", "taint"]


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ((), "wanted one of TOOL, --all and --since (for example kova-auto explain nightly bash 'git log')"),
        (("read", "x", "--all"), "wanted one of TOOL, --all and --since"),
        (("bash", "git", "log"), "wanted JOB TOOL ARGS, found 1 more (put the arguments in quotes)"),
        (("read", "{x"), "ARGS: wanted a JSON object, found "),
        (("todo", "buy milk"), "ARGS: wanted a JSON object for todo, found 'buy milk'"),
        (("read", "x", "--attended", "yolo"), "'yolo' is not one of 'ask', 'workspace-write', 'auto-edit', 'auto'"),
        (("--since", "1d", "--tainted"), "wanted --since without --attended and --tainted"),
        (("--since", "yesterday"), "--since: wanted a date and a time, found 'yesterday'"),
    ],
)
def test_unusable_input_is_a_complaint(home: Home, args: tuple[str, ...], complaint: str) -> None:
    job(home)
    result = home.run("explain", "nightly", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert complaint in " ".join(result.stderr.split())


def test_a_job_that_is_not_there_and_a_workspace_that_is_gone_are_named(home: Home) -> None:
    assert (home.run("explain", "nope", "read", "x").exit_code, home.jobs.exists()) == (2, False)
    job(home)
    (home.path / "app").rmdir()
    result = home.run("explain", "nightly", "read", "x")
    assert result.exit_code == 2
    assert f"workspace: wanted a directory, found nothing at {home.path}/app" in result.stderr


@pytest.mark.parametrize("level", AutomationLevel)
def test_no_cell_asks_where_nobody_can_be_asked(home: Home, level: AutomationLevel) -> None:
    job(home, keys=f'automation = "{level}"')
    a_skill(home)
    found = explained(home, "--all")
    assert {call["tool"] for call in found["calls"]} == TOOLS - {MCP}  # its job names no server
    assert {call["settled"] for call in found["calls"]} <= {"allow", "deny"}
    lines = home.run("explain", "nightly", "--all").stdout.splitlines()
    table = [line for line in lines if line.partition(" ")[0] in TOOLS]
    assert len(table) == len(found["calls"])
    assert [line for line in table if "ask" in line.lower().replace("task", "").replace(WORK_NEEDED, "")] == []


def test_loading_a_skill_is_explained_with_those_that_there_are(home: Home) -> None:
    job(home)
    a_skill(home)
    assert ruled(home, "use_skill", "notes")[1:] == ("allow", "allow", "level.read-only.read_inside")
    result = home.run("explain", "nightly", "use_skill", "gone")
    assert "there is no skill 'gone'; there are: notes" in result.stdout


def test_every_tool_is_shown_in_each_way_that_it_may_be_judged(home: Home) -> None:
    job(home)
    calls = explained(home, "--all")["calls"]
    told = {(call["tool"], call["verdict"]["rule"]) for call in calls}
    assert told >= {
        ("read", "level.read-only.read_inside"),
        ("read", "level.read-only.read_elsewhere"),
        ("read", "floor.secret"),
        ("write", "level.read-only.write_inside"),
        ("write", "level.read-only.write_elsewhere"),
        ("write", "floor.guarded_path"),
        ("write", "floor.control_path"),
        ("bash", "grant.job:make docs"),
        ("bash", "grant.job:npm test *"),
        ("bash", "safe:git status"),
        ("bash", "level.read-only.command"),
        ("web_fetch", "web:docs.python.org"),
        ("web_fetch", "web:*.wiki.org"),
        ("web_fetch", "level.read-only.web_read"),
        ("memory_write", "level.read-only.memory_near"),
        ("memory_write", "level.read-only.memory_global"),
        ("question", "approval.questions"),
    }
    assert len(calls) == len({(call["tool"], call["verdict"]["rule"]) for call in calls})
    found = {call["effect"] for call in calls}
    assert found >= {
        "read",
        "write",
        "command",
        "note",
        "web_read",
        "question",
        "memory",
        "plan",
        "work_needed",
        "goal",
    }


def test_the_survey_lists_the_classes_that_can_ask(home: Home) -> None:
    job(home, keys='automation = "workspace-write"')
    lines = home.run("explain", "nightly", "--all").stdout.splitlines()
    begin = lines.index("Classes that can ask; such calls are denied at once, for nobody is there to be asked:")
    assert lines[begin + 1 :] == [
        "  read_elsewhere",
        "  web_read: hosts that are not listed",
        "  memory_global",
        "  write_elsewhere",
        "  command: commands that no rule covers and that do not only read",
        "  outward: tools that are not exempt",
        "  configure",
        "Once the run has read untrusted text, these ask whatever the level: web_read, command, outward.",
    ]


def test_at_full_nothing_asks_but_what_a_taint_asks(home: Home) -> None:
    job(home, "", 'automation = "full"')
    result: Result = home.run("explain", "nightly", "--all")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-2:] == [
        "No class of calls can ask.",
        "Once the run has read untrusted text, these ask whatever the level: web_read, outward.",
    ]


def test_a_survey_of_an_attended_run_asks_a_person(home: Home) -> None:
    job(home)
    calls = explained(home, "--all", "--attended", "ask")["calls"]
    waiting = {call["tool"] for call in calls if call["settled"] == "waits"}
    assert waiting == {"write", "edit", "bash", "memory_write", "question"}
