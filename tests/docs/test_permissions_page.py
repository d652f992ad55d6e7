"""The page on permissions lists what the code has: tools, modes, levels, the floor, the safe list, confinement."""

from __future__ import annotations

import re
from pathlib import Path

from kova_auto.core.approval import floor
from kova_auto.core.approval.levels import Effect
from kova_auto.core.approval.tables import MODES, UNATTENDED, Row
from kova_auto.tools.bash import BashTool
from kova_auto.tools.edit import EditTool
from kova_auto.tools.failure import ReportFailureTool
from kova_auto.tools.glob import GlobTool
from kova_auto.tools.goal import BlockedTool, CompleteTool, ProposeCriteriaTool
from kova_auto.tools.grep import GrepTool
from kova_auto.tools.mcp.tool import McpTool
from kova_auto.tools.memory.read import MemoryReadTool
from kova_auto.tools.memory.search import MemorySearchTool
from kova_auto.tools.memory.write import MemoryWriteTool
from kova_auto.tools.nothing import NothingToReportTool
from kova_auto.tools.plan import PlanExitTool, PlanWriteTool
from kova_auto.tools.question import QuestionTool
from kova_auto.tools.read import ReadTool
from kova_auto.tools.sandbox import landlock, plan, select
from kova_auto.tools.sandbox.control import SET_ASIDE
from kova_auto.tools.subagents import AwaitTool, DispatchTool, EndTool, SurveyTool
from kova_auto.tools.tasks import TaskOutputTool, TaskStopTool
from kova_auto.tools.todo import TodoTool
from kova_auto.tools.use_skill import UseSkillTool
from kova_auto.tools.web_fetch import WebFetchTool
from kova_auto.tools.work_needed import WorkNeededTool
from kova_auto.tools.write import WriteTool
from tests.docs.pages import ROOT, bare, codes, paragraph, spans, table, tables_under, text_of

PAGE = "docs/permissions.md"
FILES = (ReadTool, WriteTool, EditTool, GlobTool, GrepTool)
AWAY = (BashTool, TaskOutputTool, TaskStopTool, WebFetchTool, McpTool)
MEMORY = (MemoryWriteTool, MemoryReadTool, MemorySearchTool, UseSkillTool)
NOTES = (TodoTool, QuestionTool, NothingToReportTool, ReportFailureTool)
SUBAGENTS = (DispatchTool, AwaitTool, SurveyTool, EndTool)
OF_MODES = (PlanWriteTool, PlanExitTool, WorkNeededTool, ProposeCriteriaTool, CompleteTool, BlockedTool)


def test_the_tools_are_those_that_a_run_is_given() -> None:
    tools = (*FILES, *AWAY, *MEMORY, *NOTES, *OF_MODES, *SUBAGENTS)
    listed = [(bare(row[0]), bare(row[1])) for row in table(PAGE, "The tools").body]
    assert listed == [(tool.name, tool.effect.value) for tool in tools]
    given = re.findall(r"^        (\w+Tool)\(", (ROOT / "kova_auto/app/tooling.py").read_text(), re.MULTILINE)
    assert given == [tool.__name__ for tool in tools]


def test_the_modes_have_the_effects_that_the_table_says() -> None:
    written = table(PAGE, "Modes")
    modes = {mode.value: effects for mode, effects in MODES.items()}
    assert sorted(written.rows[0][1:]) == sorted(modes)
    assert {bare(row[0]): row[1:] for row in written.body} == {
        effect.value: [modes[name][effect].value for name in written.rows[0][1:]] for effect in Effect
    }


def test_the_levels_do_what_the_table_says() -> None:
    written = table(PAGE, "Automation levels")
    assert written.rows[0][1:] == [level.value for level in UNATTENDED]
    assert {bare(row[0]): row[1:] for row in written.body} == {
        row.value: [UNATTENDED[level][row].value.replace("_", " ") for level in UNATTENDED] for row in Row
    }


def test_the_floor_holds_the_control_files_that_the_page_lists() -> None:
    control, _ = tables_under(PAGE, "The floor")
    lists = (floor.CONTROL_DIRS, floor.CONTROL_FILES, floor.ASKED_DIRS, floor.ASKED_FILES)
    assert [codes(row[1]) for row in control.body] == [list(names) for names in lists]
    git = codes(paragraph(PAGE, "*Guarded*"))
    assert git == ["write_guarded", ".git", *floor.GIT_DIRS, *floor.GIT_FILES]


def test_the_floor_hides_the_places_that_the_page_lists() -> None:
    _, secret = tables_under(PAGE, "The floor")
    home, config = (codes(row[1]) for row in secret.body)
    me, data = Path("/home/me"), Path("/data")
    bases = (me / ".config", me / "Library" / "Application Support")
    wanted = [me / name for name in home] + [base / name for base in bases for name in config]
    assert wanted == [place for place in floor.secret_places(me, (), data) if place != data]


def test_commands_see_nothing_of_the_places_that_the_page_lists() -> None:
    me = Path("/home/me")
    hidden = [str(place) for place in plan.hidden_places(me) if place != me]
    assert codes(paragraph(PAGE, "`/home`, `/root`")) == hidden
    assert SET_ASIDE in spans(PAGE)


def test_the_page_says_what_landlock_lacks() -> None:
    listed = text_of(PAGE).partition("lacks against bubblewrap:")[2].partition("On macOS")[0]
    lacking = landlock.lacks(plan.Level.WORKSPACE, landlock.LEAST_ABI)
    assert [line.removesuffix(" (before Linux 6.12)") for line in listed.strip().splitlines()] == [
        f"- {clause}" for clause in lacking
    ]


def test_each_sentence_of_a_refusal_is_in_the_table_with_its_advice() -> None:
    written = tables_under("docs/operations.md", "Commands are refused: what the sentence means")
    advice = {bare(row[0]): row[1] for one in written for row in one.body}
    assert advice == {sign: _plain(text) for sign, text in select._ADVICE}


def _plain(advice: str) -> str:
    return advice.replace(f", {select._OFF}", "").removesuffix(".")
