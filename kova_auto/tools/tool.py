"""What every tool is: a name, a schema, one effect, and a generator that announces before it acts."""

from __future__ import annotations

from typing import Any, Protocol

from pydantic import BaseModel

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.message import ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolRun


class Tool(Protocol):
    """Do one kind of thing to the world.

    Attributes:
        name: As the model writes it.
        description: For the model: what it does, its limits, and how to read what did not fit.
        effect: The one effect it declares.
        replay_safe: A call that was cut off may simply be made again.
        polling: To be called again and again with the same arguments is what it is for.
        arguments: The arguments' model; its JSON Schema is what the model is told.
    """

    name: str
    description: str
    effect: Effect
    replay_safe: bool
    polling: bool
    arguments: type[BaseModel]

    async def facts(self, call: ToolCall, args: Any, scene: Scene) -> CallFacts:
        """Find out what a call would touch; changes nothing."""

    def run(self, args: Any, scene: Scene, verdict: Verdict) -> ToolRun:
        """Do it, ending with exactly one `ToolOutput`.

        Raises:
            ToolError: It could not be done; the toolbox turns it into a result.
        """

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say what is known of a call that was cut off; None where there is nothing to add."""
