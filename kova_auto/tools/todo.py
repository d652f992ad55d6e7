"""The `todo` tool: the run's own list of what is to be done, replaced as a whole at each call."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field, JsonValue

from kova_auto.core.approval.levels import Effect, Verdict
from kova_auto.core.message import ResultStatus, TextPart, ToolCall, ToolResult
from kova_auto.core.run import CallState
from kova_auto.core.tool import CallFacts, Scene, ToolOutput, ToolRun
from kova_auto.core.value import Value

_MAX_ITEMS = 100
_MAX_CHARS = 500
_SIGNS = {"pending": " ", "in_progress": ">", "completed": "x"}


class Item(Value):
    """Hold one thing to do."""

    subject: str = Field(min_length=1, max_length=_MAX_CHARS, description="What is to be done.")
    status: Literal["pending", "in_progress", "completed"] = "pending"
    active_form: str | None = Field(
        default=None, max_length=_MAX_CHARS, description="What is shown while it is done, as: Reading the tests."
    )


class TodoArguments(Value):
    """Hold the list."""

    items: tuple[Item, ...] = Field(
        max_length=_MAX_ITEMS, description="The whole list in its order; it replaces the one before. May be empty."
    )


class TodoTool:
    """Keep the run's list of what is to be done."""

    name = "todo"
    description = (
        "Keep a list of what this run is to do, for work of more than a few steps. Each call replaces the whole list: "
        f"send every item, done ones included, at most {_MAX_ITEMS} of at most {_MAX_CHARS} characters. Have one item "
        "in progress at a time, and mark it completed once it is."
    )
    effect = Effect.NOTE
    replay_safe = True
    polling = False
    arguments: type[BaseModel] = TodoArguments

    async def facts(self, call: ToolCall, args: TodoArguments, scene: Scene) -> CallFacts:
        """Touch nothing but the run's own notes."""
        del args, scene
        return CallFacts(call, self.effect)

    async def run(self, args: TodoArguments, scene: Scene, verdict: Verdict) -> ToolRun:
        """Replace the list."""
        del scene, verdict
        items: tuple[dict[str, JsonValue], ...] = tuple(item.model_dump(exclude_none=True) for item in args.items)
        yield ToolOutput(ToolResult(status=ResultStatus.OK, parts=(TextPart(text=_listed(args.items)),), todo=items))

    async def recover(self, call: CallState, scene: Scene) -> ToolResult | None:
        """Say nothing: the list can be replaced again."""
        del call, scene
        return None


def _listed(items: tuple[Item, ...]) -> str:
    if not items:
        return "The list is empty."
    done = sum(item.status == "completed" for item in items)
    lines = (f"[{_SIGNS[item.status]}] {item.subject}" for item in items)
    return "\n".join([f"{done} of {len(items)} completed:", *lines])
