"""A child run's policy is its parent's, narrowed: whatever the child's own says, nothing is looser."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.facts import CallFacts, Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode, Ruling
from kova_auto.core.approval.narrowing import narrowed
from kova_auto.core.approval.network import Network
from kova_auto.core.approval.policy import Origin, Policy, policy_hash
from tests.core.approval.approval_support import Sandbox, command, facts, policy, rules, written
from tests.core.approval.test_verdict_properties import STRICTNESS, calls, policies, strictness, thoroughly

READ_ONLY, WORKSPACE, FULL = AutomationLevel.READ_ONLY, AutomationLevel.WORKSPACE_WRITE, AutomationLevel.FULL
BOXES = ["", "reading", "workspace", "open"]


@thoroughly
@given(call=calls, parent=policies, child=policies)
def test_a_child_never_gets_more_than_its_parent(call: CallFacts, parent: Policy, child: Policy) -> None:
    above, below = adjudicate(call, parent), adjudicate(call, narrowed(parent, child))
    assert STRICTNESS.index(below.ruling) >= STRICTNESS.index(above.ruling)
    assert BOXES.index(below.confinement) <= BOXES.index(above.confinement)


@thoroughly
@given(call=calls, parent=policies, child=policies, grandchild=policies)
def test_a_childs_child_never_gets_more_than_any_above_it(
    call: CallFacts, parent: Policy, child: Policy, grandchild: Policy
) -> None:
    middle = narrowed(parent, child)
    lowest = strictness(call, narrowed(middle, grandchild))
    assert lowest >= strictness(call, middle)
    assert lowest >= strictness(call, parent)


@thoroughly
@given(call=calls, parent=policies)
def test_a_child_that_asks_for_nothing_of_its_own_gets_what_its_parent_has(call: CallFacts, parent: Policy) -> None:
    above, below = adjudicate(call, parent), adjudicate(call, narrowed(parent, parent))
    assert dataclasses.replace(parent, parent=parent) == narrowed(parent, parent)
    assert below.model_copy(update={"policy_hash": above.policy_hash}) == above


@pytest.mark.parametrize(
    ("parent", "child", "level"),
    [
        (READ_ONLY, FULL, READ_ONLY),
        (FULL, WORKSPACE, WORKSPACE),
        (ApprovalLevel.AUTO, ApprovalLevel.ASK, ApprovalLevel.ASK),
        (ApprovalLevel.ASK, ApprovalLevel.AUTO, ApprovalLevel.ASK),
        (ApprovalLevel.WORKSPACE_WRITE, FULL, ApprovalLevel.WORKSPACE_WRITE),
        (WORKSPACE, ApprovalLevel.AUTO, WORKSPACE),
    ],
)
def test_the_level_is_the_stricter_one_of_the_parents_kind(
    parent: ApprovalLevel | AutomationLevel,
    child: ApprovalLevel | AutomationLevel,
    level: ApprovalLevel | AutomationLevel,
) -> None:
    found = narrowed(policy(parent), policy(child)).level
    assert (found, type(found)) == (level, type(level))


@pytest.mark.parametrize(
    ("parent", "child", "sandbox"),
    [("off", "auto", "auto"), ("auto", "off", "auto"), ("required", "off", "required"), ("off", "off", "off")],
)
def test_a_child_is_confined_where_either_wants_it(parent: Sandbox, child: Sandbox, sandbox: Sandbox) -> None:
    assert narrowed(policy(sandbox=parent), policy(sandbox=child)).sandbox == sandbox


@pytest.mark.parametrize(
    ("parent", "child", "network"),
    [
        ("off", "on", "off"),
        ("on", ("pypi.example",), ("pypi.example",)),
        (("pypi.example",), "on", ("pypi.example",)),
        (("pypi.example", "a.example"), ("evil.example", "pypi.example"), ("pypi.example",)),
        (("pypi.example",), ("evil.example",), "off"),
    ],
)
def test_a_child_reaches_what_both_reach(parent: Network, child: Network, network: Network) -> None:
    assert narrowed(policy(network=parent), policy(network=child)).network == network


def test_roots_of_a_child_lie_in_roots_of_both() -> None:
    parent = dataclasses.replace(policy(), write_roots=("/srv/lib", "/data/out/today"), read_roots=("/docs",))
    child = dataclasses.replace(policy(), write_roots=("/srv/lib/src", "/srv/library", "/data/out"), read_roots=("/",))
    found = narrowed(parent, child)
    assert (found.write_roots, found.read_roots) == (("/srv/lib/src", "/data/out/today"), ("/docs",))


def test_a_child_is_given_no_secret_that_its_parent_is_not() -> None:
    assert narrowed(policy(secrets=("A", "B")), policy(secrets=("B", "C"))).secrets == ("B",)


def test_a_child_waits_for_nobody_where_its_parent_does_not() -> None:
    waits = policy(when_needed="suspend", questions="suspend")
    assert narrowed(policy(), waits).can_ask is False
    assert narrowed(policy(), waits).questions == "assume"
    assert narrowed(waits, waits).can_ask


def test_a_rule_counts_where_both_have_one_that_covers() -> None:
    parent, child = policy(grants=rules("git *")), policy(grants=rules("git push *").plus(rules("npm *")))
    both = narrowed(parent, child)
    assert adjudicate(command("git push origin"), both).ruling is Ruling.ALLOW
    assert adjudicate(command("git fetch"), both).ruling is Ruling.ASK  # its own list does not cover it
    assert adjudicate(command("npm test"), both).ruling is Ruling.ASK  # its parent's does not


def test_a_child_makes_no_rule_of_the_user_one_of_the_job() -> None:
    parent, child = policy(grants=rules("npm *", origin=Origin.USER)), policy(grants=rules("npm *"))
    assert adjudicate(command("npm test"), child).ruling is Ruling.ALLOW
    assert adjudicate(command("npm test"), narrowed(parent, child)).ruling is Ruling.ASK


def test_a_child_cannot_name_a_host_for_a_tainted_run() -> None:
    tainted = facts(Effect.WEB_READ, host="evil.example", tainted_by="the web page https://evil.example")
    assert adjudicate(tainted, policy(web=("evil.example",))).ruling is Ruling.ALLOW
    assert adjudicate(tainted, narrowed(policy(web=("*",)), policy(web=("evil.example",)))).rule == "taint"


@pytest.mark.parametrize("mode", Mode)
def test_no_mode_of_a_child_has_what_its_parents_lacks(mode: Mode) -> None:
    write = facts(Effect.WRITE, written(Zone.INSIDE))
    child = narrowed(policy(FULL, mode=Mode.PLAN), policy(FULL, mode=mode))
    assert adjudicate(write, child).ruling is Ruling.DENY
    if mode is not Mode.ASK:
        assert adjudicate(command("make"), child).confinement == "reading"


def test_a_command_that_only_the_parents_mode_confines_says_so() -> None:
    child = narrowed(policy(FULL, mode=Mode.PLAN), policy(FULL))
    assert adjudicate(command("make"), child).reason.endswith("It runs where it can only read.")


def test_two_children_of_different_parents_have_different_hashes() -> None:
    child = policy(READ_ONLY)
    hashes = {policy_hash(narrowed(policy(level), child)) for level in (READ_ONLY, WORKSPACE, FULL)}
    assert len({*hashes, policy_hash(child)}) == 4
