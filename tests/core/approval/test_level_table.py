"""What each level does with each kind of call: the design's table, written out again."""

from __future__ import annotations

from typing import cast

import pytest

from kova_auto.core.approval.adjudicate import adjudicate
from kova_auto.core.approval.facts import CallFacts, Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Ruling
from kova_auto.core.approval.policy import Grants, Origin
from tests.core.approval.approval_support import command, exempt, facts, policy, read, rules, written

MCP = facts(Effect.OUTWARD, tool="mcp__tracker__close")
USER, LOCAL = Origin.USER, Origin.LOCAL

READING, WORKSPACE = frozenset({"reading"}), frozenset({"workspace"})

# Attended: ask, workspace-write, auto-edit, auto | unattended: read-only, workspace-write, full.
# + allow, ? ask, ! deny
TABLE: list[tuple[str, CallFacts, Grants, str]] = [
    ("read inside", facts(Effect.READ, read(Zone.INSIDE)), Grants(), "+ + + + | + + +"),
    ("read write root", facts(Effect.READ, read(Zone.WRITE_ROOT)), Grants(), "+ + + + | + + +"),
    ("read read root", facts(Effect.READ, read(Zone.READ_ROOT)), Grants(), "+ + + + | + + +"),
    ("read no path", facts(Effect.READ), Grants(), "+ + + + | + + +"),
    ("read elsewhere", facts(Effect.READ, read(Zone.ELSEWHERE)), Grants(), "+ + + + | ? ? +"),
    ("read secret", facts(Effect.READ, read(Zone.SECRET)), Grants(), "! ! ! ! | ! ! !"),
    ("web listed", facts(Effect.WEB_READ, host="docs.python.org"), Grants(), "+ + + + | + + +"),
    ("web other", facts(Effect.WEB_READ, host="example.org"), Grants(), "+ + + + | ? ? +"),
    ("note", facts(Effect.NOTE), Grants(), "+ + + + | + + +"),
    ("memory near", facts(Effect.MEMORY, written(Zone.INSIDE)), Grants(), "? + + + | ? + +"),
    ("memory global", facts(Effect.MEMORY, written(Zone.ELSEWHERE)), Grants(), "? ? + + | ? ? +"),
    ("memory no path", facts(Effect.MEMORY), Grants(), "? ? + + | ? ? +"),
    ("write inside", facts(Effect.WRITE, written(Zone.INSIDE)), Grants(), "? + + + | ? + +"),
    ("write root", facts(Effect.WRITE, written(Zone.WRITE_ROOT)), Grants(), "? + + + | ? + +"),
    ("write read root", facts(Effect.WRITE, written(Zone.READ_ROOT)), Grants(), "? ? + + | ? ? +"),
    ("write elsewhere", facts(Effect.WRITE, written(Zone.ELSEWHERE)), Grants(), "? ? + + | ? ? +"),
    ("write no path", facts(Effect.WRITE), Grants(), "? ? + + | ? ? +"),
    ("write guarded", facts(Effect.WRITE, written(Zone.GUARDED)), Grants(), "? ? ? ? | ! ! !"),
    ("write control", facts(Effect.WRITE, written(Zone.CONTROL)), Grants(), "! ! ! ! | ! ! !"),
    ("write secret", facts(Effect.WRITE, written(Zone.SECRET)), Grants(), "! ! ! ! | ! ! !"),
    ("command", command("npm test"), Grants(), "? ? ? + | ? ? +"),
    ("command, job's rule", command("npm test"), rules("npm *"), "? + + + | + + +"),
    ("command, user's rule", command("npm test"), rules("npm *", origin=USER), "? + + + | ? + +"),
    ("command, remembered", command("npm test"), rules("npm *", origin=LOCAL), "? + + + | ? + +"),
    ("command, other rule", command("npm test"), rules("npm ci *"), "? ? ? + | ? ? +"),
    ("command that only reads", command("git log -3"), Grants(), "? ? ? + | + + +"),
    ("command, a part left", command("npm test; rm x"), rules("npm *"), "? ? ? + | ? ? +"),
    ("command, listed rest", command("npm test | head -5"), rules("npm *"), "? ? ? + | + + +"),
    ("command, each part", command("cd x && npm test | tee y"), rules("npm *", "tee *"), "? + + + | + + +"),
    ("command, not read", command("npm test > x"), rules("npm *"), "? ? ? + | ? ? +"),
    ("command, unproven", command("git log", frozenset()), rules("git log"), "! ! ! ! | ! ! !"),
    ("command, only reading", command("npm test", READING), rules("npm *"), "? + + + | + + +"),
    ("command, only workspace", command("npm test", WORKSPACE), rules("npm *"), "? + + + | ! + +"),
    ("no command", command("  "), Grants(), "! ! ! ! | ! ! !"),
    ("outward", MCP, Grants(), "? ? ? + | ? ? +"),
    ("outward, job's", MCP, exempt("mcp__tracker__close"), "? + + + | + + +"),
    ("outward, user's", MCP, exempt("mcp__tracker__close", origin=USER), "? + + + | ? + +"),
    ("outward, job's pattern", MCP, exempt("mcp__tracker__*"), "? + + + | + + +"),
    ("outward, other tool", MCP, exempt("mcp__tracker__open"), "? ? ? + | ? ? +"),
    ("outward, other server", MCP, exempt("mcp__workspace:tracker__*"), "? ? ? + | ? ? +"),
    ("configure", facts(Effect.CONFIGURE), Grants(), "? ? ? + | ? ? +"),
    ("question", facts(Effect.QUESTION), Grants(), "? ? ? ? | + + +"),
    ("subagent", facts(Effect.SUBAGENT), Grants(), "+ + + + | + + +"),
    ("unknown tool", facts(None), Grants(), "! ! ! ! | ! ! !"),
    ("bad arguments", facts(Effect.READ, problem="path is missing"), Grants(), "! ! ! ! | ! ! !"),
    ("read that writes", facts(Effect.READ, written(Zone.INSIDE)), Grants(), "! ! ! ! | ! ! !"),
]
RULINGS = {"+": Ruling.ALLOW, "?": Ruling.ASK, "!": Ruling.DENY}
CELLS = [
    (name, call, grants, level, RULINGS[sign])
    for name, call, grants, row in TABLE
    for level, sign in zip((*ApprovalLevel, *AutomationLevel), row.replace("|", " ").split(), strict=True)
]


