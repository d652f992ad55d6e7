"""Say which calls need a person once a run has read untrusted text: those by which it could carry something out.

Whatever the level; a call that is refused stays refused. What decides does not depend on the level, so that raising it
never makes a verdict stricter.

Source: design, section 7.5.
"""

from __future__ import annotations

from kova_auto.core.approval import reasons
from kova_auto.core.approval.facts import CallFacts
from kova_auto.core.approval.hosts import listing, named_hosts
from kova_auto.core.approval.levels import Effect, Ruling, Verdict
from kova_auto.core.approval.policy import Policy
from kova_auto.core.approval.tables import Box

TAINT = "taint"


def tainted(facts: CallFacts, policy: Policy, box: Box | None) -> Verdict | None:
    """Return the verdict that a call needs a person, or None where it may be judged as in any run.

    Args:
        facts: Of the call.
        policy: Of the run.
        box: In which a command would run; None for other calls.
    """
    way_out = _way_out(facts, policy, box) if facts.tainted_by else None
    if way_out is None:
        return None
    return Verdict(ruling=Ruling.ASK, rule=TAINT, reason=reasons.tainted(facts, policy, way_out))


def _way_out(facts: CallFacts, policy: Policy, box: Box | None) -> str | None:
    """Return how something could get out by a call, a clause for a person; None where it could not."""
    match facts.effect:
        case Effect.OUTWARD:
            return "this would carry something out"
        case Effect.WEB_READ if listing(named_hosts(policy.web), facts.host) is None:
            return "the job lists no such host by name"
        case Effect.COMMAND if box is Box.OPEN:
            return "the command would run without confinement"
        case Effect.COMMAND if policy.network != "off":
            return "the command could reach the network"
        case Effect.COMMAND if policy.secrets:
            return f"the command would be given {', '.join(policy.secrets)}"
        case _:
            return None
