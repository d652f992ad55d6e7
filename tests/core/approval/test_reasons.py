"""What the model and a person are told: what is not allowed, and what still is."""

from __future__ import annotations

import re

import pytest

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.facts import CallFacts, Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode, Ruling, Verdict
from kova_auto.core.approval.policy import Origin, policy_hash
from kova_auto.core.approval.shell.lexer import lex
from kova_auto.core.approval.shell.refusal import Refused, say
from tests.core.approval.approval_support import at_every_level, command, facts, policy, read, rules, written

READ_ONLY, WORKSPACE = AutomationLevel.READ_ONLY, AutomationLevel.WORKSPACE_WRITE
CALLS = [
    facts(None),
    facts(Effect.READ, problem="path: wanted text"),
    facts(Effect.READ, read(Zone.SECRET)),
    facts(Effect.READ, read(Zone.ELSEWHERE)),
    facts(Effect.READ, written(Zone.INSIDE)),
    facts(Effect.WRITE, written(Zone.CONTROL)),
    facts(Effect.WRITE, written(Zone.GUARDED)),
    facts(Effect.WRITE, written(Zone.INSIDE)),
    facts(Effect.WRITE, written(Zone.ELSEWHERE)),
    facts(Effect.WEB_READ, host="example.org"),
    facts(Effect.WEB_READ),
    command("npm test"),
    command("npm test; id"),
    command("npm test", frozenset(), "install bubblewrap"),
    command(""),
    *(facts(effect) for effect in Effect if effect is not Effect.COMMAND),
]


def test_a_refused_write_is_told_what_remains() -> None:
    asked = policy(READ_ONLY)
    assert adjudicate(facts(Effect.WRITE, written(Zone.INSIDE, "/w/notes.md")), asked) == Verdict(
        ruling=Ruling.ASK,
        rule="level.read-only.write_inside",
        reason="Writing in the workspace (/w/notes.md) needs a person's approval, and nobody is there to give it. You "
        "may still read and search the files of the workspace. Put what you would have changed into your answer. Do "
        "not try it again.",
        policy_hash=policy_hash(asked),
    )


def test_a_write_that_can_wait_for_a_person_does_not_say_that_nobody_is_there() -> None:
    asked = policy(WORKSPACE, when_needed="suspend")
    verdict = adjudicate(facts(Effect.WRITE, written(Zone.ELSEWHERE, "/etc/x")), asked)
    assert verdict.reason == (
        "Writing outside the workspace and its write roots (/etc/x) needs a person's approval. You may still read and "
        "search, and write, the files of the workspace. Put what you would have changed into your answer."
    )


def test_a_refused_command_is_told_which_commands_run_and_what_to_write_instead() -> None:
    text = "make docs > log"
    read = lex(text)
    assert isinstance(read, Refused)
    verdict = adjudicate(command(text), policy(READ_ONLY, grants=rules("git log *", "make docs")))
    assert verdict.reason == (
        "Running this command needs a person's approval, and nobody is there to give it. You may still run: git log *; "
        "make docs; commands that only read, such as git log, git diff, git show, git status, ls, cat, head, wc, grep, "
        f"find, with their plain options. {say(read)} You may still read and search the files of the workspace. Say in "
        "your answer what you could not run. Do not try it again."
    )


def test_a_command_that_is_covered_in_part_is_told_what_is_not() -> None:
    some = policy(READ_ONLY, grants=rules("make docs"))
    long = f"npm run {'x' * 100}"
    reason = adjudicate(command(f"make docs && {long}; ls; npm test"), some).reason
    assert f" What is not covered is npm run {'x' * 72}…; npm test. You may still read" in reason
    assert "What is not covered" not in adjudicate(command("npm test; npm run x"), some).reason
    assert "What is not covered" not in adjudicate(command("npm test"), some).reason


def test_a_refused_command_is_not_told_of_rules_that_do_not_count() -> None:
    mixed = rules("make docs").plus(rules("npm *", origin=Origin.USER))
    assert "npm" not in adjudicate(command("ruby a; ruby b"), policy(READ_ONLY, grants=mixed)).reason
    assert "npm *" in adjudicate(command("ruby a; ruby b"), policy(WORKSPACE, grants=mixed)).reason


def test_a_command_without_confinement_is_told_the_way_out() -> None:
    verdict = adjudicate(command("git log", frozenset(), "bwrap is missing: install bubblewrap"), policy(READ_ONLY))
    assert verdict.reason == (
        "A command runs only confined, and here it cannot be: bwrap is missing: install bubblewrap. You may still read "
        "and search the files of the workspace. Say in your answer what you could not run."
    )


def test_a_command_without_confinement_by_choice_says_so() -> None:
    verdict = adjudicate(command("git log"), policy(READ_ONLY, sandbox="off"))
    assert verdict.reason == (
        'Allowed by safe:git log. It runs without confinement, because the job says sandbox = "off".'
    )


def test_an_unlisted_host_is_told_the_listed_ones() -> None:
    listed = policy(READ_ONLY, web=("docs.python.org", "*.readthedocs.io"))
    reason = adjudicate(facts(Effect.WEB_READ, host="evil.example"), listed).reason
    assert reason.startswith("Reading evil.example needs a person's approval, and nobody is there to give it. You may")
    assert "You may still read docs.python.org, *.readthedocs.io." in reason


def test_a_mode_that_forbids_says_that_nobody_can_lift_it() -> None:
    verdict = adjudicate(facts(Effect.WRITE, written(Zone.INSIDE)), policy(ApprovalLevel.AUTO, mode=Mode.ASK))
    assert verdict.reason == (
        "In ask mode files are not written, whoever approves. You may still read and search the files of the "
        "workspace. Put what you would have changed into your answer."
    )


def test_a_question_that_nobody_reads_is_answered_at_once() -> None:
    asked = policy(READ_ONLY)
    assert adjudicate(facts(Effect.QUESTION), asked) == Verdict(
        ruling=Ruling.ALLOW,
        rule="approval.questions",
        reason="Nobody is there to answer. Assume what is most likely, and say in your answer what you assumed.",
        policy_hash=policy_hash(asked),
    )


def test_a_question_waits_where_the_job_says_so() -> None:
    assert adjudicate(facts(Effect.QUESTION), policy(READ_ONLY, questions="suspend")).ruling is Ruling.ASK


@at_every_level
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("call", CALLS)
def test_every_reason_says_what_remains_and_none_names_a_level(
    call: CallFacts, mode: Mode, level: ApprovalLevel | AutomationLevel
) -> None:
    verdict = adjudicate(call, policy(level, mode=mode))
    assert verdict.ruling is Ruling.ALLOW or "You may still " in verdict.reason
    assert not re.search(r"read-only|workspace-write|auto-edit|\bfull\b|\bauto\b|level", verdict.reason)
    assert verdict.reason.endswith(".")
    assert "  " not in verdict.reason
