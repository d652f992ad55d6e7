"""What each mode has, whatever the level: the design's table, written out again."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode, Ruling
from kova_auto.core.approval.tables import MODES, reaches
from tests.core.approval.approval_support import PROVEN, Sandbox, at_every_level, command, facts, policy, rules

# agent, goal, plan, ask
TABLE: dict[Effect, str] = {
    Effect.READ: "yes yes yes yes",
    Effect.WEB_READ: "yes yes yes yes",
    Effect.NOTE: "yes yes yes yes",
    Effect.QUESTION: "yes yes yes yes",
    Effect.COMMAND: "yes yes reading no",
    Effect.SUBAGENT: "yes yes reading no",
    Effect.WRITE: "yes yes no no",
    Effect.MEMORY: "yes yes no no",
    Effect.CONFIGURE: "yes yes no no",
    Effect.OUTWARD: "yes yes no no",
    Effect.GOAL: "no yes no no",
    Effect.CONTRACT: "no yes no no",
    Effect.PLAN: "no no yes no",
    Effect.LEAVE_PLAN: "no no yes no",
    Effect.WORK_NEEDED: "no no no yes",
}
CELLS = [
    (mode, effect, reach)
    for effect, row in TABLE.items()
    for mode, reach in zip((Mode.AGENT, Mode.GOAL, Mode.PLAN, Mode.ASK), row.split(), strict=True)
]


@pytest.mark.parametrize(("mode", "effect", "reach"), CELLS)
def test_a_mode_has_what_the_table_says(mode: Mode, effect: Effect, reach: str) -> None:
    assert MODES[mode][effect] == reach
    assert reaches(mode, effect) == (reach != "no")


def test_the_table_is_complete() -> None:
    assert {(mode, effect) for mode, effect, _ in CELLS} == {(mode, effect) for mode in Mode for effect in Effect}


@pytest.mark.parametrize(("mode", "effect", "reach"), CELLS)
@pytest.mark.parametrize("level", [ApprovalLevel.AUTO, AutomationLevel.FULL])
def test_the_loosest_level_lifts_no_mode(
    mode: Mode, effect: Effect, reach: str, level: ApprovalLevel | AutomationLevel
) -> None:
    call = facts(effect, command="npm test", confinable=PROVEN)
    verdict = adjudicate(call, policy(level, mode=mode))
    asks_whoever_is_there = effect in (Effect.QUESTION, Effect.CONTRACT) and level is ApprovalLevel.AUTO
    asks = effect is Effect.LEAVE_PLAN or asks_whoever_is_there
    expected = Ruling.ASK if asks else Ruling.ALLOW
    assert verdict.ruling is (Ruling.DENY if reach == "no" else expected)
    assert (verdict.rule == f"mode.{mode}.{effect}") == (reach == "no")


@pytest.mark.parametrize(("mode", "refused"), [(Mode.AGENT, False), (Mode.GOAL, False), (Mode.PLAN, True)])
def test_a_plan_dispatches_only_subagents_that_change_nothing(mode: Mode, refused: bool) -> None:
    reads = facts(Effect.SUBAGENT, tool="Task")
    writes = replace(reads, changing=("edit", "write"))
    full = policy(AutomationLevel.FULL, mode=mode)
    verdict = adjudicate(writes, full)
    assert adjudicate(reads, full).ruling is Ruling.ALLOW
    assert verdict.ruling is (Ruling.DENY if refused else Ruling.ALLOW)
    if refused:
        assert verdict.rule == "mode.plan.subagent"
        assert verdict.reason == (
            "In plan mode only subagents that change nothing are dispatched, whoever approves, and this one has edit "
            "and write. You may still dispatch one that only reads. Put what you would have changed into your answer."
        )


@at_every_level
@pytest.mark.parametrize("sandbox", ["auto", "required"])
def test_a_plan_runs_commands_only_where_reading_alone_is_proven(
    level: ApprovalLevel | AutomationLevel, sandbox: Sandbox
) -> None:
    plan = policy(level, mode=Mode.PLAN, grants=rules("npm *"), sandbox=sandbox)
    proven, unproven = command("npm test"), command("npm test", frozenset({"workspace"}), "no bwrap")
    assert adjudicate(proven, plan).confinement == "reading"
    assert adjudicate(unproven, plan).ruling is Ruling.DENY
    assert adjudicate(unproven, plan).rule == "sandbox.no_confinement"


@at_every_level
def test_a_plan_runs_no_command_where_the_job_wants_none_confined(level: ApprovalLevel | AutomationLevel) -> None:
    verdict = adjudicate(command("git log"), policy(level, mode=Mode.PLAN, grants=rules("git log"), sandbox="off"))
    assert (verdict.ruling, verdict.rule) == (Ruling.DENY, "sandbox.no_confinement")
    assert verdict.reason.startswith(
        "In plan mode a command runs only where it is proven to change nothing, and here it cannot be: the job says "
        'sandbox = "off". You may still read'
    )


def test_an_unknown_mode_has_nothing() -> None:
    unknown = policy(AutomationLevel.FULL, mode=cast("Mode", "workflow"))
    assert {adjudicate(facts(effect), unknown).ruling for effect in Effect} == {Ruling.DENY}
