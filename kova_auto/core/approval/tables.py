"""Hold the mode table and the level table as data; complete, so that a missing cell cannot be a permission.

Attended and unattended levels share spellings and, as strings, compare equal: they are told apart by their type only.

Source: design, section 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from kova_auto.core.approval.levels import ApprovalLevel, AutomationLevel, Effect, Mode

Level = ApprovalLevel | AutomationLevel


class Reach(StrEnum):
    """Say whether a mode has an effect at all."""

    NO = "no"
    READING = "reading"  # only in a form that is proven to change nothing
    YES = "yes"


class Row(StrEnum):
    """Name a row of the level table: an effect, and where it falls."""

    READ_INSIDE = "read_inside"
    READ_ELSEWHERE = "read_elsewhere"
    WEB_READ = "web_read"
    NOTE = "note"
    MEMORY_NEAR = "memory_near"  # the workspace's and the job's
    MEMORY_GLOBAL = "memory_global"
    WRITE_INSIDE = "write_inside"
    WRITE_ELSEWHERE = "write_elsewhere"
    WRITE_GUARDED = "write_guarded"  # control files that a person at hand may let through
    COMMAND = "command"
    OUTWARD = "outward"
    CONFIGURE = "configure"
    QUESTION = "question"
    LEAVE_PLAN = "leave_plan"  # a person lets a plan be carried out, whatever the level
    SUBAGENT = "subagent"  # the child is bound by its parent's policy
    CONTRACT = "contract"  # a person at hand agrees by what a goal is judged, whatever the level


class Cell(StrEnum):
    """Say what a level does with a row."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
    LISTED = "listed"  # allow the hosts that the job lists, else ask
    RULE = "rule"  # allow where a rule matches, else ask
    RULE_OR_SAFE = "rule_or_safe"  # the same, and the commands that only read
    OWN_OR_SAFE = "own_or_safe"  # the same, but of the rules only the job's own
    EXEMPT = "exempt"  # allow the tools that are exempt, else ask
    OWN_EXEMPT = "own_exempt"  # the same, but of the exemptions only the job's own
    PERSON = "person"  # a person answers; unattended the job says what happens


class Box(StrEnum):
    """Say how a command is confined, the strictest first."""

    READING = "reading"
    WORKSPACE = "workspace"
    OPEN = "open"


_ALL = (Reach.YES, Reach.YES, Reach.YES, Reach.YES)
_CHANGING = (Reach.YES, Reach.YES, Reach.NO, Reach.NO)
_READING_IN_PLAN = (Reach.YES, Reach.YES, Reach.READING, Reach.NO)

_MODE_COLUMNS = (Mode.AGENT, Mode.GOAL, Mode.PLAN, Mode.ASK)
_MODE_ROWS: Mapping[Effect, tuple[Reach, Reach, Reach, Reach]] = {
    Effect.READ: _ALL,
    Effect.WEB_READ: _ALL,
    Effect.NOTE: _ALL,
    Effect.QUESTION: _ALL,
    Effect.COMMAND: _READING_IN_PLAN,
    Effect.SUBAGENT: _READING_IN_PLAN,
    Effect.WRITE: _CHANGING,
    Effect.MEMORY: _CHANGING,
    Effect.CONFIGURE: _CHANGING,
    Effect.OUTWARD: _CHANGING,
    Effect.GOAL: (Reach.NO, Reach.YES, Reach.NO, Reach.NO),
    Effect.CONTRACT: (Reach.NO, Reach.YES, Reach.NO, Reach.NO),
    Effect.PLAN: (Reach.NO, Reach.NO, Reach.YES, Reach.NO),
    Effect.LEAVE_PLAN: (Reach.NO, Reach.NO, Reach.YES, Reach.NO),
    Effect.WORK_NEEDED: (Reach.NO, Reach.NO, Reach.NO, Reach.YES),
}

MODES: Mapping[Mode, Mapping[Effect, Reach]] = {
    mode: {effect: cells[column] for effect, cells in _MODE_ROWS.items()} for column, mode in enumerate(_MODE_COLUMNS)
}

_ALLOW, _ASK, _DENY = Cell.ALLOW, Cell.ASK, Cell.DENY
_FREE = (_ALLOW, _ALLOW, _ALLOW, _ALLOW)

