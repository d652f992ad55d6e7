"""What is told of a verdict: everything that was asked, and which calls can ask at all."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from kova_auto.core.approval.adjudicate import adjudicate, opinions
from kova_auto.core.approval.asking import asking_rows, asking_when_tainted
from kova_auto.core.approval.explanation import (
    RuleTried,
    Settled,
    StageSaid,
    TouchedPath,
    explain,
    settled,
)
from kova_auto.core.approval.facts import CallFacts, Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode, Ruling
from kova_auto.core.approval.opinion import Stage
from kova_auto.core.approval.policy import Origin, Policy
from kova_auto.core.approval.tables import Row
from tests.core.approval.approval_support import at_every_level, command, facts, policy, read, rules, written
from tests.core.approval.test_verdict_properties import calls, policies, thoroughly

READ_ONLY, WORKSPACE, FULL = AutomationLevel.READ_ONLY, AutomationLevel.WORKSPACE_WRITE, AutomationLevel.FULL
RULED = rules("git log *").plus(rules("git", "ls", origin=Origin.USER))
PASSED = StageSaid(stage=Stage.TAINT, looked_at="nothing untrusted has been read", said=None, rule="")


@thoroughly
@given(call=calls, policy=policies)
def test_an_explanation_is_of_the_verdict_that_a_run_comes_to(call: CallFacts, policy: Policy) -> None:
    told, verdict = explain(call, policy), adjudicate(call, policy)
    assert told.verdict == verdict
    assert verdict.rule in [stage.rule for stage in told.stages]
    assert (told.settled is Settled.ALLOW) is (verdict.ruling is Ruling.ALLOW)


@thoroughly
@given(call=calls, policy=policies)
def test_whatever_asks_is_of_a_class_that_is_said_to_ask(call: CallFacts, policy: Policy) -> None:
    for opinion in opinions(call, policy):
        if opinion.verdict.ruling is not Ruling.ASK:
            continue
        if opinion.stage is Stage.TAINT:
            assert asking_when_tainted(policy)
        elif not (opinion.path and call.effect not in (Effect.READ, Effect.WRITE, Effect.MEMORY)):
            assert opinion.row in asking_rows(policy)


def test_each_segment_tells_the_rules_that_were_tried_on_it() -> None:
    told = explain(command("cd src; git log -3 | wc -l; rm -rf x"), policy(WORKSPACE, grants=RULED))
    missed = tuple(
        RuleTried(rule=rule, origin=origin, matched=False)
        for rule, origin in (("git log *", Origin.JOB), ("git", Origin.USER), ("ls", Origin.USER))
    )
    assert told.heeds_rules
    assert [(one.text, one.needs_no_rule, one.rules) for one in told.segments] == [
        ("cd src", True, ()),
        ("git log -3", False, (RuleTried(rule="git log *", origin=Origin.JOB, matched=True),)),
        ("wc -l", False, missed),
        ("rm -rf x", False, missed),
    ]
    assert [one.safe for one in told.segments][2:] == ["wc", ""]


def test_a_rule_that_can_never_match_says_why() -> None:
    (tried,) = explain(command("ls"), policy(WORKSPACE, grants=rules("ls; *"))).segments[0].rules
    assert not tried.matched
    assert tried.flaw


def test_rules_that_do_not_count_at_a_level_are_not_told() -> None:
    told = explain(command("ls"), policy(READ_ONLY, grants=RULED))
    assert [tried.rule for tried in told.segments[0].rules] == ["git log *"]


@pytest.mark.parametrize("level", [FULL, ApprovalLevel.AUTO, ApprovalLevel.ASK])
def test_where_no_rule_is_asked_the_segments_stand_alone(level: ApprovalLevel | AutomationLevel) -> None:
    told = explain(command("git log; ls"), policy(level, grants=RULED))
    assert (told.heeds_rules, [one.text for one in told.segments]) == (False, ["git log", "ls"])
    assert [one.rules for one in told.segments] == [(), ()]


def test_a_command_that_is_not_read_says_where_reading_stopped() -> None:
    told = explain(command("git log $(id)"), policy(READ_ONLY))
    assert told.segments == ()
    assert told.unread.startswith("At character 9 of the command: ")
    assert told.unread in told.verdict.reason


def test_the_stages_are_told_in_their_order_up_to_a_refusal() -> None:
    told = explain(facts(Effect.WRITE, written(Zone.CONTROL, "/w/.npmrc"), tool="write"), policy(FULL))
    assert told.stages == (
        StageSaid(stage=Stage.FLOOR, looked_at="/w/.npmrc", said=Ruling.DENY, rule="floor.control_path"),
    )
    assert told.paths == (TouchedPath(path="/w/.npmrc", zone=Zone.CONTROL, writes=True),)


def test_every_stage_says_what_it_looked_at() -> None:
    told = explain(facts(Effect.WRITE, read(Zone.ELSEWHERE, "/x"), written(Zone.INSIDE)), policy(WORKSPACE))
    assert [(stage.stage, stage.looked_at, stage.said) for stage in told.stages] == [
        (Stage.FLOOR, "the tool, its arguments, the paths it touches", None),
        (Stage.MODE, "agent mode, write: yes", None),
        (Stage.LEVEL, "workspace-write, read_elsewhere: ask (/x)", Ruling.ASK),
        (Stage.LEVEL, "workspace-write, write_inside: allow (/w/a.txt)", Ruling.ALLOW),
        (Stage.TAINT, "nothing untrusted has been read", None),
    ]


def test_the_confinement_says_what_is_proven_and_what_will_do() -> None:
    told = explain(command("npm test", frozenset({"reading"})), policy(FULL))
    assert told.stages[2].looked_at == 'sandbox = "auto", proven here: reading; reading will do'
    told = explain(command("npm test", frozenset()), policy(FULL))
    assert told.stages[-1].looked_at == 'sandbox = "auto", proven here: nothing; none will do'


def test_lists_of_hosts_and_tools_are_told_where_they_are_asked() -> None:
    listed = policy(READ_ONLY, web=("docs.python.org",))
    assert explain(facts(Effect.WEB_READ, host="x.example"), listed).stages[2].looked_at == (
        "read-only, web_read: listed; web = docs.python.org"
    )
    assert explain(facts(Effect.OUTWARD, tool="mcp__a"), listed).stages[2].looked_at == (
        "read-only, outward: own exempt; exempt: nothing"
    )


def test_a_taint_tells_its_source() -> None:
    told = explain(dataclasses.replace(facts(Effect.OUTWARD), tainted_by="a webhook's body"), policy(FULL))
    assert told.stages[-1] == StageSaid(stage=Stage.TAINT, looked_at="a webhook's body", said=Ruling.ASK, rule="taint")
    assert explain(facts(Effect.OUTWARD), policy(FULL)).stages[-1] == PASSED


@at_every_level
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("effect", Effect)
def test_without_anybody_to_ask_nothing_waits(
    level: ApprovalLevel | AutomationLevel, mode: Mode, effect: Effect
) -> None:
    under = policy(level, mode=mode)
    call = facts(effect, tainted_by="the web page https://a.example", command="make", confinable=frozenset({"reading"}))
    becomes = settled(adjudicate(call, under), under)
    assert (becomes is Settled.WAITS) <= isinstance(level, ApprovalLevel)


def test_a_question_waits_where_questions_do_though_calls_do_not() -> None:
    under = policy(READ_ONLY, questions="suspend")
    assert settled(adjudicate(facts(Effect.QUESTION), under), under) is Settled.WAITS
    assert settled(adjudicate(facts(Effect.WRITE), under), under) is Settled.DENY


def test_the_classes_that_can_ask_follow_from_level_mode_and_lists() -> None:
    assert asking_rows(policy(FULL)) == ()
    assert asking_rows(policy(FULL, questions="suspend")) == (Row.QUESTION,)
    assert asking_rows(policy(WORKSPACE, web=("*",), commands="confined")) == (
        Row.READ_ELSEWHERE,
        Row.MEMORY_GLOBAL,
        Row.WRITE_ELSEWHERE,
        Row.OUTWARD,
        Row.CONFIGURE,
    )
    assert asking_rows(policy(FULL, mode=Mode.PLAN)) == (Row.LEAVE_PLAN,)
    assert asking_rows(policy(READ_ONLY, mode=Mode.ASK)) == (Row.READ_ELSEWHERE, Row.WEB_READ)
    assert asking_when_tainted(policy(FULL)) == (Row.WEB_READ, Row.OUTWARD)
    assert asking_when_tainted(policy(FULL, network="on")) == (Row.WEB_READ, Row.COMMAND, Row.OUTWARD)
    assert asking_when_tainted(policy(FULL, mode=Mode.ASK, network="on")) == (Row.WEB_READ,)


def test_a_listed_command_is_none_behind_a_cd_that_changes_what_it_does() -> None:
    told = explain(command("cd sub && git log"), policy(READ_ONLY))
    assert [one.safe for one in told.segments] == ["cd", ""]
    assert told.verdict.ruling is Ruling.ASK


def test_a_listed_command_that_looks_outside_without_confinement_is_told_so() -> None:
    told = explain(command("cat ../x"), policy(READ_ONLY, sandbox="off"))
    assert told.verdict.ruling is Ruling.ASK
    wanted = "Without confinement, a command that only reads may name nothing outside the directory it runs in."
    assert wanted in told.verdict.reason
