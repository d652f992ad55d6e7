"""Before it is agreed by what a goal is judged, nothing is changed; who agrees is a person at hand, or nobody."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.facts import CallFacts, Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode, Ruling, Verdict
from tests.core.approval.approval_support import PROVEN, command, facts, policy, read, written

EDITS = facts(Effect.WRITE, written(Zone.INSIDE))


@pytest.mark.parametrize("level", [*ApprovalLevel])
def test_a_person_at_hand_agrees_whatever_the_level(level: ApprovalLevel) -> None:
    verdict = adjudicate(facts(Effect.CONTRACT), policy(level, mode=Mode.GOAL))

    assert (verdict.ruling, verdict.rule) == (Ruling.ASK, f"level.attended.{level}.contract")
    assert verdict.reason.startswith("Judging the goal by these criteria needs a person's approval. ")


@pytest.mark.parametrize("level", [*AutomationLevel])
def test_where_nobody_is_there_nobody_is_asked(level: AutomationLevel) -> None:
    under = policy(level, mode=Mode.GOAL, when_needed="suspend")

    assert adjudicate(facts(Effect.CONTRACT), under).ruling is Ruling.ALLOW


@pytest.mark.parametrize(
    ("call", "waits"),
    [
        (EDITS, True),
        (facts(Effect.MEMORY, written(Zone.INSIDE)), True),
        (facts(Effect.CONFIGURE), True),
        (facts(Effect.OUTWARD), True),
        (facts(Effect.READ, read(Zone.INSIDE)), False),
        (command("npm test", PROVEN), False),
        (facts(Effect.NOTE), False),
        (facts(Effect.CONTRACT), False),
        (facts(Effect.GOAL), False),
    ],
)
def test_what_changes_things_waits_until_then(call: CallFacts, waits: bool) -> None:
    verdict = adjudicate(replace(call, unagreed=True), policy(ApprovalLevel.AUTO, mode=Mode.GOAL))

    assert (verdict.rule == "mode.goal.unagreed", verdict.ruling is Ruling.DENY) == (waits, waits)


def test_the_reason_says_what_is_to_be_done_first() -> None:
    under = policy(ApprovalLevel.AUTO, mode=Mode.GOAL)
    verdict = adjudicate(replace(EDITS, unagreed=True), under)

    assert verdict == Verdict(
        ruling=Ruling.DENY,
        rule="mode.goal.unagreed",
        reason="Nothing is changed before a person has agreed by what the goal is judged: call goal_propose_criteria "
        "first. Until then you may still read and search, and run commands that need no approval.",
        policy_hash=verdict.policy_hash,
    )
