"""Decide what may happen to one call: a pure function of the call's facts and the run's policy, read from the top.

Floor, mode, skills, confinement, level, taint: each says what it thinks of the call, and the first that refuses ends
it. Of what was said the strictest counts, the first among equals. A verdict is concluded from these opinions alone, so
that what explains one cannot disagree with it. What decides is in `tables`; what is said about it is in `reasons`.

Source: design, section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kova_auto.core.approval import reasons
from kova_auto.core.approval.facts import CallFacts, PathFact, Zone
from kova_auto.core.approval.levels import ApprovalLevel, Effect, Ruling, Verdict
from kova_auto.core.approval.opinion import Opinion, Stage
from kova_auto.core.approval.policy import Policy, policy_hash
from kova_auto.core.approval.rows import judged
from kova_auto.core.approval.tables import Box, Reach, boxes, reach
from kova_auto.core.approval.taint import tainted

_STRICTNESS = {Ruling.ALLOW: 0, Ruling.ASK: 1, Ruling.DENY: 2}
_BOXES = tuple(Box)
_WRITERS = frozenset(
    (Effect.WRITE, Effect.MEMORY, Effect.COMMAND, Effect.CONFIGURE, Effect.PLAN, Effect.NOTE, Effect.OUTWARD)
)

_WAITING = frozenset((Effect.WRITE, Effect.MEMORY, Effect.CONFIGURE, Effect.OUTWARD))
"""Effects that wait until it is agreed by what a goal is judged."""
UNAGREED = "mode.goal.unagreed"
NARROWED = "skill.allowed_tools"


def adjudicate(facts: CallFacts, policy: Policy) -> Verdict:
    """Return what may happen to a call, why, and the rule that decided."""
    return conclude(opinions(facts, policy), policy)


def opinions(facts: CallFacts, policy: Policy) -> Iterator[Opinion]:
    """Yield what the rules say of a call, in the order of the stages; the first refusal is the last of them.

    A child run is judged by its own policy, then by that of the run which dispatched it, and so on.
    """
    for judging in policy.lineage:
        for opinion in _opinions(facts, judging):
            yield opinion
            if opinion.verdict.ruling is Ruling.DENY:
                return


def conclude(heard: Iterable[Opinion], policy: Policy) -> Verdict:
    """Return the verdict that follows from what `opinions` yielded under a policy."""
    said = list(heard)
    ruled = max((opinion.verdict for opinion in said), key=_strictness)
    boxes_found = [opinion.box for opinion in said if opinion.box]
    box = min(boxes_found, key=_BOXES.index) if boxes_found and ruled.ruling is not Ruling.DENY else None
    reason = ruled.reason
    if box and (ruled.ruling is Ruling.ALLOW or policy.can_ask):
        reason = f"{reason} {reasons.confinement(box, policy)}"
    return Verdict(
        ruling=ruled.ruling,
        reason=reason,
        rule=ruled.rule,
        confinement=box.value if box else "",
        policy_hash=policy_hash(policy),
        question=ruled.question,
    )


def _opinions(facts: CallFacts, policy: Policy) -> Iterator[Opinion]:
    yield from _floor(facts)
    if facts.effect is None or reach(policy.mode, facts.effect) is Reach.NO:
        yield _deny(Stage.MODE, f"mode.{policy.mode}.{facts.effect}", reasons.mode(facts, policy))
    elif facts.changing and reach(policy.mode, facts.effect) is Reach.READING:
        yield _deny(Stage.MODE, f"mode.{policy.mode}.{facts.effect}", reasons.changing(facts, policy))
    if facts.unagreed and facts.effect in _WAITING:
        yield _deny(Stage.MODE, UNAGREED, reasons.unagreed())
    if facts.narrowed_by:
        yield _deny(Stage.SKILL, NARROWED, reasons.narrowed(facts))
    box = None
    if facts.effect is Effect.COMMAND:
        box = box_of(facts, policy)
        if box is None:
            # A person's approval would not change that.
            yield _deny(Stage.CONFINEMENT, "sandbox.no_confinement", reasons.no_confinement(facts, policy))
    yield from judged(facts, policy, box)
    if facts.tainted_by and (verdict := tainted(facts, policy, box)):
        yield Opinion(Stage.TAINT, verdict, box=box)


def _floor(facts: CallFacts) -> Iterator[Opinion]:
    if facts.effect is None:
        yield _deny(Stage.FLOOR, "floor.unknown_tool", reasons.unknown_tool(facts))
    if facts.problem:
        yield _deny(Stage.FLOOR, "arguments", reasons.arguments(facts))
    for path in facts.paths:
        if path.zone is Zone.SECRET:
            yield _deny(Stage.FLOOR, "floor.secret", reasons.secret(path), path)
        if path.writes and path.zone is Zone.CONTROL:
            yield _deny(Stage.FLOOR, "floor.control_path", reasons.control_path(path), path)
        if path.writes and facts.effect not in _WRITERS:
            yield _deny(Stage.FLOOR, "floor.undeclared_effect", reasons.undeclared(facts), path)
    if facts.effect is Effect.COMMAND and not (facts.command or "").strip():
        yield _deny(Stage.FLOOR, "floor.no_command", reasons.no_command())


def box_of(facts: CallFacts, policy: Policy) -> Box | None:
    """Return the confinement that a command gets, or None where none that will do is proven."""
    must_only_read = reach(policy.mode, Effect.COMMAND) is Reach.READING or _is_unasked(facts, policy)
    if policy.sandbox == "off":
        # The executor will not confine it then, whatever could be proven here.
        return None if must_only_read else Box.OPEN
    wanted = (Box.READING,) if must_only_read else boxes(policy.level)
    return next((box for box in wanted if box in facts.confinable), None)


def _is_unasked(facts: CallFacts, policy: Policy) -> bool:
    """Say whether a command runs about which somebody who wants to be asked of everything is not asked."""
    return bool(facts.own) and policy.level is ApprovalLevel.ASK


def _strictness(verdict: Verdict) -> int:
    return _STRICTNESS[verdict.ruling]


def _deny(stage: Stage, rule: str, reason: str, path: PathFact | None = None) -> Opinion:
    return Opinion(stage, Verdict(ruling=Ruling.DENY, rule=rule, reason=reason), path=path)
