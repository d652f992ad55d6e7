"""Say which classes of calls can come to need a person under a policy: the rows of its level that its mode reaches."""

from __future__ import annotations

from kova_auto.core.approval.facts import CallFacts
from kova_auto.core.approval.hosts import ANY
from kova_auto.core.approval.levels import Effect
from kova_auto.core.approval.policy import Policy
from kova_auto.core.approval.tables import Box, Cell, Row, cell, reaches
from kova_auto.core.approval.taint import tainted
from kova_auto.core.ids import CallId
from kova_auto.core.message import ToolCall

_EFFECTS: dict[Row, Effect] = {
    Row.READ_INSIDE: Effect.READ,
    Row.READ_ELSEWHERE: Effect.READ,
    Row.WEB_READ: Effect.WEB_READ,
    Row.NOTE: Effect.NOTE,
    Row.MEMORY_NEAR: Effect.MEMORY,
    Row.MEMORY_GLOBAL: Effect.MEMORY,
    Row.WRITE_INSIDE: Effect.WRITE,
    Row.WRITE_ELSEWHERE: Effect.WRITE,
    Row.WRITE_GUARDED: Effect.WRITE,
    Row.COMMAND: Effect.COMMAND,
    Row.OUTWARD: Effect.OUTWARD,
    Row.CONFIGURE: Effect.CONFIGURE,
    Row.QUESTION: Effect.QUESTION,
    Row.LEAVE_PLAN: Effect.LEAVE_PLAN,
    Row.SUBAGENT: Effect.SUBAGENT,
    Row.CONTRACT: Effect.CONTRACT,
}
_CALL = ToolCall(id=CallId("1.1"), tool="any")


def asking_rows(policy: Policy) -> tuple[Row, ...]:
    """Return the rows in which some calls need a person, whatever the run has read."""
    return tuple(row for row in Row if reaches(policy.mode, _EFFECTS[row]) and _asks(row, policy))


def asking_when_tainted(policy: Policy) -> tuple[Row, ...]:
    """Return the rows in which some calls need a person once the run has read untrusted text."""
    box = Box.OPEN if policy.sandbox == "off" else Box.WORKSPACE
    facts = {row: CallFacts(_CALL, effect, tainted_by="untrusted text") for row, effect in _EFFECTS.items()}
    reached = (row for row in Row if reaches(policy.mode, _EFFECTS[row]))
    return tuple(row for row in reached if tainted(facts[row], policy, box))


def _asks(row: Row, policy: Policy) -> bool:
    match cell(policy.level, row):
        case Cell.ALLOW | Cell.DENY:
            return False
        case Cell.PERSON:
            return policy.attended or policy.questions == "suspend"
        case Cell.LISTED:
            return ANY not in policy.web
        case Cell.RULE_OR_SAFE:
            return policy.commands != "confined" or policy.sandbox == "off"
        case _:
            return True
