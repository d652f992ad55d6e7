"""Verdicts explained with nothing of a service but its tools, and recorded calls judged anew."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import JsonValue

from kova_auto.app.explaining import Explainer, explaining
from kova_auto.app.specimens import plain_arguments, specimens
from kova_auto.core.approval.levels import ApprovalLevel, Decision, Ruling
from kova_auto.core.event import ApprovalDecided, CallFinished, Event
from kova_auto.core.ids import CallId
from kova_auto.core.message import CallRequest, ResultStatus, ToolSpec, told
from kova_auto.core.tool_names import ALONE as ALONE_IN_REPLY
from kova_auto.scheduling.jobfiles import load_job
from kova_auto.settings.load import load_settings
from tests.core.approval.approval_support import policy
from tests.story import Story
from tests.support import a_request, at, call, says

EXPLAINED_MS = 20
OPEN = '[permissions]\nsandbox = "off"\n'


@asynccontextmanager
async def explainer(home: Path, more: str = "", level: ApprovalLevel | None = None) -> AsyncIterator[Explainer]:
    (home / "app").mkdir()
    (home / "nightly.toml").write_text(f'prompt = "Look."\nworkspace = "app"\n{more}')
    environ = {"HOME": str(home)}
    settings = load_settings(None, environ)
    async with explaining(settings, environ, load_job(home / "nightly.toml"), at("06:00:00"), level) as found:
        yield found


def story(home: Path, *calls: CallRequest, workspace: str = "", level: ApprovalLevel | None = None) -> Story:
    work = str(home / "app")
    return Story(a_request(workspace=workspace or work, level=level)).says(says("I try.", *calls))


async def changes(found: Explainer, events: list[Event]) -> tuple[int, list[tuple[str, Ruling, Ruling]]]:
    count, changed = await found.rejudged(events)
    return count, [(one.call_id, one.then.ruling, one.now.ruling) for one in changed]


async def test_a_call_of_a_copy_is_judged_where_the_job_works_today(tmp_path: Path) -> None:
    async with explainer(tmp_path, 'automation = "workspace-write"\n') as found:
        inside = call("write", file_path="/gone/copy/a.txt", content="")
        beside = call("write", file_path="/gone/copy-of-another/a.txt", content="")
        told = story(tmp_path, inside, beside, workspace="/gone/copy").does("1.1").does("1.2")
        assert await changes(found, told.events) == (2, [("1.2", Ruling.ALLOW, Ruling.ASK)])


async def test_before_a_person_has_agreed_to_criteria_nothing_is_changed(tmp_path: Path) -> None:
    async with explainer(tmp_path, 'mode = "goal"\n', ApprovalLevel.AUTO) as found:
        rules = {(one.tool, one.explanation.verdict.rule) for one in await found.survey()}
        told = story(tmp_path, call("write", file_path="a.txt", content=""), level=ApprovalLevel.AUTO).does("1.1")
        assert await changes(found, told.events) == (1, [])

    assert rules >= {
        ("write", "mode.goal.unagreed"),
        ("read", "level.attended.auto.read_inside"),
        ("goal_propose_criteria", "level.attended.auto.contract"),
        ("goal_complete", "level.attended.auto.note"),
    }
    assert ("write", "level.attended.auto.write_inside") not in rules


async def test_a_call_that_came_behind_untrusted_text_is_judged_as_such_a_one(tmp_path: Path) -> None:
    async with explainer(tmp_path, 'automation = "full"\n') as found:
        told_page = told(ResultStatus.OK, "a page").model_copy(update={"taints": "a page of a.example"})
        page = call("web_fetch", url="https://a.example/")
        tale = story(tmp_path, page).starts("1.1")
        tale.events.append(CallFinished(at=at("06:01:00"), call_id=CallId("1.1"), result=told_page))
        tale.says(says("And on.", page)).rules("2.1", Ruling.ASK)
        assert await changes(found, tale.events) == (2, [])


async def test_a_call_of_an_attended_run_is_judged_as_one(tmp_path: Path) -> None:
    async with explainer(tmp_path) as found:
        write = call("write", file_path="a.txt", content="")
        attended = story(tmp_path, write, level=ApprovalLevel.AUTO_EDIT).does("1.1")
        assert await changes(found, attended.events) == (1, [])
        assert await changes(found, story(tmp_path, write).does("1.1").events) == (
            1,
            [("1.1", Ruling.ALLOW, Ruling.ASK)],
        )


async def test_a_call_that_a_person_edited_is_judged_as_it_was_each_time(tmp_path: Path) -> None:
    async with explainer(tmp_path) as found:
        tale = story(tmp_path, call("read", file_path="a.txt")).waits("1.1")
        edited: dict[str, JsonValue] = {"file_path": "/usr/share/b.txt"}
        said = ApprovalDecided(at=at("06:01:00"), call_id=CallId("1.1"), decision=Decision.ONCE, by="ada", args=edited)
        tale.events.append(said)
        assert await changes(found, tale.rules("1.1", Ruling.ASK).events) == (2, [("1.1", Ruling.ASK, Ruling.ALLOW)])


async def test_an_explanation_takes_no_time(tmp_path: Path) -> None:
    async with explainer(tmp_path, f'{OPEN}allow_commands = ["npm test *", "git log *"]\n') as found:
        asked = ("bash", {"command": "git log -3 && rm -rf build | tee log"})
        await found.explain(*asked)  # what is read once is read
        taken = []
        for _ in range(20):
            began = time.process_time()
            await found.explain(*asked)
            taken.append((time.process_time() - began) * 1_000)
        assert min(taken) < EXPLAINED_MS


async def test_what_a_person_types_becomes_the_argument_that_matters(tmp_path: Path) -> None:
    async with explainer(tmp_path) as found:
        specs = {spec.name: spec for spec in found.specs()}
        typed = {name: plain_arguments(spec, "x y") for name, spec in specs.items()}
    assert {name: args and next(iter(k for k, v in args.items() if v == "x y")) for name, args in typed.items()} == {
        "read": "file_path",
        "write": "file_path",
        "edit": "file_path",
        "glob": "pattern",
        "grep": "pattern",
        "bash": "command",
        "task_output": "task_id",
        "task_stop": "task_id",
        "web_fetch": "url",
        "memory_write": "content",
        "memory_read": None,
        "memory_search": "query",
        "todo": None,
        "question": None,
        "nothing_to_report": "reason",
        "report_failure": "reason",
        "plan_write": "markdown",
        "plan_exit": None,
        "ask_needs_work": "reason",
        "goal_propose_criteria": None,
        "goal_complete": "summary",
        "goal_blocked": "reason",
    }


async def test_every_specimen_fits_the_schema_of_its_tool(tmp_path: Path) -> None:
    async with explainer(tmp_path, 'automation = "full"\n') as found:
        survey = await found.survey()
        assert {one.tool for one in survey} == {spec.name for spec in found.specs()}
    unfit = {one.tool for one in survey if one.explanation.verdict.rule == "arguments"}
    assert unfit <= ALONE_IN_REPLY  # they want a plan, or criteria, which a run without a past has none of


async def test_each_layer_of_a_memory_is_judged_apart(tmp_path: Path) -> None:
    async with explainer(tmp_path, 'automation = "workspace-write"\n') as found:
        survey = await found.survey()
    told = [(one.shown, one.explanation.verdict.ruling) for one in survey if one.tool == "memory_write"]
    assert told == [("workspace", "allow"), ("global", "ask")]


def test_specimens_come_to_the_rules_hosts_and_roots_of_a_job() -> None:
    granted = replace(policy(web=("*", "*.wiki.org")), write_roots=("/srv/lib",), read_roots=("/docs",))

    def shown(name: str) -> list[str]:
        spec = ToolSpec(
            name="t",
            description="",
            parameters={"type": "object", "properties": {name: {"type": "string"}}, "required": [name]},
        )
        found = list(specimens(spec, granted, "/home/me"))
        assert [args[name] for _, args in found] == [text for text, _ in found]
        return [text for text, _ in found]

    assert shown("url") == ["https://www.wiki.org/", "https://example.org/"]
    assert shown("path")[:2] == ["/srv/lib/example.txt", "/docs/example.txt"]
    assert shown("command")[0] == "git status"


@pytest.mark.parametrize(
    ("schema", "sample"),
    [
        ({"type": "string", "minLength": 3}, "xxx"),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "integer", "minimum": 4}, 4),
        ({"type": "boolean"}, False),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["x", "x"]),
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}, {"a": "x"}),
        ({}, None),
    ],
)
def test_what_is_made_up_fits_what_a_schema_says(schema: dict[str, Any], sample: object) -> None:
    parameters = {"type": "object", "properties": {"it": schema}, "required": ["it"]}
    spec = ToolSpec(name="t", description="", parameters=parameters)
    assert [args for _, args in specimens(spec, policy(), "/home/me")] == [{"it": sample}]
