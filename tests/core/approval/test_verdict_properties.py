"""What holds for every call and every policy."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kova_auto.core.approval.adjudicate import adjudicate, conclude, opinions
from kova_auto.core.approval.facts import CallFacts, PathFact, Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode, Ruling
from kova_auto.core.approval.opinion import Stage
from kova_auto.core.approval.policy import Grant, Grants, Origin, Policy, policy_hash
from kova_auto.core.approval.tables import reaches
from tests.core.approval.approval_support import facts

Levels = type[ApprovalLevel] | type[AutomationLevel]
STRICTNESS = [Ruling.ALLOW, Ruling.ASK, Ruling.DENY]
COMMANDS = ("git log -3", "ls /etc", "npm test", "git log | head", "cat ../x", "", "rm -rf x")
RULES = ("git log *", "npm test", "rm *", "*", "")

paths = st.builds(PathFact, st.just("/w/a"), st.sampled_from(Zone), st.booleans())
calls = st.builds(
    lambda effect, found, command, host, confinable, problem, tool, source: facts(
        effect,
        *found,
        command=command,
        host=host,
        confinable=confinable,
        problem=problem,
        tool=tool,
        tainted_by=source,
    ),
    st.none() | st.sampled_from(Effect),
    st.lists(paths, max_size=3),
    st.none() | st.sampled_from(COMMANDS),
    st.sampled_from([None, "a.example", "b.example"]),
    st.sets(st.sampled_from(["reading", "workspace"])).map(frozenset),
    st.sampled_from(["", "", "", "bad"]),
    st.sampled_from(["bash", "mcp__a"]),
    st.sampled_from(["", "", "the web page https://a.example"]),
)
grants = st.builds(Grant, st.sampled_from([*RULES, "mcp__a"]), st.sampled_from(Origin))
policies = st.builds(
    Policy,
    mode=st.sampled_from(Mode),
    level=st.sampled_from([*ApprovalLevel, *AutomationLevel]),
    grants=st.builds(Grants, st.lists(grants, max_size=3).map(tuple), st.lists(grants, max_size=2).map(tuple)),
    web=st.sampled_from([(), ("a.example",), ("*",)]),
    sandbox=st.sampled_from(["auto", "required", "off"]),
    commands=st.sampled_from(["rules", "confined"]),
    network=st.sampled_from(["off", "off", "on", ("a.example",)]),
    secrets=st.sampled_from([(), (), ("TOKEN",)]),
    when_needed=st.sampled_from(["deny", "suspend"]),
    questions=st.sampled_from(["assume", "suspend"]),
)
thoroughly = settings(deadline=None, max_examples=200)


def strictness(call: CallFacts, policy: Policy) -> int:
    return STRICTNESS.index(adjudicate(call, policy).ruling)


@pytest.mark.parametrize("levels", [ApprovalLevel, AutomationLevel])
@thoroughly
@given(call=calls, policy=policies)
def test_raising_the_level_never_makes_a_verdict_stricter(levels: Levels, call: CallFacts, policy: Policy) -> None:
    found = [strictness(call, dataclasses.replace(policy, level=level)) for level in levels]
    assert all(looser <= stricter for stricter, looser in pairwise(found)), found


@thoroughly
@given(call=calls, policy=policies)
def test_no_level_and_no_grant_lifts_what_a_mode_does_not_have(call: CallFacts, policy: Policy) -> None:
    if call.effect is not None and not reaches(policy.mode, call.effect):
        assert adjudicate(call, policy).ruling is Ruling.DENY


@thoroughly
@given(call=calls, policy=policies)
def test_a_tainted_run_never_gets_more_than_an_untainted_one(call: CallFacts, policy: Policy) -> None:
    untainted = adjudicate(dataclasses.replace(call, tainted_by=""), policy)
    tainted = adjudicate(dataclasses.replace(call, tainted_by="a webhook's body"), policy)
    assert STRICTNESS.index(tainted.ruling) >= STRICTNESS.index(untainted.ruling)
    if tainted.ruling is untainted.ruling:
        assert tainted == untainted


@thoroughly
@given(call=calls, policy=policies)
def test_what_is_undeclared_or_unknown_is_denied_whatever_is_granted(call: CallFacts, policy: Policy) -> None:
    assert adjudicate(dataclasses.replace(call, effect=None), policy).ruling is Ruling.DENY
    level = cast("AutomationLevel", "yolo")
    assert adjudicate(call, dataclasses.replace(policy, level=level)).ruling is Ruling.DENY


@thoroughly
@given(call=calls, policy=policies)
def test_what_explains_a_verdict_is_what_it_was_concluded_from(call: CallFacts, policy: Policy) -> None:
    heard = tuple(opinions(call, policy))
    verdict = adjudicate(call, policy)
    assert conclude(heard, policy) == verdict
    assert [opinion.stage for opinion in heard] == sorted((opinion.stage for opinion in heard), key=[*Stage].index)
    assert all(opinion.verdict.ruling is not Ruling.DENY for opinion in heard[:-1])
    assert verdict.rule in [opinion.verdict.rule for opinion in heard]


@thoroughly
@given(call=calls, policy=policies, more=grants)
def test_a_grant_never_makes_a_verdict_stricter(call: CallFacts, policy: Policy, more: Grant) -> None:
    granted = dataclasses.replace(policy, grants=policy.grants.plus(Grants((more,), (more,))))
    assert strictness(call, granted) <= strictness(call, policy)


@thoroughly
@given(call=calls, policy=policies, more=paths)
def test_touching_one_more_path_never_makes_a_verdict_looser(call: CallFacts, policy: Policy, more: PathFact) -> None:
    # A write that says nothing of where it goes is judged as one that goes elsewhere, so start from a placed one.
    placed = dataclasses.replace(call, paths=(PathFact("/w/b", Zone.INSIDE, call.effect is Effect.WRITE), *call.paths))
    wider = dataclasses.replace(placed, paths=(*placed.paths, more))
    assert strictness(wider, policy) >= strictness(placed, policy)


@thoroughly
@given(call=calls, policy=policies)
def test_only_commands_that_may_run_are_confined_and_only_in_a_proven_box(call: CallFacts, policy: Policy) -> None:
    verdict = adjudicate(call, policy)
    may_run = call.effect is Effect.COMMAND and verdict.ruling is not Ruling.DENY
    assert bool(verdict.confinement) is may_run
    assert verdict.confinement in {"", *call.confinable} or (verdict.confinement == "open" and policy.sandbox == "off")


@thoroughly
@given(call=calls, policy=policies)
def test_a_verdict_is_the_same_every_time_and_names_its_policy(call: CallFacts, policy: Policy) -> None:
    verdict = adjudicate(call, policy)
    assert verdict == adjudicate(call, policy)
    assert verdict.policy_hash == policy_hash(policy)
    assert verdict.rule
    assert verdict.reason


@thoroughly
@given(call=calls, policy=policies)
def test_a_plan_never_runs_a_command_that_could_write(call: CallFacts, policy: Policy) -> None:
    verdict = adjudicate(call, dataclasses.replace(policy, mode=Mode.PLAN))
    if call.effect is Effect.COMMAND and verdict.ruling is not Ruling.DENY:
        assert (verdict.confinement, policy.sandbox) in {("reading", "auto"), ("reading", "required")}
