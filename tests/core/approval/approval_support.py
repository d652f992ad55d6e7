"""Builders for adjudication: a call's facts and a run's policy, with only what a test is about spelled out."""

from __future__ import annotations

from typing import Literal

import pytest

from kova_auto.core.approval.facts import CallFacts, PathFact, Zone
from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode
from kova_auto.core.approval.network import Network
from kova_auto.core.approval.policy import Grant, Grants, Origin, Policy
from kova_auto.core.ids import CallId
from kova_auto.core.message import ToolCall

PROVEN = frozenset({"reading", "workspace"})
BOTH: tuple[ApprovalLevel | AutomationLevel, ...] = (*ApprovalLevel, *AutomationLevel)
at_every_level = pytest.mark.parametrize("level", BOTH, ids=lambda level: f"{type(level).__name__}.{level}")

Sandbox = Literal["auto", "required", "off"]


def facts(
    effect: Effect | None,
    *paths: PathFact,
    tool: str = "tool",
    command: str | None = None,
    host: str | None = None,
    problem: str = "",
    confinable: frozenset[str] = frozenset(),
    no_confinement: str = "",
    tainted_by: str = "",
) -> CallFacts:
    call = ToolCall(id=CallId("1.1"), tool=tool)
    return CallFacts(call, effect, problem, paths, command, host, confinable, no_confinement, tainted_by)


def read(zone: Zone, path: str = "/w/a.txt") -> PathFact:
    return PathFact(path, zone, writes=False)


def written(zone: Zone, path: str = "/w/a.txt") -> PathFact:
    return PathFact(path, zone, writes=True)


def command(text: str, proven: frozenset[str] = PROVEN, why_not: str = "") -> CallFacts:
    return facts(Effect.COMMAND, tool="bash", command=text, confinable=proven, no_confinement=why_not)


def policy(
    level: ApprovalLevel | AutomationLevel = AutomationLevel.READ_ONLY,
    *,
    mode: Mode = Mode.AGENT,
    grants: Grants | None = None,
    web: tuple[str, ...] = (),
    sandbox: Sandbox = "auto",
    commands: Literal["rules", "confined"] = "rules",
    network: Network = "off",
    secrets: tuple[str, ...] = (),
    when_needed: Literal["deny", "suspend"] = "deny",
    questions: Literal["assume", "suspend"] = "assume",
) -> Policy:
    return Policy(
        mode,
        level,
        grants or Grants(),
        web,
        sandbox=sandbox,
        commands=commands,
        network=network,
        secrets=secrets,
        when_needed=when_needed,
        questions=questions,
    )


def rules(*texts: str, origin: Origin = Origin.JOB) -> Grants:
    return Grants(commands=tuple(Grant(text, origin) for text in texts))


def exempt(*tools: str, origin: Origin = Origin.JOB) -> Grants:
    return Grants(tools=tuple(Grant(tool, origin) for tool in tools))
