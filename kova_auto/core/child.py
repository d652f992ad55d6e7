"""Hold what makes a run the child of another, and what a parent knows of each of its children."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import AwareDatetime

from kova_auto.core.ids import CallId, EndpointName, RunId
from kova_auto.core.skill_facts import UsedSkill
from kova_auto.core.value import Value

if TYPE_CHECKING:
    from kova_auto.core.child_facts import ChildFinished


class ChildOf(Value):
    """Say by whom a run was dispatched, and as what.

    Attributes:
        run_id: Its parent.
        call_id: The call of the parent that dispatched it.
        root: The first of the line, which nobody dispatched.
        depth: From 1, for a child of the root.
        agent: Name of the definition.
        title: What it is to do, in a few words.
        prompt: The definition's instructions.
        tools: That it may use.
        charged_since: What the family used before does not count against its ceilings; None where all of it counts.
        skills: That narrow its tools, as its parent had loaded them.
        notify: Endpoints of the root's `[[notify]]`: they hear where a request of the child reaches nobody.
    """

    run_id: RunId
    call_id: CallId
    root: RunId
    depth: int
    agent: str
    title: str = ""
    prompt: str
    tools: tuple[str, ...]
    charged_since: AwareDatetime | None = None
    skills: tuple[UsedSkill, ...] = ()
    notify: tuple[EndpointName, ...] = ()


@dataclass(frozen=True, slots=True)
class ChildState:
    """Hold what a parent's facts say of one child.

    Attributes:
        finished: How it ended; None while it has not.
        asked_to_end: The parent wants it to end.
        is_told: The model has been given its report.
        since_s: How long its parent had run when it dispatched it, seconds.
    """

    call_id: CallId
    run_id: RunId
    agent: str
    title: str
    finished: ChildFinished | None = None
    asked_to_end: bool = False
    is_told: bool = False
    since_s: float = 0.0
