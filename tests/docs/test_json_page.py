"""The page on JSON names everything that `--json` writes, and nothing else."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path

import pytest
from pydantic import BaseModel
from typer.testing import Result

from kova_auto.app.asked import Asked
from kova_auto.app.control import Applied, Placed
from kova_auto.app.exporting import Export, SentBody
from kova_auto.core.approval.levels import Verdict
from kova_auto.core.delivery.story import Story, Try
from kova_auto.core.event import Event, Fact
from kova_auto.core.goal.view import CriterionView, GoalView
from kova_auto.core.loop.values import (
    Interlude,
    InterludeKind,
    Iteration,
    LoopApproval,
    LoopCall,
    LoopFailure,
    LoopView,
)
from kova_auto.core.replay import Replay, ReplayedCall, ReplayedIteration
from kova_auto.core.source import Source
from kova_auto.core.transcript.blobs import BlobRef, BlobUse
from kova_auto.core.transcript.told import Told, What
from kova_auto.core.usage import UsageReport, Used
from kova_auto.core.view import DeliveryRow, RunRow
from tests.cli.command import Home
from tests.docs.pages import bare, codes, table, tables_under
from tests.docs.terminal import on_terminal

PAGE = "docs/json.md"
FACTS = "`kova-auto run`, `runs tail`, `runs retry`"
MODELS: Sequence[tuple[str, type[BaseModel]]] = [
    ("`kova-auto runs list`", RunRow),
    ("`kova-auto runs loop`", LoopView),
    ("`kova-auto runs apply`", Applied),
    ("`kova-auto runs export`", Export),
    ("What was said", Told),
    ("A request", SentBody),
    ("A content", BlobRef),
    ("An iteration", Iteration),
    ("A call", LoopCall),
    ("The approval of a call", LoopApproval),
    ("An interlude", Interlude),
    ("A goal", GoalView),
    ("`kova-auto runs replay`", Replay),
    ("An iteration of a replay", ReplayedIteration),
    ("A call of a replay", ReplayedCall),
    ("`kova-auto approvals list`", Asked),
    ("`kova-auto deliveries list`", DeliveryRow),
    ("`kova-auto deliveries show`", Story),
    ("An attempt", Try),
    ("`kova-auto usage`", UsageReport),
    ("A sum", Used),
]
JOB = """
prompt = "Look."
script = "look.script.toml"
approval = { when_needed = "suspend" }
"""
SCRIPT = """
[[turns]]
calls = [{ tool = "write", args = { file_path = "a", content = "a" } }]
[[turns]]
text = "Done."
"""
ENDPOINT = '[endpoints.ci]\nurl = "https://example.org/hook"\nsecret = { env = "S" }\n'


@pytest.mark.parametrize(("heading", "model"), MODELS)
def test_each_table_has_the_names_of_its_model(heading: str, model: type[BaseModel]) -> None:
    assert table(PAGE, heading).names == list(model.model_fields)


def test_a_failure_of_an_iteration_has_the_names_that_are_said() -> None:
    said = next(row[1] for row in table(PAGE, "An iteration").body if bare(row[0]) == "failures")
    assert codes(said) == list(LoopFailure.model_fields)


def test_each_kind_of_interlude_is_named() -> None:
    said = next(row[1] for row in table(PAGE, "An interlude").body if bare(row[0]) == "kind")
    assert codes(said) == [kind.value for kind in InterludeKind]


def test_each_kind_of_thing_that_is_said_or_pointed_to_is_named() -> None:
    said = next(row[1] for row in table(PAGE, "What was said").body if bare(row[0]) == "what")
    use = next(row[1] for row in table(PAGE, "A content").body if bare(row[0]) == "use")
    assert (codes(said), codes(use)) == ([*What], [*BlobUse])


def test_a_criterion_of_a_goal_has_the_names_that_are_said() -> None:
    said = next(row[1] for row in table(PAGE, "A goal").body if bare(row[0]) == "criteria")
    assert [name for name in codes(said) if name != "null"] == list(CriterionView.model_fields)


def test_what_a_run_was_shown_has_the_names_that_are_said() -> None:
    said = next(row[1] for row in table(PAGE, "`kova-auto runs show`").body if bare(row[0]) == "context")
    assert codes(said) == list(Source.model_fields)


def test_a_verdict_of_a_replay_has_the_names_that_are_said() -> None:
    said = next(row[1] for row in table(PAGE, "A call of a replay").body if bare(row[0]) == "verdict_then")
    assert codes(said)[: len(Verdict.model_fields)] == list(Verdict.model_fields)


def test_each_fact_has_the_names_of_its_row() -> None:
    line, facts = tables_under(PAGE, FACTS)
    assert line.names == list(Placed.model_fields)
    written = {bare(row[0]): codes(row[2]) for row in facts.body}
    shared = {*Fact.model_fields, "kind"}
    assert written == {
        kind.model_fields["kind"].default: [name for name in kind.model_fields if name not in shared]
        for kind in Event.__args__
    }


def test_what_no_model_describes_has_the_names_of_its_table(home: Path) -> None:
    (home / "look.toml").write_text(JOB)
    (home / "look.script.toml").write_text(SCRIPT)
    assert typed(home, "run ./look.toml").exit_code == 3
    Home(home).settings(ENDPOINT)
    shown = {
        "`kova-auto runs show`": said(home, "runs show last"),
        "`kova-auto approvals show`": said(home, "approvals show last 1.1"),
        "`kova-auto endpoints list`": said(home, "endpoints list"),
        "`kova-auto rules test`": said(home, "rules test ls --rule 'ls *'"),
        "`kova-auto doctor`": said(home, "doctor --offline"),
    }
    assert {heading: list(names) for heading, names in shown.items()} == {
        heading: table(PAGE, heading).names for heading in shown
    }


def test_what_the_commands_about_a_memory_write_has_the_names_of_their_tables(home: Path) -> None:
    on_terminal("echo 'Use tabs.' | kova-auto memory edit MEMORY.md - && kova-auto memory forget MEMORY.md", home)
    history = said(home, "memory history MEMORY.md")
    typed(home, "memory restore MEMORY.md")
    hit = said(home, "memory search tabs")
    listed = said(home, "memory list")
    shown = {"list": listed, "show": said(home, "memory show"), "search": hit, "history": history}
    for command, found in shown.items():
        assert list(found) == table(PAGE, f"`kova-auto memory {command}`").names
    for found, name in ((listed, "notes"), (history, "versions"), (history, "trash")):
        assert_named(found, name)


def assert_named(found: dict[str, object], name: str) -> None:
    headings = {"notes": "list", "versions": "history", "trash": "history"}
    said_of = next(row[1] for row in table(PAGE, f"`kova-auto memory {headings[name]}`").body if bare(row[0]) == name)
    entries = found[name]
    assert isinstance(entries, list)
    assert [one for one in codes(said_of) if one in entries[0]] == list(entries[0])


def test_what_the_commands_about_skills_write_has_the_names_of_their_tables(home: Path) -> None:
    (home / ".kova/skills/notes").mkdir(parents=True)
    (home / ".kova/skills/notes/SKILL.md").write_text("---\nname: notes\ndescription: Notes.\n---\nDo it.\n")
    listed, shown = said(home, "skills list"), said(home, "skills show notes")
    checked = said(home, "skills check .kova/skills/notes")
    for command, found in (("list", listed), ("show", shown), ("check", checked)):
        assert list(found) == table(PAGE, f"`kova-auto skills {command}`").names
    entries = listed["skills"]
    assert isinstance(entries, list)
    assert list(entries[0]) == [*(name for name in shown if name != "text"), "shown", "shadowed_by"]


def test_what_the_list_of_rules_writes_has_the_names_of_its_tables(home: Path) -> None:
    typed(home, "rules add --user 'git log *'")
    shown, entry = tables_under(PAGE, "`kova-auto rules list`")
    found = said(home, "rules list")
    assert list(found) == shown.names
    entries = found["entries"]
    assert isinstance(entries, list)
    assert list(entries[0]) == entry.names


def typed(home: Path, command: str) -> Result:
    """Return what comes of a command that is typed in a home directory."""
    with chdir(home):
        return Home(home).run(*shlex.split(command))


def said(home: Path, command: str) -> dict[str, object]:
    """Return the object that a command writes, or the first of its list."""
    value = json.loads(typed(home, f"{command} --json").stdout)
    found: dict[str, object] = value[0] if isinstance(value, list) else value
    return found
