"""The closed sets that adjudication speaks of: modes, levels, effects, rulings."""

from __future__ import annotations

from enum import StrEnum

from kova_auto.core.value import Value


class Mode(StrEnum):
    """Say whether a session may change things; approval cannot lift it."""

    AGENT = "agent"
    PLAN = "plan"
    ASK = "ask"
    GOAL = "goal"


class ApprovalLevel(StrEnum):
    """Say whether an attended run must ask; exactly these four."""

    ASK = "ask"
    WORKSPACE_WRITE = "workspace-write"
    AUTO_EDIT = "auto-edit"
    AUTO = "auto"


class AutomationLevel(StrEnum):
    """Say what an unattended run may do; never one of the attended levels."""

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    FULL = "full"


class Effect(StrEnum):
    """Say what kind of thing a tool does to the world; a tool declares exactly one."""

    READ = "read"  # files and searches
    WEB_READ = "web_read"  # GET of a public address
    NOTE = "note"  # own notes: todo, plan file, how the run ends
    MEMORY = "memory"  # what outlives the session
    WRITE = "write"  # files
    COMMAND = "command"
    OUTWARD = "outward"  # writes to the web, MCP calls that change things
    CONFIGURE = "configure"  # subagents, skills
    QUESTION = "question"  # asks a person
    SUBAGENT = "subagent"
    GOAL = "goal"  # tools of goal mode only
    CONTRACT = "contract"  # proposes by what a goal is judged
    PLAN = "plan"  # tools of plan mode only
    LEAVE_PLAN = "leave_plan"  # asks that the plan be carried out
    WORK_NEEDED = "work_needed"  # the tool of ask mode only


class Ruling(StrEnum):
    """Say what may happen to a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Decision(StrEnum):
    """Say what a person answered."""

    DENY = "deny"
    ONCE = "once"
    REMEMBER = "remember"


class Verdict(Value):
    """Hold a ruling, why, and the rule that decided.

    Attributes:
        reason: A sentence for the model and for a person: what is not allowed and what still is.
        rule: The stable name of the rule that decided, as `floor.control_path` or `level.read-only.write_inside`.
        confinement: How a command must be confined: `reading`, `workspace` or `open`; empty for other effects.
        policy_hash: Of the policy that was in force.
        question: The call itself asks a person something: an answer is what it wants, not leave to act.
    """

    ruling: Ruling
    reason: str
    rule: str
    confinement: str = ""
    policy_hash: str = ""
    question: bool = False