# Attended: ask, workspace-write, auto-edit, auto.
_ATTENDED_ROWS: Mapping[Row, tuple[Cell, Cell, Cell, Cell]] = {
    Row.READ_INSIDE: _FREE,
    Row.READ_ELSEWHERE: _FREE,
    Row.WEB_READ: _FREE,
    Row.NOTE: _FREE,
    Row.MEMORY_NEAR: (_ASK, _ALLOW, _ALLOW, _ALLOW),
    Row.MEMORY_GLOBAL: (_ASK, _ASK, _ALLOW, _ALLOW),
    Row.WRITE_INSIDE: (_ASK, _ALLOW, _ALLOW, _ALLOW),
    Row.WRITE_ELSEWHERE: (_ASK, _ASK, _ALLOW, _ALLOW),
    Row.WRITE_GUARDED: (_ASK, _ASK, _ASK, _ASK),
    Row.COMMAND: (_ASK, Cell.RULE, Cell.RULE, _ALLOW),
    Row.OUTWARD: (_ASK, Cell.EXEMPT, Cell.EXEMPT, _ALLOW),
    Row.CONFIGURE: (_ASK, _ASK, _ASK, _ALLOW),
    Row.QUESTION: (Cell.PERSON, Cell.PERSON, Cell.PERSON, Cell.PERSON),
    Row.LEAVE_PLAN: (_ASK, _ASK, _ASK, _ASK),
    Row.SUBAGENT: _FREE,
    Row.CONTRACT: (_ASK, _ASK, _ASK, _ASK),
}

# Unattended: read-only, workspace-write, full.
_UNATTENDED_ROWS: Mapping[Row, tuple[Cell, Cell, Cell]] = {
    Row.READ_INSIDE: (_ALLOW, _ALLOW, _ALLOW),
    Row.READ_ELSEWHERE: (_ASK, _ASK, _ALLOW),
    Row.WEB_READ: (Cell.LISTED, Cell.LISTED, _ALLOW),
    Row.NOTE: (_ALLOW, _ALLOW, _ALLOW),
    Row.MEMORY_NEAR: (_ASK, _ALLOW, _ALLOW),
    Row.MEMORY_GLOBAL: (_ASK, _ASK, _ALLOW),
    Row.WRITE_INSIDE: (_ASK, _ALLOW, _ALLOW),
    Row.WRITE_ELSEWHERE: (_ASK, _ASK, _ALLOW),
    Row.WRITE_GUARDED: (_DENY, _DENY, _DENY),
    Row.COMMAND: (Cell.OWN_OR_SAFE, Cell.RULE_OR_SAFE, _ALLOW),
    Row.OUTWARD: (Cell.OWN_EXEMPT, Cell.EXEMPT, _ALLOW),
    Row.CONFIGURE: (_ASK, _ASK, _ALLOW),
    Row.QUESTION: (Cell.PERSON, Cell.PERSON, Cell.PERSON),
    Row.LEAVE_PLAN: (_ASK, _ASK, _ASK),
    Row.SUBAGENT: (_ALLOW, _ALLOW, _ALLOW),
    Row.CONTRACT: (_ALLOW, _ALLOW, _ALLOW),
}

ATTENDED: Mapping[ApprovalLevel, Mapping[Row, Cell]] = {
    level: {row: cells[column] for row, cells in _ATTENDED_ROWS.items()} for column, level in enumerate(ApprovalLevel)
}
UNATTENDED: Mapping[AutomationLevel, Mapping[Row, Cell]] = {
    level: {row: cells[column] for row, cells in _UNATTENDED_ROWS.items()}
    for column, level in enumerate(AutomationLevel)
}


def reach(mode: Mode, effect: Effect) -> Reach:
    """Return how far a mode has an effect; what the table does not know is not reached."""
    return MODES.get(mode, {}).get(effect, Reach.NO)


def reaches(mode: Mode, effect: Effect) -> bool:
    """Say whether a mode has an effect at all: whether its tools are offered."""
    return reach(mode, effect) is not Reach.NO


def cell(level: Level, row: Row) -> Cell:
    """Return what a level does with a row; an unknown level denies."""
    if isinstance(level, ApprovalLevel):
        return ATTENDED[level].get(row, Cell.DENY)
    if isinstance(level, AutomationLevel):
        return UNATTENDED[level].get(row, Cell.DENY)
    return Cell.DENY


def boxes(level: Level) -> tuple[Box, ...]:
    """Return the confinements in which a level may run a command, the widest first.

    A looser level falls back to the stricter box where only that one is proven.
    """
    return (Box.READING,) if level is AutomationLevel.READ_ONLY else (Box.WORKSPACE, Box.READING)
