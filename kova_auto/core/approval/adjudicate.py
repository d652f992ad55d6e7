"""Decide what may happen to one call: a pure function of the call's facts and the run's policy, read from the top.

Floor, mode, confinement, level: the first that refuses wins. Where a call touches several things, each is judged and
the strictest wins. What decides is in `tables`; what is said about it is in `reasons`.

Source: design, section 7.
"""

from __future__ import annotations

from kova_auto.core.approval import reasons
from kova_auto.core.approval.facts import CallFacts, PathFact, Zone
from kova_auto.core.approval.hosts import listing
from kova_auto.core.approval.levels import Effect, Ruling, Verdict
from kova_auto.core.approval.policy import Grant, Origin, Policy, policy_hash
from kova_auto.core.approval.rules import coverage, heeded
from kova_auto.core.approval.safe import read_only, stays_below
from kova_auto.core.approval.tables import Box, Cell, Reach, Row, boxes, cell, reach

_STRICTNESS = (Ruling.ALLOW, Ruling.ASK, Ruling.DENY)
_NEAR = frozenset((Zone.INSIDE, Zone.WRITE_ROOT))
_READABLE = _NEAR | {Zone.READ_ROOT}
_WRITERS = frozenset(
    (Effect.WRITE, Effect.MEMORY, Effect.COMMAND, Effect.CONFIGURE, Effect.PLAN, Effect.NOTE, Effect.OUTWARD)
)
_ROWS = {
    Effect.WEB_READ: Row.WEB_READ,
    Effect.NOTE: Row.NOTE,
    Effect.GOAL: Row.NOTE,
    Effect.PLAN: Row.NOTE,
    Effect.WORK_NEEDED: Row.NOTE,
    Effect.COMMAND: Row.COMMAND,
    Effect.OUTWARD: Row.OUTWARD,
    Effect.CONFIGURE: Row.CONFIGURE,
    Effect.QUESTION: Row.QUESTION,
    Effect.SUBAGENT: Row.SUBAGENT,
}


def adjudicate(facts: CallFacts, policy: Policy) -> Verdict:
    """Return what may happen to a call, why, and the rule that decided; the first rule that speaks wins."""
    ruled = _floor(facts) or _mode(facts, policy) or _confined(facts, policy) or _level(facts, policy)
    return ruled.model_copy(update={"policy_hash": policy_hash(policy)})


def _floor(facts: CallFacts) -> Verdict | None:
    if facts.effect is None:
        return _deny("floor.unknown_tool", reasons.unknown_tool(facts))
    if facts.problem:
        return _deny("arguments", reasons.arguments(facts))
    for path in facts.paths:
        if path.zone is Zone.SECRET:
            return _deny("floor.secret", reasons.secret(path))
        if path.writes and path.zone is Zone.CONTROL:
            return _deny("floor.control_path", reasons.control_path(path))
        if path.writes and facts.effect not in _WRITERS:
            return _deny("floor.undeclared_effect", reasons.undeclared(facts))
    if facts.effect is Effect.COMMAND and not (facts.command or "").strip():
        return _deny("floor.no_command", reasons.no_command())
    return None


def _mode(facts: CallFacts, policy: Policy) -> Verdict | None:
    effect = facts.effect
    if effect is not None and reach(policy.mode, effect) is not Reach.NO:
        return None
    return _deny(f"mode.{policy.mode}.{effect}", reasons.mode(facts, policy))


def _confined(facts: CallFacts, policy: Policy) -> Verdict | None:
    """Refuse a command that no proven confinement would hold: a person's approval would not change that."""
    if facts.effect is not Effect.COMMAND or _box(facts, policy):
        return None
    return _deny("sandbox.no_confinement", reasons.no_confinement(facts, policy))


def _box(facts: CallFacts, policy: Policy) -> Box | None:
    must_only_read = reach(policy.mode, Effect.COMMAND) is Reach.READING
    if policy.sandbox == "off":
        # The executor will not confine it then, whatever could be proven here.
        return None if must_only_read else Box.OPEN
    wanted = (Box.READING,) if must_only_read else boxes(policy.level)
    return next((box for box in wanted if box in facts.confinable), None)


def _level(facts: CallFacts, policy: Policy) -> Verdict:
    box = _box(facts, policy) if facts.effect is Effect.COMMAND else None
    rulings = [_cell(row, path, facts, policy) for row, path in _rows(facts)]
    ruled = max(rulings, key=lambda verdict: _STRICTNESS.index(verdict.ruling))
    if box is None or ruled.ruling is Ruling.DENY:
        return ruled
    may_run = ruled.ruling is Ruling.ALLOW or policy.can_ask
    reason = f"{ruled.reason} {reasons.confinement(box, policy)}" if may_run else ruled.reason
    return ruled.model_copy(update={"confinement": box.value, "reason": reason})


