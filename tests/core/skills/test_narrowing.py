"""What loaded skills say is enough narrows what a run may call, and nothing widens it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.explanation import explain
from kova_auto.core.approval.facts import Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode, Ruling
from kova_auto.core.approval.opinion import Stage
from kova_auto.core.event import Event
from kova_auto.core.run import apply
from kova_auto.core.skill_facts import UsedSkill
from kova_auto.core.skills.narrowing import narrowed_by
from tests.core.approval.approval_support import at_every_level, facts, policy, read, written
from tests.core.context.foldings import looked
from tests.core.facts import acquired, assembled, ended, retried, run_of

READER = UsedSkill(name="reader", folder="/home/me/.kova/skills/reader", tools=("read", "grep"))
WRITER = UsedSkill(name="writer", folder="/w/.kova/skills/writer", tools=("write",))
OPEN = UsedSkill(name="open", folder="/w/.kova/skills/open")
CLOSED = UsedSkill(name="closed", folder="/w/.kova/skills/closed", tools=())
WRITE = facts(Effect.WRITE, written(Zone.INSIDE), tool="write")
GREP = facts(Effect.READ, read(Zone.INSIDE), tool="grep")


@pytest.mark.parametrize("skills", [(), (OPEN,), (WRITER,), (READER, WRITER), (OPEN, WRITER)])
def test_a_tool_that_no_skill_leaves_out_is_not_narrowed(skills: tuple[UsedSkill, ...]) -> None:
    assert narrowed_by(WRITE, skills) == ""


@pytest.mark.parametrize(
    ("skills", "said"),
    [
        ((READER,), "skill reader: its allowed-tools are read, grep (/home/me/.kova/skills/reader/SKILL.md)"),
        ((READER, OPEN), "skill reader: its allowed-tools are read, grep (/home/me/.kova/skills/reader/SKILL.md)"),
        ((OPEN, CLOSED), "skill closed: its allowed-tools are none (/w/.kova/skills/closed/SKILL.md)"),
        (
            (READER, CLOSED),
            (
                "skills reader, closed: their allowed-tools are read, grep "
                "(/home/me/.kova/skills/reader/SKILL.md, /w/.kova/skills/closed/SKILL.md)"
            ),
        ),
    ],
)
def test_a_tool_that_all_lists_leave_out_is_narrowed_and_a_skill_without_one_lifts_nothing(
    skills: tuple[UsedSkill, ...], said: str
) -> None:
    assert narrowed_by(WRITE, skills) == said
    assert narrowed_by(facts(Effect.COMMAND, tool="bash", command="ls"), skills) == said


@pytest.mark.parametrize(
    ("tool", "effect"),
    [
        ("todo", Effect.NOTE),
        ("nothing_to_report", Effect.NOTE),
        ("report_failure", Effect.NOTE),
        ("question", Effect.QUESTION),
        ("goal_complete", Effect.GOAL),
        ("plan_exit", Effect.LEAVE_PLAN),
        ("plan_write", Effect.PLAN),
        ("ask_needs_work", Effect.WORK_NEEDED),
        ("use_skill", Effect.READ),
        ("read", Effect.READ),  # of what an earlier result left out: it has no path
    ],
)
def test_what_keeps_the_run_going_is_never_taken_away(tool: str, effect: Effect) -> None:
    assert narrowed_by(facts(effect, tool=tool), (CLOSED,)) == ""


def test_the_files_of_a_loaded_skill_may_be_read_and_no_others() -> None:
    own = facts(Effect.READ, read(Zone.INSIDE, "/w/.kova/skills/closed/references/a.md"), tool="read")
    sly = facts(Effect.READ, read(Zone.INSIDE, "/w/.kova/skills/closed-not/a.md"), tool="read")

    assert narrowed_by(own, (CLOSED,)) == ""
    assert narrowed_by(sly, (CLOSED,)) != ""
    assert narrowed_by(replace(own, paths=(*own.paths, *sly.paths)), (CLOSED,)) != ""


@at_every_level
def test_a_narrowed_call_is_denied_whatever_the_level_and_the_reason_names_the_skill(
    level: ApprovalLevel | AutomationLevel,
) -> None:
    narrowed = replace(WRITE, narrowed_by=narrowed_by(WRITE, (READER,)))
    verdict = adjudicate(narrowed, policy(level))

    assert (verdict.ruling, verdict.rule) == (Ruling.DENY, "skill.allowed_tools")
    assert verdict.reason == (
        "write is left out by the skill reader: its allowed-tools are read, grep "
        "(/home/me/.kova/skills/reader/SKILL.md). That holds until this attempt ends, whoever approves. You may still "
        "use those, and read the skill's own files. Put what you would have changed into your answer."
    )


def test_a_look_that_is_left_out_is_no_change_to_put_into_the_answer() -> None:
    verdict = adjudicate(replace(GREP, narrowed_by=narrowed_by(GREP, (WRITER,))), policy())

    assert verdict.reason.endswith("read the skill's own files. Go on without it.")


def test_the_floor_and_the_mode_speak_first() -> None:
    secret = replace(
        facts(Effect.READ, read(Zone.SECRET), tool="grep"), narrowed_by="skill a: its allowed-tools are read"
    )
    plan = replace(WRITE, narrowed_by="skill a: its allowed-tools are read")

    assert adjudicate(secret, policy()).rule == "floor.secret"
    assert adjudicate(plan, policy(mode=Mode.PLAN)).rule == "mode.plan.write"


def test_explaining_names_the_stage_only_where_a_skill_narrows() -> None:
    narrowed = replace(
        WRITE, narrowed_by="skill reader: its allowed-tools are read, grep (/home/me/.kova/skills/reader/SKILL.md)"
    )
    told = explain(narrowed, policy())

    assert [stage.stage for stage in told.stages] == [Stage.FLOOR, Stage.MODE, Stage.SKILL]
    assert (told.stages[-1].looked_at, told.stages[-1].rule) == (narrowed.narrowed_by, "skill.allowed_tools")
    assert Stage.SKILL not in [stage.stage for stage in explain(WRITE, policy()).stages]


def loads(iteration: int, skill: UsedSkill) -> list[Event]:
    """Return the facts of an iteration that loads a skill."""
    return looked(iteration, 100, result={"skill": skill})


def test_what_a_run_has_loaded_is_folded_each_once_the_newest_last() -> None:
    changed = READER.model_copy(update={"tools": None})
    events = [event for number, skill in enumerate((READER, WRITER, changed), 1) for event in loads(number, skill)]
    state = run_of(acquired(), assembled(), events)

    assert state.skills == (WRITER, changed)


def test_a_result_without_a_skill_changes_nothing_of_it() -> None:
    state = run_of(acquired(), assembled(), loads(1, READER), looked(2, 100))
    assert state.skills == (READER,)


def test_a_further_attempt_begins_without_skills() -> None:
    state = run_of(acquired(), assembled(), loads(1, READER))
    again = apply(apply(state, ended()), retried())

    assert again.skills == ()
