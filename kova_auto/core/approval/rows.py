"""Judge a call by the rows of the level table that it falls under: one for its effect, one for each path.

The cell decides, and where it says so, what the job, the user and this machine allow beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator

from kova_auto.core.approval import reasons
from kova_auto.core.approval.facts import CallFacts, PathFact, Zone
from kova_auto.core.approval.hosts import listing
from kova_auto.core.approval.levels import Effect, Ruling, Verdict
from kova_auto.core.approval.opinion import Opinion, Stage
from kova_auto.core.approval.policy import Grant, Origin, Policy
from kova_auto.core.approval.rules import Coverage, coverage, heeded
from kova_auto.core.approval.safe import listed, stays_below
from kova_auto.core.approval.tables import Box, Cell, Row, cell
from kova_auto.core.mcp.names import covers

_NEAR = frozenset((Zone.INSIDE, Zone.WRITE_ROOT))
_READABLE = _NEAR | {Zone.READ_ROOT}
_ROWS = {
    Effect.WEB_READ: Row.WEB_READ,
    Effect.NOTE: Row.NOTE,
    Effect.GOAL: Row.NOTE,
    Effect.CONTRACT: Row.CONTRACT,
    Effect.PLAN: Row.NOTE,
    Effect.LEAVE_PLAN: Row.LEAVE_PLAN,
    Effect.WORK_NEEDED: Row.NOTE,
    Effect.COMMAND: Row.COMMAND,
    Effect.OUTWARD: Row.OUTWARD,
    Effect.CONFIGURE: Row.CONFIGURE,
    Effect.QUESTION: Row.QUESTION,
    Effect.SUBAGENT: Row.SUBAGENT,
}
_FROM_RULES = (Cell.RULE, Cell.OWN_OR_SAFE, Cell.RULE_OR_SAFE)


def judged(facts: CallFacts, policy: Policy, box: Box | None) -> Iterator[Opinion]:
    """Yield what the level says of a call in each of its rows, at least one.

    Args:
        facts: Of the call.
        policy: Of the run.
        box: In which a command would run; None for other calls.
    """
    if facts.own and facts.effect is Effect.COMMAND:
        yield Opinion(Stage.LEVEL, _own(facts), Row.COMMAND, box=box)
        return
    for row, path in _rows(facts):
        found = cell(policy.level, row)
        covered = coverage(heeded(policy), facts.command or "") if found in _FROM_RULES else None
        verdict = _by_cell(found, row, path, facts, policy) or _by_list(found, row, facts, policy, box, covered)
        yield Opinion(Stage.LEVEL, verdict, row, found, path, covered, box)


def _own(facts: CallFacts) -> Verdict:
    """Return the verdict on a command of the job file itself: that its author wrote it there is its grant."""
    rule = f"job.{facts.own}"
    return Verdict(ruling=Ruling.ALLOW, rule=rule, reason=reasons.allowed_by(rule))


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


def _by_cell(found: Cell, row: Row, path: PathFact | None, facts: CallFacts, policy: Policy) -> Verdict | None:
    """Return the verdict where the cell decides by itself."""
    match found:
        case Cell.ALLOW:
            return Verdict(ruling=Ruling.ALLOW, rule=_name(row, policy), reason=reasons.allowed(row))
        case Cell.ASK:
            return _ask(row, path, facts, policy)
        case Cell.DENY:
            reason = reasons.refused(row, path, facts, policy)
            return Verdict(ruling=Ruling.DENY, rule=_name(row, policy), reason=reason)
        case Cell.PERSON:
            return _question(facts, policy)
        case _:
            return None


def _by_list(
    found: Cell, row: Row, facts: CallFacts, policy: Policy, box: Box | None, covered: Coverage | None
) -> Verdict:
    """Return the verdict where the cell leaves it to a rule, a list or a setting: without one, a person is asked."""
    match found:
        case Cell.LISTED:
            entry = listing(policy.web, facts.host)
            rule = None if entry is None else f"web:{entry}"
        case Cell.EXEMPT | Cell.OWN_EXEMPT:
            rule = _exempt(facts.call.tool, _exemptions(policy.grants.tools, own=found is Cell.OWN_EXEMPT))
        case _:
            rule = _command(found, facts.command or "", policy, box, covered)
    if rule:
        return Verdict(ruling=Ruling.ALLOW, rule=rule, reason=reasons.allowed_by(rule))
    return _ask(row, None, facts, policy, covered)


def _ask(row: Row, path: PathFact | None, facts: CallFacts, policy: Policy, covered: Coverage | None = None) -> Verdict:
    reason = reasons.needs_person(row, path, facts, policy, covered)
    return Verdict(ruling=Ruling.ASK, rule=_name(row, policy), reason=reason, question=row is Row.QUESTION)


def _name(row: Row, policy: Policy) -> str:
    if row is Row.WRITE_GUARDED:
        return "floor.guarded_path"
    return f"level.attended.{policy.level}.{row}" if policy.attended else f"level.{policy.level}.{row}"


def _question(facts: CallFacts, policy: Policy) -> Verdict:
    if not policy.attended and policy.questions == "assume":
        return Verdict(ruling=Ruling.ALLOW, rule="approval.questions", reason=reasons.nobody_answers())
    return _ask(Row.QUESTION, None, facts, policy)


def _command(found: Cell, command: str, policy: Policy, box: Box | None, covered: Coverage | None) -> str | None:
    """Return the name of what lets a command run, or None."""
    if covered and covered.covered:
        return covered.name
    if found is Cell.RULE:
        return None
    # Without a box, a listed command would read whatever the user can.
    if (name := _each_part(command, covered)) and (box is not Box.OPEN or stays_below(command)):
        return name
    if found is Cell.RULE_OR_SAFE and policy.commands == "confined" and box is not Box.OPEN:
        return "commands.confined"
    return None


def _each_part(command: str, covered: Coverage | None) -> str | None:
    """Return the names of what covers each part of a command, a rule or the list, or None where one has neither."""
    names = [f"safe:{name}" if name else None for name in listed(command)]
    grants = [part.name for part in covered.parts] if covered else [None] * len(names)
    found = [grant or name for grant, name in zip(grants, names, strict=True)]
    return ", ".join(dict.fromkeys(name for name in found if name)) if found and None not in found else None


def _exemptions(grants: tuple[Grant, ...], *, own: bool) -> tuple[Grant, ...]:
    return tuple(grant for grant in grants if grant.origin is Origin.JOB) if own else grants


def _exempt(tool: str, grants: tuple[Grant, ...]) -> str | None:
    return next((f"grant.{grant.origin}:{grant.text}" for grant in grants if covers(grant.text, tool)), None)