@pytest.mark.parametrize(
    ("name", "call", "grants", "level", "ruling"),
    CELLS,
    ids=[f"{name} at {'attended ' * isinstance(level, ApprovalLevel)}{level}" for name, _, _, level, _ in CELLS],
)
def test_a_level_does_with_a_call_what_the_table_says(
    name: str, call: CallFacts, grants: Grants, level: ApprovalLevel | AutomationLevel, ruling: Ruling
) -> None:
    allowed = policy(level, grants=grants, web=("docs.python.org",))
    assert (name, adjudicate(call, allowed).ruling) == (name, ruling)


def test_the_strictest_of_several_paths_wins() -> None:
    both = facts(Effect.WRITE, read(Zone.INSIDE), written(Zone.ELSEWHERE, "/x"), written(Zone.INSIDE))
    verdict = adjudicate(both, policy(AutomationLevel.WORKSPACE_WRITE))
    assert (verdict.ruling, verdict.rule) == (Ruling.ASK, "level.workspace-write.write_elsewhere")


def test_a_path_that_is_read_counts_in_a_call_that_writes() -> None:
    copied = facts(Effect.WRITE, read(Zone.ELSEWHERE, "/x"), written(Zone.INSIDE))
    verdict = adjudicate(copied, policy(AutomationLevel.WORKSPACE_WRITE))
    assert (verdict.ruling, verdict.rule) == (Ruling.ASK, "level.workspace-write.read_elsewhere")


def test_one_forbidden_path_refuses_the_whole_call() -> None:
    both = facts(Effect.WRITE, written(Zone.INSIDE), written(Zone.CONTROL, "/w/.npmrc"))
    verdict = adjudicate(both, policy(AutomationLevel.FULL))
    assert (verdict.ruling, verdict.rule) == (Ruling.DENY, "floor.control_path")


def test_the_two_levels_that_share_a_spelling_are_told_apart() -> None:
    elsewhere = facts(Effect.READ, read(Zone.ELSEWHERE))
    attended = adjudicate(elsewhere, policy(ApprovalLevel.WORKSPACE_WRITE))
    unattended = adjudicate(elsewhere, policy(AutomationLevel.WORKSPACE_WRITE))
    assert (attended.ruling, attended.rule) == (Ruling.ALLOW, "level.attended.workspace-write.read_elsewhere")
    assert (unattended.ruling, unattended.rule) == (Ruling.ASK, "level.workspace-write.read_elsewhere")


@pytest.mark.parametrize("effect", Effect)
def test_an_unknown_level_allows_nothing(effect: Effect) -> None:
    for spelling in ("yolo", "full", "auto"):
        unknown = policy(cast("AutomationLevel", spelling), web=("*",), grants=rules("npm *"))
        assert adjudicate(facts(effect, command="git log", confinable=frozenset()), unknown).ruling is not Ruling.ALLOW
