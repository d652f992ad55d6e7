"""Say what "allow and remember" would keep of a call that needs a person, or why nothing.

It is offered only where the run's level would heed it, so that the same call passes the next time. What asks whatever
was remembered is never offered: guarded files, questions, and anything in a run that has read untrusted text.

Source: reference on the original, section 4.3; reference on shells, sections 5 and 9.3.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath

from kova_auto.core.approval.facts import CallFacts, PathFact, Zone
from kova_auto.core.approval.levels import Effect
from kova_auto.core.approval.policy import Grant, Origin, Policy
from kova_auto.core.approval.rules import coverage
from kova_auto.core.approval.shell import remember
from kova_auto.core.approval.shell.refusal import say
from kova_auto.core.approval.tables import Cell, Row, cell
from kova_auto.core.approval.write_roots import Place, root_objection
from kova_auto.core.consent import Offer, Standing
from kova_auto.core.permissions import without

_NEAR = frozenset((Zone.INSIDE, Zone.WRITE_ROOT, Zone.READ_ROOT))
_UNHEEDED = "nothing that is remembered counts in such a run"
_REMEMBERED = "what can be remembered of it is remembered"
_NEVER = {
    Effect.QUESTION: "an answer is to this one question",
    Effect.READ: "what may be read besides is said by read_roots in the job's file",
    Effect.WEB_READ: "which hosts may be read is said by web in the job's file",
}


def offer(facts: CallFacts, policy: Policy, proposed: Standing, places: Collection[Place]) -> Offer:
    """Return what would be kept of a call that asks, or why nothing.

    Where only a part of a command would be covered, `why_not` names what would be asked about again all the same.

    Args:
        facts: Of the call.
        policy: That the run is under.
        proposed: Of the workspace's own permission file; directories canonical.
        places: That no write root may be, hold or lie in.
    """
    needed = relevant(facts, without(proposed, _effective(policy)))
    if why := _never(facts) or _unheeded(facts, policy):
        return Offer(why_not=why, proposed=needed)
    match facts.effect:
        case Effect.COMMAND:
            kept, why = _commands(facts.command or "", policy)
        case Effect.WRITE:
            kept, why = _roots(facts, policy, needed, places)
        case _:
            kept, why = Standing(tools=(facts.call.tool,)), ""
    return Offer(kept, why, needed)


def relevant(facts: CallFacts, proposed: Standing) -> Standing:
    """Return what of a proposal a call needs: rules that match a part of it, roots that hold its paths, its tool."""
    match facts.effect:
        case Effect.COMMAND:
            grants = (Grant(rule, Origin.LOCAL) for rule in proposed.commands)
            return Standing(commands=tuple(grant.text for grant in coverage(grants, facts.command or "").grants))
        case Effect.WRITE:
            holding = (_narrowest(path, proposed.write_roots) for path in _outside(facts))
            return Standing(write_roots=tuple(dict.fromkeys(root for root in holding if root)))
        case Effect.OUTWARD:
            return Standing(tools=tuple(tool for tool in proposed.tools if tool == facts.call.tool))
        case _:
            return Standing()


def _never(facts: CallFacts) -> str:
    """Return why such a call is asked about each time, whatever the level."""
    if facts.tainted_by:
        return f"the run has read {facts.tainted_by}, and nothing that it asks for since is remembered"
    if guarded := next((path for path in facts.paths if path.writes and path.zone is Zone.GUARDED), None):
        return f"{guarded.path} tells agents, git or CI what to do, and is asked about each time"
    if facts.effect not in (Effect.COMMAND, Effect.WRITE, Effect.OUTWARD):
        return _NEVER.get(facts.effect, "nothing of this kind is remembered") if facts.effect else "nobody knows it"
    return ""


def _unheeded(facts: CallFacts, policy: Policy) -> str:
    """Return why the level would ask all the same."""
    match facts.effect:
        case Effect.COMMAND:
            heeds = cell(policy.level, Row.COMMAND) in (Cell.RULE, Cell.RULE_OR_SAFE)
        case Effect.WRITE:
            outside, inside = cell(policy.level, Row.WRITE_ELSEWHERE), cell(policy.level, Row.WRITE_INSIDE)
            heeds = (outside, inside) == (Cell.ASK, Cell.ALLOW) and bool(_outside(facts))
        case _:
            heeds = cell(policy.level, Row.OUTWARD) is Cell.EXEMPT
    return "" if heeds else _UNHEEDED


def _effective(policy: Policy) -> Standing:
    return Standing(
        commands=tuple(grant.text for grant in policy.grants.commands),
        write_roots=policy.write_roots,
        tools=tuple(grant.text for grant in policy.grants.tools),
    )


def _commands(command: str, policy: Policy) -> tuple[Standing, str]:
    if refused := coverage((), command).refused:
        return Standing(), say(refused).rstrip(".")
    found = remember.offer(command)
    kept = without(Standing(commands=found.texts), _effective(policy))
    again = "; ".join(f"{part.text}, because {part.why}" for part in found.uncovered)
    return kept, _again(again) or ("" if kept else _REMEMBERED)


def _roots(facts: CallFacts, policy: Policy, proposed: Standing, places: Collection[Place]) -> tuple[Standing, str]:
    """Return the directories that would count as inside, all of them or none."""
    roots = dict.fromkeys(
        _narrowest(path, proposed.write_roots) or str(PurePath(path.path).parent) for path in _outside(facts)
    )
    if objections := [why for root in roots if (why := root_objection(PurePath(root), places))]:
        return Standing(), "; ".join(objections)
    asks = cell(policy.level, Row.READ_ELSEWHERE) is not Cell.ALLOW
    again = [f"reading {path.path}" for path in facts.paths if asks and not path.writes and path.zone not in _NEAR]
    return Standing(write_roots=tuple(roots)), _again("; ".join(again))


def _again(what: str) -> str:
    return f"this would be asked about again: {what}" if what else ""


def _outside(facts: CallFacts) -> list[PathFact]:
    return [path for path in facts.paths if path.writes and path.zone is Zone.ELSEWHERE]


def _narrowest(path: PathFact, roots: Collection[str]) -> str | None:
    holding = [root for root in roots if PurePath(path.path).is_relative_to(root)]
    return max(holding, key=len, default=None)
