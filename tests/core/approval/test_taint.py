"""What a run may still do without being asked, once it has read untrusted text: by effect, and at every level."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.facts import CallFacts, Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode, Ruling, Verdict
from kova_auto.core.approval.policy import Grants, policy_hash
from tests.core.approval.approval_support import (
    at_every_level,
    command,
    exempt,
    facts,
    policy,
    read,
    rules,
    written,
)

PAGE = "the web page https://evil.example/post"
GRANTS = rules("make *").plus(exempt("mcp__tracker__close"))
MCP = facts(Effect.OUTWARD, tool="mcp__tracker__close")

# Attended: ask, workspace-write, auto-edit, auto | unattended: read-only, workspace-write, full.
# + allow, ? ask, ! deny; each level once untainted, once tainted.
TABLE: list[tuple[str, CallFacts, dict[str, Any], str, str]] = [
    ("read inside", facts(Effect.READ, read(Zone.INSIDE)), {}, "+ + + + | + + +", "+ + + + | + + +"),
    ("read elsewhere", facts(Effect.READ, read(Zone.ELSEWHERE)), {}, "+ + + + | ? ? +", "+ + + + | ? ? +"),
    ("web, named", facts(Effect.WEB_READ, host="docs.python.org"), {}, "+ + + + | + + +", "+ + + + | + + +"),
    ("web, below a name", facts(Effect.WEB_READ, host="a.wiki.org"), {}, "+ + + + | + + +", "+ + + + | + + +"),
    ("web, other", facts(Effect.WEB_READ, host="x.example"), {}, "+ + + + | ? ? +", "? ? ? ? | ? ? ?"),
    ("web, any", facts(Effect.WEB_READ, host="x.example"), {"web": ("*",)}, "+ + + + | + + +", "? ? ? ? | ? ? ?"),
    ("web, unknown", facts(Effect.WEB_READ), {"web": ("*",)}, "+ + + + | + + +", "? ? ? ? | ? ? ?"),
    ("note", facts(Effect.NOTE), {}, "+ + + + | + + +", "+ + + + | + + +"),
    ("memory", facts(Effect.MEMORY, written(Zone.INSIDE)), {}, "? + + + | ? + +", "? + + + | ? + +"),
    ("write inside", facts(Effect.WRITE, written(Zone.INSIDE)), {}, "? + + + | ? + +", "? + + + | ? + +"),
    ("write elsewhere", facts(Effect.WRITE, written(Zone.ELSEWHERE)), {}, "? ? + + | ? ? +", "? ? + + | ? ? +"),
    ("write guarded", facts(Effect.WRITE, written(Zone.GUARDED)), {}, "? ? ? ? | ! ! !", "? ? ? ? | ! ! !"),
    ("write control", facts(Effect.WRITE, written(Zone.CONTROL)), {}, "! ! ! ! | ! ! !", "! ! ! ! | ! ! !"),
    ("command", command("make docs"), {}, "? + + + | + + +", "? + + + | + + +"),
    ("command, open", command("make docs"), {"sandbox": "off"}, "? + + + | + + +", "? ? ? ? | ? ? ?"),
    ("command, net", command("make docs"), {"network": "on"}, "? + + + | + + +", "? ? ? ? | ? ? ?"),
    ("command, hosts", command("make docs"), {"network": ("pypi.example",)}, "? + + + | + + +", "? ? ? ? | ? ? ?"),
    ("command, secrets", command("make docs"), {"secrets": ("TOKEN",)}, "? + + + | + + +", "? ? ? ? | ? ? ?"),
    ("command, safe", command("git log -3"), {"secrets": ("TOKEN",)}, "? ? ? + | + + +", "? ? ? ? | ? ? ?"),
    ("command, unproven", command("make docs", frozenset()), {"network": "on"}, "! ! ! ! | ! ! !", "! ! ! ! | ! ! !"),
    ("outward", MCP, {"grants": Grants()}, "? ? ? + | ? ? +", "? ? ? ? | ? ? ?"),
    ("outward, exempt", MCP, {}, "? + + + | + + +", "? ? ? ? | ? ? ?"),
    ("configure", facts(Effect.CONFIGURE), {}, "? ? ? + | ? ? +", "? ? ? + | ? ? +"),
    ("question", facts(Effect.QUESTION), {}, "? ? ? ? | + + +", "? ? ? ? | + + +"),
    ("subagent", facts(Effect.SUBAGENT), {}, "+ + + + | + + +", "+ + + + | + + +"),
    ("unknown tool", facts(None), {}, "! ! ! ! | ! ! !", "! ! ! ! | ! ! !"),
]
RULINGS = {"+": Ruling.ALLOW, "?": Ruling.ASK, "!": Ruling.DENY}


@pytest.mark.parametrize(("name", "call", "more", "untainted", "tainted"), TABLE, ids=[row[0] for row in TABLE])
def test_a_tainted_run_asks_where_something_could_get_out(
    name: str, call: CallFacts, more: dict[str, Any], untainted: str, tainted: str
) -> None:
    def row(judged: CallFacts) -> list[Ruling]:
        levels: tuple[ApprovalLevel | AutomationLevel, ...] = (*ApprovalLevel, *AutomationLevel)
        given: dict[str, Any] = {"grants": GRANTS, "web": ("docs.python.org", "*.wiki.org"), **more}
        return [adjudicate(judged, policy(level, **given)).ruling for level in levels]

    def meant(signs: str) -> list[Ruling]:
        return [RULINGS[sign] for sign in signs.replace("|", " ").split()]

    assert (name, row(call)) == (name, meant(untainted))
    assert (name, row(replace(call, tainted_by=PAGE))) == (name, meant(tainted))


def test_every_effect_of_agent_mode_has_a_row() -> None:
    assert {call.effect for _, call, *_ in TABLE} >= {*Effect, None} - {
        Effect.GOAL,
        Effect.CONTRACT,
        Effect.PLAN,
        Effect.LEAVE_PLAN,
        Effect.WORK_NEEDED,
    }


@at_every_level
@pytest.mark.parametrize(
    ("mode", "effect"), [(Mode.GOAL, Effect.GOAL), (Mode.PLAN, Effect.PLAN), (Mode.ASK, Effect.WORK_NEEDED)]
)
def test_the_tools_of_a_mode_carry_nothing_out(
    level: ApprovalLevel | AutomationLevel, mode: Mode, effect: Effect
) -> None:
    assert adjudicate(facts(effect, tainted_by=PAGE), policy(level, mode=mode)).ruling is Ruling.ALLOW


def test_the_reason_names_the_source_the_way_out_and_what_remains() -> None:
    under = policy(AutomationLevel.FULL, secrets=("API_KEY", "TOKEN"))
    call = replace(command("make docs"), tainted_by=PAGE)
    assert adjudicate(call, under) == Verdict(
        ruling=Ruling.ASK,
        rule="taint",
        reason="Running this command needs a person's approval, and nobody is there to give it. This run has read the "
        "web page https://evil.example/post, and the command would be given API_KEY, TOKEN. You may still read and "
        "search, and write, the files of the workspace. Say in your answer what you could not run. Do not try it "
        "again.",
        confinement="workspace",
        policy_hash=policy_hash(under),
    )


def test_a_web_page_that_may_not_be_read_any_more_is_told_the_hosts_that_are_named() -> None:
    under = policy(AutomationLevel.FULL, web=("*", "docs.python.org"), when_needed="suspend")
    verdict = adjudicate(facts(Effect.WEB_READ, host="x.example", tainted_by=PAGE), under)
    assert verdict.reason == (
        "Reading x.example needs a person's approval. This run has read the web page https://evil.example/post, and "
        "the job lists no such host by name. You may still read docs.python.org. Work from what you can read, and say "
        "in your answer what you could not look up."
    )


def test_a_long_source_is_cut() -> None:
    source = f"the web page https://evil.example/{'x' * 5_000}"
    assert len(adjudicate(replace(MCP, tainted_by=source), policy(AutomationLevel.FULL)).reason) < 600


def test_what_the_level_asks_about_stays_the_levels_own_question() -> None:
    verdict = adjudicate(
        replace(command("make docs"), tainted_by=PAGE), policy(AutomationLevel.READ_ONLY, network="on")
    )
    assert verdict.rule == "level.read-only.command"


def test_a_refusal_of_the_mode_stays_one() -> None:
    verdict = adjudicate(replace(MCP, tainted_by=PAGE), policy(ApprovalLevel.AUTO, mode=Mode.PLAN))
    assert (verdict.ruling, verdict.rule) == (Ruling.DENY, "mode.plan.outward")
