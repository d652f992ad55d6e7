"""Whom a run may dispatch and how many: what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.errors import ToolFailedError
from kova_auto.core.event import ModelCallStarted
from kova_auto.core.ids import CallId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.nursery import Task
from kova_auto.core.run import RunState
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.scene import scene_of
from kova_auto.tools.subagents import DispatchTool
from tests.app.families import FIRST, RUN, asked, call, child, driven, leads, played, state_of, task, text_of, turn
from tests.app.houses import Home
from tests.support import a_job, a_request

WAITS = turn("", call("TaskWait", timeout_s=600))
DONE = turn("Done.")
FOUND = child(turn("found it"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


async def run(home: Home) -> RunState:
    async with home.house() as house:
        return await driven(house, home)


async def test_a_ninth_child_is_refused_and_may_come_once_another_has_ended(home: Home) -> None:
    many = turn("", *[task(what=f"part {number}") for number in range(9)])
    leads(home, played([many, WAITS, turn("", task(what="part 9")), WAITS, DONE], FOUND))
    async with home.house() as house:
        await asked(house, home)
        assert await house.engine.advance(RUN) is Advanced.SUSPENDED  # All of them are at work, or will be.
        state = await driven(house, home)

    assert state.finished
    assert state.finished.outcome is Outcome.DONE
    assert list(state.children) == [*[f"1.{number}" for number in range(1, 9)], "3.1"]
    assert text_of(state, "1.9") == (
        "8 subagents are at work, and no more may be (agents.max_concurrent = 8); wait for one with TaskWait"
    )
    refused = state.call(CallId("1.9")).result
    assert refused
    assert refused.status is ResultStatus.ERROR


async def test_the_settings_say_how_many(home: Home) -> None:
    home.settings("[agents]\nmax_concurrent = 1\n")
    leads(home, played([turn("", task(), task()), WAITS, DONE], FOUND))
    async with home.house() as house:
        await asked(house, home)
        await house.engine.advance(RUN)
        state = await driven(house, home)
    assert list(state.children) == ["1.1"]
    assert "agents.max_concurrent = 1" in text_of(state, "1.2")


async def test_a_child_dispatches_nobody(home: Home) -> None:
    tries = child(turn("", task(what="below")), turn("", call("TaskList")), turn("it could not"))
    leads(home, played([turn("", task()), WAITS, DONE], tries))
    async with home.house() as house:
        await driven(house, home)
        below = await state_of(house, FIRST)
        rows = await house.store.views.descendants(RUN)

    assert [row.run_id for row in rows] == [FIRST]
    assert below.context
    assert not {spec.name for spec in below.context.tools} & {"Task", "TaskWait", "TaskList", "TaskStop"}
    assert [known.result.status for known in below.calls.values() if known.result] == [ResultStatus.DENIED] * 2


async def test_with_more_depth_a_child_dispatches_and_its_end_waits_for_its_own(home: Home) -> None:
    home.settings("[agents]\nmax_depth = 2\n")
    middle = child(turn("", task(what="below")), WAITS, turn("the one below says so"), expect="middle")
    leads(home, played([turn("", task(what="middle")), WAITS, DONE], middle, child(turn("so it is"), expect="below")))
    async with home.house() as house:
        state = await driven(house, home)
        rows = await house.store.views.descendants(RUN)

    assert [(row.run_id, row.parent, row.root, row.outcome) for row in rows] == [
        (FIRST, RUN, RUN, Outcome.DONE),
        (f"{FIRST}~1.1", FIRST, RUN, Outcome.DONE),
    ]
    assert "the one below says so" in text_of(state, "2.1")


async def test_who_is_unknown_is_not_dispatched(home: Home) -> None:
    leads(home, played([turn("", task("test-runner"), task("nobody")), DONE]))
    state = await run(home)
    assert state.children == {}
    there = "; it may dispatch: explorer, fixer"
    assert text_of(state, "1.1").endswith(f"this run may dispatch no subagent 'test-runner'{there}")
    assert text_of(state, "1.2").endswith(f"this run may dispatch no subagent 'nobody'{there}")


async def test_a_run_whose_job_names_somebody_who_is_not_there_asks_no_model(home: Home) -> None:
    leads(home, played([DONE]), allow='"explorer", "missing-one"')
    async with home.house() as house:
        state = await driven(house, home)
        facts = await house.store.journal.events(RUN)

    assert state.finished
    assert state.finished.outcome is Outcome.BLOCKED
    assert "agents.allow" in state.finished.reason
    assert "missing-one" in state.finished.reason
    assert not any(isinstance(fact, ModelCallStarted) for _, fact in facts)


async def test_a_run_without_subagents_is_told_of_none(home: Home) -> None:
    home.job("lead", "", played([turn("", task()), DONE]))
    state = await run(home)
    assert state.context
    assert "Task" not in {spec.name for spec in state.context.tools}
    assert state.children == {}


async def test_a_planning_run_dispatches_only_who_reads(home: Home) -> None:
    looks = child(turn("", call("write", file_path="a.txt", content="a")), turn("seen"), agent="explorer")
    leads(home, played([turn("", task("fixer"), task("explorer")), WAITS, DONE], looks), 'mode = "plan"\n')
    async with home.house() as house:
        state = await driven(house, home)
        explorer = await state_of(house, next(iter(state.children.values())).run_id)

    assert [one.agent for one in state.children.values()] == ["explorer"]
    refused = state.call(CallId("1.1"))
    assert refused.verdict
    assert (refused.verdict.ruling, refused.verdict.rule) == (Ruling.DENY, "mode.plan.subagent")
    assert "only subagents that change nothing are dispatched" in text_of(state, "1.1")
    assert explorer.mode == "plan"
    assert explorer.finished
    assert (explorer.finished.outcome, explorer.finished.answer) == (Outcome.DONE, "seen")
    assert not (home.workspace / "a.txt").exists()


async def test_a_tool_that_its_definition_does_not_grant_is_unknown_to_a_child(home: Home) -> None:
    tries = child(turn("", call("write", file_path="a.txt", content="a")), turn("it could not"), agent="explorer")
    leads(home, played([turn("", task("explorer")), WAITS, DONE], tries))
    async with home.house() as house:
        await driven(house, home)
        explorer = await state_of(house, FIRST)

    assert explorer.context
    assert {spec.name for spec in explorer.context.tools} == {"read", "glob", "grep", "bash"}
    assert not (home.workspace / "a.txt").exists()
    assert "write" in text_of(explorer, "1.1")


async def test_a_child_that_writes_outside_gets_its_parents_verdict_and_limit(home: Home) -> None:
    outside = turn("", *[call("write", file_path=str(home.path / "outside.txt"), content="a")] * 3)
    leads(
        home, played([turn("", task()), WAITS, outside, DONE], child(outside, DONE)), 'automation = "workspace-write"\n'
    )
    async with home.house() as house:
        parent = await driven(house, home)
        below = await state_of(house, FIRST)

    verdicts = [known.verdict for known in parent.calls.values() if known.call.tool == "write"]
    assert [known.verdict for known in below.calls.values()] != []
    said = [(one.ruling, one.rule, one.reason) for one in verdicts if one]
    assert said == [
        (one.verdict.ruling, one.verdict.rule, one.verdict.reason) for one in below.calls.values() if one.verdict
    ]
    assert {ruling for ruling, *_ in said} <= {Ruling.DENY, Ruling.ASK}
    assert parent.finished
    assert below.finished
    assert (parent.finished.outcome, parent.finished.reason) == (below.finished.outcome, below.finished.reason)
    assert not (home.path / "outside.txt").exists()


SHORT = "---\nname: short\ndescription: Looks briefly.\ntools: Read\nmaxTurns: 2\n---\n\nLook.\n"


async def test_a_child_that_has_used_its_replies_is_cut_short_and_reports_what_it_has(home: Home) -> None:
    place = home.path / ".kova" / "subagents"
    place.mkdir(parents=True)
    (place / "short.md").write_text(SHORT)
    looks = [turn(f"look {number}", call("read", file_path=f"{number}.txt")) for number in range(9)]
    leads(home, played([turn("", task("short")), WAITS, DONE], child(*looks, agent="short")), allow='"short"')
    async with home.house() as house:
        state = await driven(house, home)
        ended = await state_of(house, FIRST)

    assert ended.finished
    assert (ended.finished.outcome, len(ended.replies)) == (Outcome.BUDGET_EXCEEDED, 2)
    assert ended.hurried
    text = text_of(state, "2.1")
    assert text.startswith(f"[{FIRST} short: truncated]\nlimits.iterations = 2 is reached")
    assert text.endswith("look 1")
    assert state.finished
    assert state.finished.outcome is Outcome.DONE


@pytest.mark.parametrize(
    ("said", "named"),
    [("nowhere/at-all", "nowhere/at-all"), ("haiku", "openai/small"), ("Haiku", "openai/small"), ("gone", "gone")],
)
async def test_a_model_that_is_none_is_not_dispatched(home: Home, said: str, named: str) -> None:
    home.settings('[agents]\nmodels = { haiku = "openai/small" }\n')
    job = home.job("lead", 'model = "openrouter/some-model"\nagents.allow = ["explorer"]\n', script=None)
    async with home.house() as house:
        tool = house.tooling.toolbox._tools["Task"]
        assert isinstance(tool, DispatchTool)
        parent, _ = await house.store.journal.open(
            a_request(
                RUN, job=a_job("lead", path=str(job), workspace=str(home.workspace), agents={"allow": ["explorer"]})
            )
        )
        scene = scene_of(parent, house.engine._world, CallId("1.1"))
        with pytest.raises(ToolFailedError, match=f"the model '{named}' cannot be asked"):
            await tool._nursery.dispatch(Task("explorer", "look", model=said), scene)
        assert list(await house.store.views.descendants(RUN)) == []

        await tool._nursery.dispatch(Task("explorer", "look", model="inherit"), scene)
        assert len(await house.store.views.descendants(RUN)) == 1
