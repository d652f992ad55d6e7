"""Tell how a verdict comes about: what was asked of the call, what it looked at, and what it said.

Everything here is read from the opinions that the verdict is concluded from, and from the tables they look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from kova_auto.core.approval.adjudicate import box_of, conclude, opinions
from kova_auto.core.approval.facts import CallFacts, Zone
from kova_auto.core.approval.levels import Effect, Ruling, Verdict
from kova_auto.core.approval.opinion import Opinion, Stage
from kova_auto.core.approval.policy import Origin, Policy
from kova_auto.core.approval.rules import Part, coverage
from kova_auto.core.approval.safe import listed
from kova_auto.core.approval.shell.refusal import say
from kova_auto.core.approval.tables import Cell, Reach, reach
from kova_auto.core.value import Value


class Settled(StrEnum):
    """Say what becomes of a call in a run: where nobody can be asked, a call that needs a person is denied."""

    ALLOW = "allow"
    DENY = "deny"
    WAITS = "waits"  # for a person


class TouchedPath(Value):
    """Say which file a call touches, and where it lies."""

    path: str
    zone: Zone
    writes: bool


class RuleTried(Value):
    """Say what came of comparing one rule with a segment.

    Attributes:
        flaw: Why it can never match anything; empty for a sound rule.
    """

    rule: str
    origin: Origin
    matched: bool
    flaw: str = ""


class SegmentSaid(Value):
    """Hold one simple command of a command line, and what lets it run.

    Attributes:
        text: Its words as they were typed, redirects left out.
        needs_no_rule: A plain `cd`.
        safe: Name by which it is on the list of commands that only read, where it stands; empty where it is not.
        rules: Those that were compared with it, in order, up to the first that matched.
    """

    text: str
    needs_no_rule: bool
    safe: str
    rules: tuple[RuleTried, ...]


class StageSaid(Value):
    """Hold what was asked at one stage.

    Attributes:
        looked_at: A clause for a person.
        said: None where it had nothing against the call.
        rule: The name of the rule that spoke; empty where none did.
    """

    stage: Stage
    looked_at: str
    said: Ruling | None
    rule: str


class Explanation(Value):
    """Explain one verdict.

    Attributes:
        settled: What becomes of the call in such a run.
        heeds_rules: Whether rules and the list of commands that only read have a say in it at this level.
        unread: Why the command was not read, a sentence for a person; then it has no segments.
        stages: In the order they were asked; none behind a refusal.
        tainted_by: Untrusted text that the run is taken to have read.
    """

    verdict: Verdict
    settled: Settled
    effect: Effect | None
    paths: tuple[TouchedPath, ...]
    host: str | None
    segments: tuple[SegmentSaid, ...]
    heeds_rules: bool
    unread: str
    stages: tuple[StageSaid, ...]
    tainted_by: str


def explain(facts: CallFacts, policy: Policy) -> Explanation:
    """Explain what may happen to a call; the verdict is that of `adjudicate`."""
    heard = tuple(opinions(facts, policy))
    verdict = conclude(heard, policy)
    command = facts.command if facts.effect is Effect.COMMAND else None
    heeded = next((opinion.coverage for opinion in heard if opinion.coverage), None)
    found = coverage((), command) if command is not None and heeded is None else heeded
    return Explanation(
        verdict=verdict,
        settled=settled(verdict, policy),
        effect=facts.effect,
        paths=tuple(TouchedPath(path=path.path, zone=path.zone, writes=path.writes) for path in facts.paths),
        host=facts.host,
        segments=tuple(map(_segment, found.parts, listed(command or ""))) if found else (),
        heeds_rules=heeded is not None,
        unread=say(found.refused) if found and found.refused else "",
        stages=tuple(_stages(facts, policy, heard)),
        tainted_by=facts.tainted_by,
    )


def settled(verdict: Verdict, policy: Policy) -> Settled:
    """Return what becomes of a call under a policy."""
    match verdict.ruling:
        case Ruling.ALLOW:
            return Settled.ALLOW
        case Ruling.ASK if policy.can_ask or verdict.question:
            return Settled.WAITS
        case _:
            return Settled.DENY


def _segment(part: Part, name: str | None) -> SegmentSaid:
    return SegmentSaid(
        text=part.segment.text,
        needs_no_rule=part.free,
        safe=name or "",
        rules=tuple(
            RuleTried(rule=tried.grant.text, origin=tried.grant.origin, matched=tried.matched, flaw=tried.flaw)
            for tried in part.consulted
        ),
    )


def _stages(facts: CallFacts, policy: Policy, heard: tuple[Opinion, ...]) -> Iterator[StageSaid]:
    """Yield the stages that were come to, each with what it said of the call."""
    last = heard[-1]
    for stage in Stage:
        if stage is Stage.CONFINEMENT and facts.effect is not Effect.COMMAND:
            continue
        if stage is Stage.SKILL and not facts.narrowed_by:
            continue
        said = [opinion for opinion in heard if opinion.stage is stage]
        for opinion in said:
            verdict = opinion.verdict
            looked_at = _looked_at(stage, facts, policy, opinion)
            yield StageSaid(stage=stage, looked_at=looked_at, said=verdict.ruling, rule=verdict.rule)
        if not said:
            yield StageSaid(stage=stage, looked_at=_looked_at(stage, facts, policy), said=None, rule="")
        if stage is last.stage and last.verdict.ruling is Ruling.DENY:
            return


def _looked_at(stage: Stage, facts: CallFacts, policy: Policy, opinion: Opinion | None = None) -> str:
    match stage:
        case Stage.FLOOR:
            return opinion.path.path if opinion and opinion.path else "the tool, its arguments, the paths it touches"
        case Stage.MODE:
            return _mode(facts, policy)
        case Stage.SKILL:
            return facts.narrowed_by
        case Stage.CONFINEMENT:
            return _confinement(facts, policy)
        case Stage.LEVEL:
            return _level(policy, opinion) if opinion else ""
        case Stage.TAINT:
            return facts.tainted_by or "nothing untrusted has been read"


def _mode(facts: CallFacts, policy: Policy) -> str:
    found = reach(policy.mode, facts.effect) if facts.effect else Reach.NO
    return f"{policy.mode} mode, {facts.effect}: {found}"


def _confinement(facts: CallFacts, policy: Policy) -> str:
    box = box_of(facts, policy)
    proven = f", proven here: {', '.join(sorted(facts.confinable)) or 'nothing'}" if policy.sandbox != "off" else ""
    return f'sandbox = "{policy.sandbox}"{proven}; {box or "none"} will do'


def _level(policy: Policy, opinion: Opinion) -> str:
    where = f" ({opinion.path.path})" if opinion.path else ""
    asked = f"{opinion.cell}".replace("_", " ")
    kind = "attended " if policy.attended else ""
    return f"{kind}{policy.level}, {opinion.row}: {asked}{where}{_lists(policy, opinion)}"


def _lists(policy: Policy, opinion: Opinion) -> str:
    match opinion.cell:
        case Cell.LISTED:
            return f"; web = {', '.join(policy.web) or 'nothing'}"
        case Cell.EXEMPT | Cell.OWN_EXEMPT:
            return f"; exempt: {', '.join(grant.text for grant in policy.grants.tools) or 'nothing'}"
        case Cell.RULE_OR_SAFE if policy.commands == "confined":
            return '; commands = "confined"'
        case _:
            return ""
