"""`kova-auto rules`: what is allowed for good and from where, allowing and taking back, trying rules out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kova_auto.cli.main import app
from tests.cli.command import Home
from tests.support import ROOT

CASES = ROOT / "tests" / "cases"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path.resolve())
    for name in ("app", "shared", "other"):
        (home.path / name).mkdir()
    return home


def run(home: Home, *words: str) -> Result:
    """Run a command about the workspace."""
    return home.run("rules", *words, "--workspace", str(home.path / "app"))


def says(home: Home, name: str, value: object) -> Path:
    path = home.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def listed(home: Home, *words: str) -> dict[str, Any]:
    result = home.run("rules", "list", "--json", *(words or ("--workspace", str(home.path / "app"))))
    assert result.exit_code == 0
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def entries(found: dict[str, Any]) -> list[tuple[str, str, str, bool]]:
    return [(one["kind"], one["origin"], one["text"], one["counts"]) for one in found["entries"]]


def wrong(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (2, "")
    return result.stderr.strip()


def test_where_nothing_is_allowed_the_list_says_how_to_allow_something(home: Home) -> None:
    result = run(home, "list")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "Nothing is allowed for good here. kova-auto rules add 'git log *' allows a command.\n"


def test_what_was_added_is_listed_with_its_origin_until_it_is_forgotten(home: Home) -> None:
    shared = str(home.path / "shared")
    added = run(home, "add", "git log *", "make lint", "--root", shared, "--tool", "mcp__github__search")
    assert added.exit_code == 0
    assert added.stdout.splitlines() == [
        f"allowed in {home.path}/app: commands: git log *",
        f"allowed in {home.path}/app: commands: make lint",
        f"allowed in {home.path}/app: writing in {shared}",
        f"allowed in {home.path}/app: the tool mcp__github__search",
    ]
    assert entries(listed(home)) == [
        ("command", "local", "git log *", True),
        ("command", "local", "make lint", True),
        ("root", "local", shared, True),
        ("tool", "local", "mcp__github__search", True),
    ]
    assert entries(listed(home, "--workspace", str(home.path / "other"))) == []
    gone = run(home, "forget", "git log *", "make lint", "--root", shared, "--tool", "mcp__github__search")
    assert gone.stdout.replace("no longer allowed", "allowed") == added.stdout
    assert entries(listed(home)) == []


def test_what_is_added_for_the_user_counts_everywhere(home: Home) -> None:
    result = home.run("rules", "add", "--user", "npm test")
    assert (result.exit_code, result.stdout) == (0, "allowed in every workspace: commands: npm test\n")
    assert json.loads((home.path / ".kova" / "permissions.json").read_text()) == {"allowCommands": ["npm test"]}
    assert entries(listed(home)) == [("command", "user", "npm test", True)]
    assert home.run("rules", "forget", "--user", "npm test").exit_code == 0
    assert entries(listed(home)) == []


def test_a_workspace_in_which_no_job_works_is_noted(home: Home) -> None:
    home.job("nightly", f'prompt = "Look."\nworkspace = "{home.path}/app"\n')
    here = run(home, "add", "echo *")
    other = home.run("rules", "add", "echo *", "--workspace", str(home.path / "other"))
    where = f"no job of {home.jobs} works in {home.path}/other yet"
    assert (here.stderr, other.stderr) == ("", f"note: {where}; --workspace, --job or --user names another place\n")


def test_the_same_thing_twice_is_nothing_new(home: Home) -> None:
    run(home, "add", "git log *")
    result = run(home, "add", "git log *")
    assert (result.exit_code, result.stdout) == (0, f"nothing new: that was allowed in {home.path}/app already\n")


def test_a_directory_is_allowed_by_what_a_link_to_it_means_now(home: Home) -> None:
    (home.path / "link").symlink_to(home.path / "shared")
    assert run(home, "add", "--root", str(home.path / "link")).exit_code == 0
    assert entries(listed(home)) == [("root", "local", str(home.path / "shared"), True)]


def test_a_directory_that_is_gone_can_be_forgotten(home: Home) -> None:
    run(home, "add", "--root", str(home.path / "shared"))
    (home.path / "shared").rmdir()
    result = run(home, "forget", "--root", str(home.path / "shared"))
    assert result.stdout == f"no longer allowed in {home.path}/app: writing in {home.path}/shared\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add"], "wanted a rule, --root or --tool, found none"),
        (["add", "*"], "wanted a command rule, found '*': a rule of nothing but * would be every command"),
        (["add", "git log && ls"], "wanted a command rule, found 'git log && ls'"),
        (["add", "--tool", "mcp__x__*"], "wanted the full name of a tool, found 'mcp__x__*'"),
        (["add", "--root", "/"], "no write root: / is the whole machine"),
        (["add", "--root", "/etc"], "no write root: /etc is a directory of the system"),
        (["add", "--root", "/no/such/place"], "'/no/such/place' cannot be used: No such file or directory"),
        (["add", "x", "--user"], "wanted one of --user, --workspace and --job, found two"),
        (["add", "x", "--job", "nightly"], "wanted one of --workspace and --job, found both"),
        (["forget", "git log *"], "nothing of this is allowed in"),
        (["test"], "wanted a command"),
        (["test", "ls", "--jsonl"], "--jsonl takes commands and rules from standard input"),
    ],
)
def test_what_cannot_be_done_is_said(home: Home, words: list[str], said: str) -> None:
    assert said in wrong(run(home, *words))


def test_a_workspace_that_is_not_there_is_named(home: Home) -> None:
    result = home.run("rules", "list", "--workspace", str(home.path / "none"))
    assert f"{home.path}/none: wanted a directory, found nothing" in wrong(result)


def test_rules_that_reach_further_than_they_look_are_noted(home: Home) -> None:
    result = run(home, "add", "node *")
    assert (result.exit_code, result.stdout) == (0, f"allowed in {home.path}/app: commands: node *\n")
    assert "warning: 'node *' grants arbitrary code" in result.stderr
    (entry,) = listed(home)["entries"]
    assert (entry["grade"], entry["note"].startswith("'node *' grants arbitrary code: ")) == ("any_code", True)
    assert "grants arbitrary code" in run(home, "list").stdout


def test_what_a_workspace_proposes_is_listed_and_does_not_count(home: Home) -> None:
    run(home, "add", "git log *")
    says(home, "app/.kova/permissions.json", {"allowCommands": ["git log *", "make *"], "writeRoots": ["../shared"]})
    says(home, "app/.kova/permissions.local.json", {"allowCommands": ["rm *"]})
    found = listed(home)
    assert entries(found) == [
        ("command", "local", "git log *", True),
        ("command", "project", "make *", False),
        ("root", "project", str(home.path / "shared"), False),
    ]
    assert found["ignored"] == f"{home.path}/app/.kova/permissions.local.json"
    shown = run(home, "list")
    assert "proposed only: it grants nothing" in shown.stdout
    assert "permissions.local.json is not read" in shown.stderr


def test_what_is_wrong_with_a_file_is_said_with_its_place_and_the_rest_counts(home: Home) -> None:
    path = says(home, ".kova/permissions.json", '{"allowCommands": ["*", "npm test"], "writeRoots": 7}')
    found = listed(home)
    assert entries(found) == [("command", "user", "npm test", True)]
    assert [(one["path"], one["key"]) for one in found["problems"]] == [
        (str(path), "writeRoots"),
        (str(path), "allowCommands[0]"),
    ]
    assert run(home, "list").stderr.count("warning: ") == 2


@pytest.mark.parametrize(
    ("automation", "counts"),
    [("read-only", [True, False, False]), ("workspace-write", [True, True, True]), ("full", [True, True, True])],
)
def test_for_a_job_it_is_said_what_counts_at_its_level(home: Home, automation: str, counts: list[bool]) -> None:
    home.job(
        "nightly",
        f"""
        prompt = "Look."
        workspace = "{home.path}/app"
        automation = "{automation}"
        [permissions]
        allow_commands = ["make a"]
        """,
    )
    run(home, "add", "make c")
    home.run("rules", "add", "--user", "make b")
    found = listed(home, "--job", "nightly")
    assert found["job"] == "nightly"
    assert entries(found) == [
        ("command", origin, f"make {letter}", is_counted)
        for origin, letter, is_counted in zip(("job", "user", "local"), "abc", counts, strict=True)
    ]
    tried = home.run("rules", "test", "make c", "--job", "nightly")
    assert tried.exit_code == (0 if automation == "workspace-write" else 1)


def test_a_trial_names_each_part_each_rule_and_the_one_that_decided(home: Home) -> None:
    run(home, "add", "git log *", "wc *")
    result = run(home, "test", "git log | wc -l")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "covered: grant.local:git log *, grant.local:wc *",
        "1. git log",
        "   covered by grant.local:git log *",
        "     local  git log *  matches",
        "2. wc -l",
        "   covered by grant.local:wc *",
        "     local  git log *  does not match",
        "     local  wc *  matches",
        "only reads: git log, wc",
        "would be remembered: git log *; wc *",
    ]


def test_a_trial_with_rules_of_its_own_looks_at_no_file(home: Home) -> None:
    says(home, ".config/kova-auto/kova-auto.toml", "broken")
    result = home.run("rules", "test", "cd x && git push && rm -rf y", "--rule", "git push *", "--rule", "a && b")
    assert (result.exit_code, result.stderr) == (1, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "not covered: the rules do not let all of it run"
    assert "   needs no rule: a plain cd" in lines
    assert any(line.startswith("     job  a && b  can never match: ") for line in lines)
    assert lines[-1].startswith("would be remembered: git push * (not rm -rf y, because ")


def test_a_command_that_is_not_read_says_where_and_why(home: Home) -> None:
    result = home.run("rules", "test", "echo $(date)", "--rule", "echo *", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["match"], found["safe"], found["remember"], found["reason"]) == (False, False, None, "substitution")
    assert (found["refused"]["at"], found["parts"], found["rule"]) == (5, [], None)


def piped(*lines: str) -> Result:
    text = "".join(f"{line}\n" for line in lines)
    return CliRunner().invoke(app, ["rules", "test", "--jsonl"], input=text)


def test_every_case_of_the_corpus_is_answered_as_it_says() -> None:
    rows = [json.loads(line) for line in (CASES / "shell.jsonl").read_text(encoding="utf-8").splitlines()]
    result = piped(*(json.dumps({"command": row["command"], "rules": row["rules"]}) for row in rows))
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert (result.exit_code, len(answers), len(rows)) == (0, 830, 830)
    assert {tuple(answer) for answer in answers} == {("match", "safe", "remember", "reason")}
    assert [
        row["id"] for row, answer in zip(rows, answers, strict=True) if answer["match"] != row["expect_match"]
    ] == []
    derived = [(row, answer) for row, answer in zip(rows, answers, strict=True) if "expect_rules" in row]
    assert [row["id"] for row, answer in derived if (answer["remember"] or []) != (row["expect_rules"] or [])] == []


def test_a_line_that_is_no_question_is_answered_with_its_number_and_the_others_are_answered() -> None:
    good = '{"command": "ls", "rules": ["ls *"], "id": 7}'
    result = piped(good, "{", "", '{"rules": []}', '["ls"]', '{"command": "ls", "rules": "ls"}', good)
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 2
    assert [answer.get("line") for answer in answers] == [None, 2, 4, 5, 6, None]
    assert answers[0] == answers[-1] == {"match": True, "safe": True, "remember": ["ls *"], "reason": "covered"}
    assert all('wanted an object as {"command"' in answer["error"] for answer in answers[1:5])
