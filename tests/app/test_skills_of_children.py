"""Children have their parent's skills, or those of their definition, and what narrows it narrows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.ids import CallId, child_run_id
from kova_auto.core.job import Outcome
from tests.app.families import FIRST, RUN, call, child, driven, leads, played, state_of, task, text_of, turn
from tests.app.houses import UNCONFINED, Home

LATER = child_run_id(RUN, CallId("2.1"))
AGENT = "---\nname: {name}\ndescription: Helps.\ntools: {tools}\n{more}---\nHelp.\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


def a_skill(home: Home, name: str, more: str = "") -> None:
    folder = home.workspace / ".kova/skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does {name}.\n{more}---\n(instructions)\n")


def an_agent(home: Home, name: str, tools: str, more: str = "") -> None:
    folder = home.path / ".kova/subagents"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(AGENT.format(name=name, tools=tools, more=more))


async def test_what_a_parents_skill_narrows_is_narrowed_for_its_children_with_the_same_reason(home: Home) -> None:
    writes = call("write", file_path="a.txt", content="x")
    lines = [turn("", call("use_skill", name="reader")), turn("", task()), turn("", writes), turn("So.")]
    leads(home, played(lines, child(turn("", writes), turn("no"))))
    a_skill(home, "reader", "allowed-tools: Read Task\n")
    async with home.house() as house:
        parent = await driven(house, home)
        dispatched = await state_of(house, LATER)

    own, its = parent.call(CallId("3.1")).verdict, dispatched.call(CallId("1.1")).verdict
    assert own
    assert its
    assert (its.rule, its.ruling, its.reason) == ("skill.allowed_tools", own.ruling, own.reason)
    assert not (home.workspace / "a.txt").exists()


async def test_a_child_loads_the_skills_of_its_parent(home: Home) -> None:
    leads(
        home,
        played(
            [turn("", task("helper")), turn("So.")],
            child(turn("", call("use_skill", name="notes")), turn("ok"), agent="helper"),
        ),
        UNCONFINED,
        '"helper"',
    )
    a_skill(home, "notes")
    an_agent(home, "helper", "[read, use_skill]")
    async with home.house() as house:
        await driven(house, home)
        dispatched = await state_of(house, FIRST)

    assert "(instructions)" in text_of(dispatched, "1.1")


async def test_a_child_is_told_of_the_skills_that_its_definition_names(home: Home) -> None:
    leads(
        home, played([turn("", task("helper")), turn("So.")], child(turn("ok"), agent="helper")), UNCONFINED, '"helper"'
    )
    for name in ("notes", "style"):
        a_skill(home, name)
    an_agent(home, "helper", "[read, use_skill]", "skills: [style]\n")
    async with home.house() as house:
        parent = await driven(house, home)
        dispatched = await state_of(house, FIRST)

    assert parent.context
    assert dispatched.context
    assert [skill.name for skill in parent.context.skills] == ["notes", "style"]
    assert [skill.name for skill in dispatched.context.skills] == ["style"]


async def test_a_child_that_cannot_load_a_skill_is_told_of_none(home: Home) -> None:
    leads(
        home, played([turn("", task("helper")), turn("So.")], child(turn("ok"), agent="helper")), UNCONFINED, '"helper"'
    )
    a_skill(home, "notes")
    an_agent(home, "helper", "[read]")
    async with home.house() as house:
        await driven(house, home)
        dispatched = await state_of(house, FIRST)

    assert dispatched.context
    assert dispatched.context.skills == ()
    assert "# Skills" not in dispatched.context.system


async def test_a_child_whose_definition_names_a_missing_skill_is_blocked_and_its_parent_hears_why(home: Home) -> None:
    leads(
        home,
        played([turn("", task("helper")), turn("", call("TaskWait")), turn("So.")], child(turn("ok"), agent="helper")),
        UNCONFINED,
        '"helper"',
    )
    an_agent(home, "helper", "[read, use_skill]", "skills: [gone]\n")
    async with home.house() as house:
        parent = await driven(house, home)
        dispatched = await state_of(house, FIRST)

    assert dispatched.finished
    assert dispatched.finished.outcome is Outcome.BLOCKED
    assert "found no gone" in dispatched.finished.reason
    assert "found no gone" in text_of(parent, "2.1")
