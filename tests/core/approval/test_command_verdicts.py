"""Which commands run, what let them, and how they are confined."""

from __future__ import annotations

from typing import Any

import pytest

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Ruling
from kova_auto.core.approval.policy import Grants, Origin
from tests.core.approval.approval_support import Sandbox, at_every_level, command, policy, rules

READ_ONLY, WORKSPACE, FULL = AutomationLevel.READ_ONLY, AutomationLevel.WORKSPACE_WRITE, AutomationLevel.FULL
AUTO = ApprovalLevel.AUTO


@pytest.mark.parametrize(
    ("level", "text", "grants", "more", "rule", "box"),
    [
        (READ_ONLY, "git log -3", rules("git log *"), {}, "grant.job:git log *", "reading"),
        (READ_ONLY, "git log -3", Grants(), {}, "safe:git log", "reading"),
        (READ_ONLY, "git log -3", Grants(), {"sandbox": "required"}, "safe:git log", "reading"),
        (READ_ONLY, "git log -3", Grants(), {"sandbox": "off"}, "safe:git log", "open"),
        (READ_ONLY, "make docs", rules("make docs"), {"sandbox": "off"}, "grant.job:make docs", "open"),
        (WORKSPACE, "npm test", rules("npm test *", origin=Origin.USER), {}, "grant.user:npm test *", "workspace"),
        (WORKSPACE, "npm test", rules("npm *", origin=Origin.LOCAL), {}, "grant.local:npm *", "workspace"),
        (WORKSPACE, "ls -la", Grants(), {}, "safe:ls", "workspace"),
        (WORKSPACE, "npm test | tail -5", rules("npm test *"), {}, "grant.job:npm test *, safe:tail", "workspace"),
        (READ_ONLY, "cd x && make | head -3", rules("make"), {}, "safe:cd, grant.job:make, safe:head", "reading"),
        (WORKSPACE, "make | tee log", Grants(), {"commands": "confined"}, "commands.confined", "workspace"),
        (FULL, "make | tee log", Grants(), {}, "level.full.command", "workspace"),
        (FULL, "make | tee log", Grants(), {"sandbox": "off"}, "level.full.command", "open"),
        (AUTO, "make | tee log", Grants(), {}, "level.attended.auto.command", "workspace"),
        (AUTO, "make | tee log", Grants(), {"sandbox": "off"}, "level.attended.auto.command", "open"),
    ],
)
def test_an_allowed_command_names_what_let_it_and_its_confinement(
    level: ApprovalLevel | AutomationLevel, text: str, grants: Grants, more: dict[str, Any], rule: str, box: str
) -> None:
    verdict = adjudicate(command(text), policy(level, grants=grants, **more))
    assert (verdict.ruling, verdict.rule, verdict.confinement) == (Ruling.ALLOW, rule, box)


@at_every_level
@pytest.mark.parametrize("sandbox", ["auto", "required"])
def test_no_level_runs_a_command_that_nothing_is_proven_to_confine(
    level: ApprovalLevel | AutomationLevel, sandbox: Sandbox
) -> None:
    call = command("git log", frozenset(), "bwrap is not installed; install bubblewrap.")
    verdict = adjudicate(call, policy(level, grants=rules("git log"), sandbox=sandbox, commands="confined"))
    assert (verdict.ruling, verdict.rule, verdict.confinement) == (Ruling.DENY, "sandbox.no_confinement", "")
    assert "bwrap is not installed; install bubblewrap." in verdict.reason


def test_a_looser_level_falls_back_to_the_stricter_box_that_is_proven() -> None:
    verdict = adjudicate(command("npm test", frozenset({"reading"})), policy(FULL))
    assert (verdict.ruling, verdict.confinement) == (Ruling.ALLOW, "reading")
    assert verdict.reason.endswith("It runs where it can only read; nothing wider is proven here.")


def test_anything_that_fits_the_box_needs_a_box() -> None:
    loose = policy(WORKSPACE, sandbox="off", commands="confined")
    assert adjudicate(command("make | tee log"), loose).ruling is Ruling.ASK


def test_anything_that_fits_the_box_is_not_for_runs_that_only_read() -> None:
    assert adjudicate(command("make docs"), policy(READ_ONLY, commands="confined")).ruling is Ruling.ASK


@pytest.mark.parametrize(
    "text", ["cat /home/ann/.ssh/id_rsa", "cat ../../.ssh/id_rsa", "grep -f/etc/shadow x", "ls --ignore=/x"]
)
def test_without_a_box_a_listed_command_may_not_look_outside(text: str) -> None:
    assert adjudicate(command(text), policy(READ_ONLY, sandbox="off")).ruling is Ruling.ASK
    assert adjudicate(command(text), policy(READ_ONLY)).ruling is Ruling.ALLOW


def test_a_command_that_waits_for_a_person_names_its_confinement_too() -> None:
    waiting = adjudicate(command("npm test"), policy(READ_ONLY, when_needed="suspend"))
    assert (waiting.ruling, waiting.confinement) == (Ruling.ASK, "reading")


def test_the_first_rule_that_covers_is_the_one_named() -> None:
    both = rules("git log *").plus(rules("git *", origin=Origin.USER))
    assert adjudicate(command("git log"), policy(WORKSPACE, grants=both)).rule == "grant.job:git log *"
    assert adjudicate(command("git fetch"), policy(WORKSPACE, grants=both)).rule == "grant.user:git *"
