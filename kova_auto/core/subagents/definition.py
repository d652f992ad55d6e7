"""Hold what defines a subagent, whoever wrote it and in whatever form; `knowledge/subagents.py` reads the files."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, StringConstraints

from kova_auto.core.delivery.text import one_line
from kova_auto.core.value import Value

SubagentName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]

GRANTABLE: tuple[str, ...] = (
    *("bash", "read", "write", "edit", "glob", "grep"),
    *("task_output", "task_stop", "web_fetch", "use_skill", "todo"),
)
"""The tools that a definition may grant; what else a run has is its parent's alone."""


MOST_SUMMARY_CHARS: Final = 600
_EXAMPLES: Final = re.compile(r"(?:(?:for )?examples?(?: usage)?:)?\s*<example>", re.IGNORECASE)


class Layer(StrEnum):
    """Say who brought a definition."""

    BUILT_IN = "built-in"
    USER = "user"
    PLUGIN = "plugin"
    WORKSPACE = "workspace"


class Subagent(Value):
    """Hold one definition.

    Attributes:
        name: In lower case.
        description: When to use it, for the model that dispatches it.
        prompt: Its instructions; they become a passage of its system prompt.
        tools: That it may use, by our names, out of `GRANTABLE`.
        max_turns: Replies that one dispatch may have at most; None leaves that to the settings.
        model: `provider/model`; empty for its parent's.
        skills: That it is shown, by name; None for those of its parent.
        servers: MCP servers that it may use, of those that its parent may.
        path: Where it was read; empty for one that is built in.
        plugin: That brought it; empty for every other layer.
    """

    name: SubagentName
    description: str = Field(min_length=1)
    prompt: str = Field(min_length=1)
    tools: tuple[str, ...]
    max_turns: int | None = Field(default=None, ge=1)
    model: str = ""
    skills: tuple[str, ...] | None = None
    servers: tuple[str, ...] = ()
    layer: Layer = Layer.BUILT_IN
    path: str = ""
    plugin: str = ""

    @property
    def address(self) -> str:
        """Return the name that means this one alone, as `workspace:explorer`, whatever else has its name."""
        return f"{self.plugin or self.layer}:{self.name}"

    @property
    def summary(self) -> str:
        """Return its description as one clean line, without the examples that many bring along."""
        text = _EXAMPLES.split(self.description, maxsplit=1)[0].strip() or self.description
        return one_line(text, MOST_SUMMARY_CHARS)
