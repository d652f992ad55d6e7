"""Name the commands: which module holds each, and its line in the help. No module is imported before it is needed.

A new command is one line here and a module with `app`, made by `new_app`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

BEGIN, SERVICE, LOOK = "Begin", "Run", "Look and act"


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one command.

    Attributes:
        module: Has `app`: one function makes a plain command, several make a group.
        help: One line; the command's own help says the rest.
        section: Heading under which the help lists it.
    """

    name: str
    module: str
    help: str
    section: str


COMMANDS: Final = (
    Entry("init", "kova_auto.cli.init", "Write settings and a first job that runs as it is", BEGIN),
    Entry("run", "kova_auto.cli.run", "Run a job once, now, and show what it does", SERVICE),
    Entry("serve", "kova_auto.cli.serve", "Be the service: schedule, runs, deliveries", SERVICE),
    Entry("jobs", "kova_auto.cli.jobs", "List, show, check and preview the jobs; write new ones", LOOK),
    Entry("runs", "kova_auto.cli.runs", "List and follow runs; show, export, undo, apply, cancel, retry one", LOOK),
    Entry("explain", "kova_auto.cli.explain", "Explain what would happen to a tool call of a job", LOOK),
    Entry("approvals", "kova_auto.cli.approvals", "List and answer the calls that wait for a person", LOOK),
    Entry("questions", "kova_auto.cli.questions", "List and answer what a model asks a person", LOOK),
    Entry("rules", "kova_auto.cli.rules", "List, add and forget what is allowed for good; try rules out", LOOK),
    Entry("memory", "kova_auto.cli.memory", "List, search, edit, forget and restore the notes that runs keep", LOOK),
    Entry("agents", "kova_auto.cli.agents", "List, show and check the definitions of subagents", LOOK),
    Entry("mcp", "kova_auto.cli.mcp", "List and check the MCP servers that runs may use", LOOK),
    Entry("skills", "kova_auto.cli.skills", "List, show and check the skills that runs may load", LOOK),
    Entry("deliveries", "kova_auto.cli.deliveries", "List and show what endpoints are owed; try again", LOOK),
    Entry("usage", "kova_auto.cli.usage", "Show what models have used, and what it cost", LOOK),
    Entry("models", "kova_auto.cli.models", "List models; add the weights of a small one for trying out", LOOK),
    Entry("hooks", "kova_auto.cli.hooks", "List requests that start jobs; show where they go; send a test", LOOK),
    Entry("endpoints", "kova_auto.cli.endpoints", "List endpoints; test and enable one; replace a secret", LOOK),
    Entry("doctor", "kova_auto.cli.doctor", "Say what is not as it must be, and what to do", LOOK),
)

QUICK: Final = {("jobs", "next"): "kova_auto.cli.job_next"}
"""Commands of a group that have a module with `app` of their own, so that the others' need not be imported for them."""
