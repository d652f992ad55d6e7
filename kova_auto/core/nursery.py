"""The port through which a tool dispatches children, looks after them and ends them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kova_auto.core.ids import RunId
from kova_auto.core.subagents.definition import Subagent
from kova_auto.core.tool import Scene
from kova_auto.core.view import RunRow


@dataclass(frozen=True, slots=True)
class Task:
    """Hold what a model wants a subagent to do.

    Attributes:
        agent: Name of its definition.
        task: What the subagent is told.
        title: The same in a few words.
        model: `provider/model` that is to be asked; empty for the one of the definition, or the parent's.
    """

    agent: str
    task: str
    title: str = ""
    model: str = ""


class Nursery(Protocol):
    """Dispatch the children of runs, and look after them."""

    async def known(self, name: str, scene: Scene) -> Subagent:
        """Return the definition that the run means by a name.

        Raises:
            ToolError: The run may dispatch no such subagent.
        """

    async def dispatch(self, task: Task, scene: Scene) -> RunId:
        """Open the run of a child, for the call of the scene; made again for the same call, it is the same run.

        Raises:
            ToolError: It cannot be: too many run already, or the model is none.
        """

    async def stop(self, children: Sequence[RunId], reason: str) -> None:
        """Ask children to end; those that have ended, or are ending, are left alone."""

    async def found(self, run_id: RunId) -> RunRow | None:
        """Return how a child is doing; None where it was never opened."""
