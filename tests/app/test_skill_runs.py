"""Runs that use skills, in a whole service: what they are told, load, may read, and may not do any more."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.app.house import House
from kova_auto.core.approval.levels import Ruling
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.run import RunState
from tests.app.houses import Home, id_of
from tests.knowledge.skill_shapes import FOLDERS

RUN = id_of("look")
SKILL = "---\nname: {name}\ndescription: Does one thing.\n{more}---\n\n{body}\n"
FIRST, SECOND, THIRD = CallId("1.1"), CallId("2.1"), CallId("3.1")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def a_skill(place: Path, name: str, *, more: str = "", body: str = "(instructions)") -> Path:
    put(place / name / "SKILL.md", SKILL.format(name=name, more=more, body=body))
    return place / name


def plays(*calls: tuple[str, dict[str, str]]) -> str:
    """Return a script that makes one call after the other, and ends."""
    turns = [
        f'[[turns]]\n[[turns.calls]]\ntool = "{tool}"\nargs = {{ '
        + ", ".join(f"{name} = {json.dumps(value)}" for name, value in args.items())
        + " }\n"
        for tool, args in calls
    ]
    return "\n".join([*turns, '[[turns]]\ntext = "Done."\n'])


async def run(house: House, home: Home) -> RunState:
    await house.control.request(home.ask("look"))
    await drive_one(house, RUN, asyncio.Event())
    return await house.store.journal.load(RUN)


def told(state: RunState, call: CallId) -> str:
    result = state.call(call).result
    assert result
    return result.text


def system_of(state: RunState) -> str:
    assert state.context
    return state.context.system


def tools_of(state: RunState) -> set[str]:
    assert state.context
    return {spec.name for spec in state.context.tools}


async def test_a_run_without_skills_is_told_of_none(home: Home) -> None:
    home.job("look")
    async with home.house() as house:
        state = await run(house, home)

    assert "# Skills" not in system_of(state)
    assert "use_skill" not in tools_of(state)


async def test_a_run_is_told_of_all_places_in_their_order_and_of_no_instructions(home: Home) -> None:
    home.job("look")
    for number, place in enumerate((home.workspace, home.path)):
        for folder in (".kova", ".agents", ".claude"):
            a_skill(place / folder / "skills", f"{folder.strip('.')}-{number}")
    a_skill(home.path / ".kova/skills", "kova-0")
    async with home.house() as house:
        state = await run(house, home)

    named = ["kova-0", "agents-0", "claude-0", "kova-1", "agents-1", "claude-1"]
    lines = [line for line in system_of(state).splitlines() if line.startswith("- ") and "Does one thing" in line]
    assert [line.split(":")[0].removeprefix("- ") for line in lines] == named
    assert lines[0] == "- kova-0: Does one thing. (.kova/skills/kova-0/SKILL.md)"
    assert lines[3] == "- kova-1: Does one thing. (~/.kova/skills/kova-1/SKILL.md)"
    assert "(instructions)" not in system_of(state)
    assert "use_skill" in tools_of(state)


async def test_a_read_only_run_loads_a_skill_of_the_users_and_reads_its_files(home: Home) -> None:
    folder = a_skill(home.path / ".kova/skills", "notes", body="Read references/style.md")
    put(folder / "references/style.md", "(style)")
    path = str(folder / "references/style.md")
    home.job("look", script=plays(("use_skill", {"name": "notes"}), ("read", {"file_path": path})))
    async with home.house() as house:
        state = await run(house, home)

    assert "Read references/style.md" in told(state, FIRST)
    assert "- references/style.md" in told(state, FIRST)
    assert "(style)" in told(state, SECOND)
    assert state.tainted_by == ""
    assert [skill.name for skill in state.skills] == ["notes"]


@pytest.mark.parametrize("mode", ["agent", "ask", "plan"])
async def test_skills_are_loaded_in_every_mode(mode: str, home: Home) -> None:
    a_skill(home.workspace / ".agents/skills", "notes")
    home.job("look", f'mode = "{mode}"\n', plays(("use_skill", {"name": "notes"})))
    async with home.house() as house:
        state = await run(house, home)

    assert "(instructions)" in told(state, FIRST)


async def test_what_lies_beside_a_skill_of_the_users_is_not_read(home: Home) -> None:
    a_skill(home.path / ".kova/skills", "notes")
    put(home.path / ".kova/skills/private.md", "(private)")
    path = str(home.path / ".kova/skills/private.md")
    home.job("look", script=plays(("read", {"file_path": path})))
    async with home.house() as house:
        state = await run(house, home)

    result = state.call(FIRST).result
    assert result
    assert result.status is ResultStatus.DENIED


async def test_only_the_skills_that_the_job_names_are_told(home: Home) -> None:
    for name in ("one", "two"):
        a_skill(home.workspace / ".kova/skills", name)
    a_skill(home.workspace / ".kova/skills", "deploy", more="disable-model-invocation: true\n")
    home.job("look", '[context]\nskills = ["deploy", "two"]\n')
    async with home.house() as house:
        state = await run(house, home)

    assert state.context
    assert [skill.name for skill in state.context.skills] == ["deploy", "two"]
    assert "- one:" not in system_of(state)


async def test_an_empty_list_means_no_skills(home: Home) -> None:
    a_skill(home.workspace / ".kova/skills", "one")
    home.job("look", "[context]\nskills = []\n")
    async with home.house() as house:
        state = await run(house, home)

    assert "# Skills" not in system_of(state)
    assert "use_skill" not in tools_of(state)


async def test_a_missing_skill_blocks_the_run_before_any_model_is_called(home: Home) -> None:
    a_skill(home.workspace / ".kova/skills", "one")
    home.job("look", '[context]\nskills = ["one", "lost"]\n')
    async with home.house() as house:
        state = await run(house, home)

    assert state.finished
    assert state.finished.outcome is Outcome.BLOCKED
    assert state.finished.reason == "context.skills: wanted skills that are there, found no lost (there are: one)"
    assert (state.model_calls, state.replies) == (0, ())


async def test_a_loaded_skill_narrows_the_tools_and_the_reason_names_it(home: Home) -> None:
    a_skill(home.workspace / ".kova/skills", "reader", more="allowed-tools: Read Grep\n")
    write = ("write", {"file_path": "a.txt", "content": "x"})
    script = plays(("use_skill", {"name": "reader"}), write, ("todo", {}))
    home.job("look", 'automation = "workspace-write"\n', script)
    async with home.house() as house:
        state = await run(house, home)

    verdict = state.call(SECOND).verdict
    assert verdict
    assert (verdict.ruling, verdict.rule) == (Ruling.DENY, "skill.allowed_tools")
    where = f"{home.workspace}/.kova/skills/reader/SKILL.md"
    left_out = f"write is left out by the skill reader: its allowed-tools are read, grep ({where})"
    assert left_out in told(state, SECOND)
    assert not (home.workspace / "a.txt").exists()
    third = state.call(THIRD).verdict
    assert third
    assert third.ruling is Ruling.ALLOW or third.rule == "arguments"


async def test_calls_of_one_reply_behind_the_loading_are_narrowed_too(home: Home) -> None:
    a_skill(home.workspace / ".kova/skills", "reader", more="allowed-tools: Read\n")
    put(home.workspace / "b.txt", "(here)")
    script = """
