"""Name the tools that are always there, so that a job file which names one can be checked."""

from __future__ import annotations

from typing import Final

from kova_auto.core.skill_facts import USE_SKILL
from kova_auto.core.toml.complaints import did_you_mean

MCP: Final = "mcp"
OF_SERVERS: Final = "mcp__"
"""The full names of servers' tools begin so."""
PLAN_WRITE: Final = "plan_write"
PLAN_EXIT: Final = "plan_exit"
WORK_NEEDED: Final = "ask_needs_work"
REPORT_FAILURE: Final = "report_failure"
GOAL_PROPOSE: Final = "goal_propose_criteria"
GOAL_COMPLETE: Final = "goal_complete"
GOAL_BLOCKED: Final = "goal_blocked"
TASK: Final = "Task"
TASK_WAIT: Final = "TaskWait"
TASK_LIST: Final = "TaskList"
TASK_STOP: Final = "TaskStop"
TASK_TOOLS: Final = (TASK, TASK_WAIT, TASK_LIST, TASK_STOP)
GOAL_TOOLS: Final = (GOAL_PROPOSE, GOAL_COMPLETE, GOAL_BLOCKED)

ALONE: Final = frozenset((PLAN_EXIT, WORK_NEEDED, *GOAL_TOOLS))
"""The tools whose call must be the only one of its reply: what comes of it decides how the run goes on."""

LOOKS: Final = frozenset(("read", "glob", "grep", "web_fetch", "memory_read", "memory_search"))
"""The tools that only look: what they bring does not depend on which comes first, and each may run again."""

TOOL_NAMES: Final = (
    *("read", "write", "edit", "glob", "grep"),
    *("bash", "task_output", "task_stop", "web_fetch", MCP),
    *("memory_write", "memory_read", "memory_search", USE_SKILL),
    *("todo", "question", "nothing_to_report", REPORT_FAILURE),
    *(PLAN_WRITE, PLAN_EXIT, WORK_NEEDED),
    *GOAL_TOOLS,
    *TASK_TOOLS,
)


def check_tool_name(name: str) -> str | None:
    """Return what is wrong with the name of a tool of our own that a job cannot do without, or None."""
    if name in TOOL_NAMES or name.startswith(OF_SERVERS):
        return None
    hint = did_you_mean(name, TOOL_NAMES) or f"there are {', '.join(TOOL_NAMES)}"
    return f"there is no tool {name!r}; {hint}"