def _rows(facts: CallFacts) -> list[tuple[Row, PathFact | None]]:
    """Return the table's rows that a call falls under, each with the path that puts it there."""
    rows: list[tuple[Row, PathFact | None]] = [
        (_path_row(facts.effect, path), path) for path in facts.paths if _is_judged(facts.effect, path)
    ]
    if facts.effect in _ROWS:
        rows.insert(0, (_ROWS[facts.effect], None))
    if rows:
        return rows
    # Nothing is known of where it writes, so it is not inside.
    unplaced = {Effect.WRITE: Row.WRITE_ELSEWHERE, Effect.MEMORY: Row.MEMORY_GLOBAL}
    return [(unplaced.get(facts.effect, Row.READ_INSIDE) if facts.effect else Row.WRITE_ELSEWHERE, None)]


def _is_judged(effect: Effect | None, path: PathFact) -> bool:
    """Say whether a path has a row of its own: what a tool writes in its own place is judged by its effect."""
    own_place = effect in (Effect.NOTE, Effect.PLAN, Effect.CONFIGURE) and path.zone is not Zone.GUARDED
    return not (path.writes and own_place)


def _path_row(effect: Effect | None, path: PathFact) -> Row:
    if not path.writes:
        return Row.READ_INSIDE if path.zone in _READABLE else Row.READ_ELSEWHERE
    if path.zone is Zone.GUARDED:
        return Row.WRITE_GUARDED
    if effect is Effect.MEMORY:
        return Row.MEMORY_NEAR if path.zone in _NEAR else Row.MEMORY_GLOBAL
    return Row.WRITE_INSIDE if path.zone in _NEAR else Row.WRITE_ELSEWHERE


def _cell(row: Row, path: PathFact | None, facts: CallFacts, policy: Policy) -> Verdict:
    found = cell(policy.level, row)
    name = _level_rule(row, policy)
    match found:
        case Cell.ALLOW:
            return _allow(name, reasons.allowed(row))
        case Cell.DENY:
            return _deny(name, reasons.refused(row, path, facts, policy))
        case Cell.PERSON:
            return _question(name, facts, policy)
        case _:
            rule = _lifting(found, facts, policy)
    if rule:
        return _allow(rule, reasons.allowed_by(rule))
    return Verdict(ruling=Ruling.ASK, rule=name, reason=reasons.needs_person(row, path, facts, policy))


def _lifting(found: Cell, facts: CallFacts, policy: Policy) -> str | None:
    """Return the name of the rule, list or setting that lets a call pass where its level would ask."""
    match found:
        case Cell.LISTED:
            entry = listing(policy.web, facts.host)
            return None if entry is None else f"web:{entry}"
        case Cell.EXEMPT | Cell.OWN_EXEMPT:
            return _exempt(facts.call.tool, _exemptions(policy.grants.tools, own=found is Cell.OWN_EXEMPT))
        case Cell.RULE | Cell.OWN_OR_SAFE | Cell.RULE_OR_SAFE:
            return _command(found, facts, policy)
        case _:
            return None


def _level_rule(row: Row, policy: Policy) -> str:
    if row is Row.WRITE_GUARDED:
        return "floor.guarded_path"
    return f"level.attended.{policy.level}.{row}" if policy.attended else f"level.{policy.level}.{row}"


def _question(rule: str, facts: CallFacts, policy: Policy) -> Verdict:
    if not policy.attended and policy.questions == "assume":
        return _allow("approval.questions", reasons.nobody_answers())
    reason = reasons.needs_person(Row.QUESTION, None, facts, policy)
    return Verdict(ruling=Ruling.ASK, rule=rule, reason=reason, question=True)


def _command(found: Cell, facts: CallFacts, policy: Policy) -> str | None:
    """Return the name of what lets a command run, or None."""
    command = facts.command or ""
    granted = coverage(heeded(policy), command)
    if granted.covered:
        return granted.name
    if found is Cell.RULE:
        return None
    box = _box(facts, policy)
    # Without a box, a listed command would read whatever the user can.
    if (name := read_only(command)) and (box is not Box.OPEN or stays_below(command)):
        return f"safe:{name}"
    if found is Cell.RULE_OR_SAFE and policy.commands == "confined" and box is not Box.OPEN:
        return "commands.confined"
    return None


def _exemptions(grants: tuple[Grant, ...], *, own: bool) -> tuple[Grant, ...]:
    return tuple(grant for grant in grants if grant.origin is Origin.JOB) if own else grants


def _exempt(tool: str, grants: tuple[Grant, ...]) -> str | None:
    return next((f"grant.{grant.origin}:{grant.text}" for grant in grants if grant.text == tool), None)


def _allow(rule: str, reason: str) -> Verdict:
    return Verdict(ruling=Ruling.ALLOW, rule=rule, reason=reason)


def _deny(rule: str, reason: str) -> Verdict:
    return Verdict(ruling=Ruling.DENY, rule=rule, reason=reason)