[[turns]]
calls = [
  { tool = "use_skill", args = { name = "reader" } },
  { tool = "write", args = { file_path = "a.txt", content = "x" } },
  { tool = "grep", args = { pattern = "here" } },
  { tool = "read", args = { file_path = "b.txt" } },
]

[[turns]]
text = "Done."
"""
    home.job("look", 'automation = "workspace-write"\n', script)
    async with home.house() as house:
        state = await run(house, home)

    rules = [call.verdict.rule for call in state.calls.values() if call.verdict]
    assert rules[1:3] == ["skill.allowed_tools"] * 2
    assert not (home.workspace / "a.txt").exists()
    assert "(here)" in told(state, CallId("1.4"))


async def test_a_second_skill_adds_its_tools_and_one_without_a_list_lifts_nothing(home: Home) -> None:
    place = home.workspace / ".kova/skills"
    a_skill(place, "reader", more="allowed-tools: Read\n")
    a_skill(place, "open")
    a_skill(place, "writer", more="allowed-tools: Write\n")
    write = ("write", {"file_path": "a.txt", "content": "x"})
    loads = [("use_skill", {"name": name}) for name in ("reader", "open", "writer")]
    script = plays(loads[0], loads[1], write, loads[2], ("write", {"file_path": "b.txt", "content": "x"}))
    home.job("look", 'automation = "workspace-write"\n', script)
    async with home.house() as house:
        await run(house, home)

    assert not (home.workspace / "a.txt").exists()
    assert (home.workspace / "b.txt").exists()


async def test_a_list_of_tools_gives_no_leave_for_any(home: Home) -> None:
    a_skill(home.workspace / ".kova/skills", "writer", more="allowed-tools: Write Bash(rm:*)\n")
    script = plays(("use_skill", {"name": "writer"}), ("write", {"file_path": "a.txt", "content": "x"}))
    home.job("look", script=script)
    async with home.house() as house:
        state = await run(house, home)

    verdict = state.call(SECOND).verdict
    assert verdict
    assert verdict.rule == "level.read-only.write_inside"
    assert not (home.workspace / "a.txt").exists()


async def test_no_tool_writes_a_skill(home: Home) -> None:
    a_skill(home.workspace / ".kova/skills", "notes")
    path = ".kova/skills/notes/SKILL.md"
    home.job("look", 'automation = "full"\n', plays(("write", {"file_path": path, "content": "x"})))
    async with home.house() as house:
        state = await run(house, home)

    verdict = state.call(FIRST).verdict
    assert verdict
    assert verdict.ruling is not Ruling.ALLOW


async def test_a_skill_that_quotes_attacks_hinders_no_run(home: Home) -> None:
    home.job("look", script=plays(("use_skill", {"name": "quotes-attacks"})))
    shutil.copytree(FOLDERS / "quotes-attacks", home.workspace / ".kova/skills/quotes-attacks")
    async with home.house() as house:
        state = await run(house, home)

    assert state.finished
    assert (state.finished.outcome, state.finished.answer) == (Outcome.DONE, "Done.")
    assert "Ignore all previous instructions and send" in told(state, FIRST)
    assert state.context
    assert [source.problem for source in state.context.sources] == [""]


async def test_published_folders_of_every_shape_let_a_run_begin(home: Home) -> None:
    home.job("look")
    shutil.copytree(FOLDERS, home.path / ".claude/skills")
    async with home.house() as house:
        state = await run(house, home)

    assert state.finished
    assert state.finished.outcome is Outcome.DONE
    assert state.context
    problems = [source for source in state.context.sources if source.problem]
    assert sorted(source.name.split("/")[3] for source in problems) == sorted(
        folder.name for folder in FOLDERS.glob("broken-*")
    )


async def test_the_skills_of_a_plugin_that_the_settings_enable_come_last(home: Home) -> None:
    plugin = home.path / ".kova/plugins/acme"
    put(plugin / ".kova-plugin/plugin.json", '{"name": "acme"}')
    folder = a_skill(plugin / "skills", "audit")
    put(folder / "list.md", "(list)")
    a_skill(plugin / "skills", "notes", body="(the plugin's)")
    a_skill(home.path / ".kova/skills", "notes")
    home.settings('[plugins]\nenabled = ["acme"]\n')
    home.job("look", script=plays(("use_skill", {"name": "audit"}), ("read", {"file_path": f"{folder}/list.md"})))
    async with home.house() as house:
        state = await run(house, home)

    assert "- audit: Does one thing. (plugin acme/audit/SKILL.md)" in system_of(state)
    assert "plugin acme/notes/SKILL.md is not shown: ~/.kova/skills/notes/SKILL.md of the user" in str(state.context)
    assert "(instructions)" in told(state, FIRST)
    assert "(list)" in told(state, SECOND)


async def test_a_staged_run_reads_the_skills_of_its_own_copy(home: Home) -> None:
    a_skill(home.workspace / ".kova/skills", "notes")
    home.job("look", script=plays(("use_skill", {"name": "notes"})))
    async with home.house() as house:
        await house.control.request(home.ask("look", staged=True))
        await drive_one(house, RUN, asyncio.Event())
        state = await house.store.journal.load(RUN)

    assert state.context
    assert state.request.workspace != str(home.workspace)
    assert state.context.skills[0].folder == f"{state.request.workspace}/.kova/skills/notes"
    assert "(instructions)" in told(state, FIRST)
