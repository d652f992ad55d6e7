"""Commands that the job file itself names: their being there is their grant, and everything else holds for them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.facts import CallFacts
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Mode, Ruling
from tests.core.approval.approval_support import BOTH, at_every_level, command, policy

UNREADABLE = 'python -c "$(cat check.py)" > out 2>&1'


def own(text: str = UNREADABLE, proven: frozenset[str] = frozenset({"reading", "workspace"})) -> CallFacts:
    return replace(command(text, proven), own="output.checks")


@pytest.mark.parametrize(
    ("level", "box"),
    [
        (AutomationLevel.READ_ONLY, "reading"),
        (AutomationLevel.WORKSPACE_WRITE, "workspace"),
        (AutomationLevel.FULL, "workspace"),
        (ApprovalLevel.ASK, "reading"),
        (ApprovalLevel.WORKSPACE_WRITE, "workspace"),
        (ApprovalLevel.AUTO_EDIT, "workspace"),
        (ApprovalLevel.AUTO, "workspace"),
    ],
    ids=lambda value: f"{type(value).__name__}.{value}",
)
def test_what_no_rule_could_match_is_allowed_in_the_confinement_of_its_level(
    level: ApprovalLevel | AutomationLevel, box: str
) -> None:
    verdict = adjudicate(own(), policy(level))
    assert (verdict.ruling, verdict.rule, verdict.confinement) == (Ruling.ALLOW, "job.output.checks", box)


def test_the_same_command_of_a_model_needs_a_person() -> None:
    assert adjudicate(command(UNREADABLE), policy()).ruling is Ruling.ASK


@at_every_level
def test_nothing_runs_that_is_not_proven_to_be_confined(level: ApprovalLevel | AutomationLevel) -> None:
    verdict = adjudicate(own(proven=frozenset()), policy(level))
    assert (verdict.ruling, verdict.rule) == (Ruling.DENY, "sandbox.no_confinement")


def test_the_mode_is_asked_first() -> None:
    asking, planning = adjudicate(own(), policy(mode=Mode.ASK)), adjudicate(own(), policy(mode=Mode.PLAN))
    assert (asking.ruling, asking.rule) == (Ruling.DENY, "mode.ask.command")
    assert (planning.ruling, planning.confinement) == (Ruling.ALLOW, "reading")


def test_without_a_sandbox_it_runs_open_save_where_somebody_wants_to_be_asked_of_everything() -> None:
    rulings = {level: adjudicate(own(), policy(level, sandbox="off")) for level in BOTH}
    assert {type(level): verdict.confinement for level, verdict in rulings.items() if verdict.confinement} == {
        AutomationLevel: "open",
        ApprovalLevel: "open",
    }
    refused = [level for level, verdict in rulings.items() if verdict.ruling is not Ruling.ALLOW]
    assert (refused, type(refused[0])) == ([ApprovalLevel.ASK], ApprovalLevel)


def test_after_untrusted_text_what_could_carry_something_out_needs_a_person() -> None:
    tainted = replace(own(), tainted_by="the web page https://a.example")
    level = AutomationLevel.FULL
    verdicts = (
        adjudicate(tainted, policy(level)),
        adjudicate(tainted, policy(level, network="on")),
        adjudicate(tainted, policy(level, secrets=("TOKEN",))),
        adjudicate(tainted, policy(level, sandbox="off")),
    )
    assert [verdict.ruling for verdict in verdicts] == [Ruling.ALLOW, Ruling.ASK, Ruling.ASK, Ruling.ASK]
