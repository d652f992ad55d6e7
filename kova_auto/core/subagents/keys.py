"""The keys that definitions of subagents have, here and elsewhere, and what those mean that are not obeyed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final


def canonical(key: str) -> str:
    """Return a key without the marks in which systems differ: `max-turns`, `max_turns` and `maxTurns` are one."""
    return key.strip().replace("-", "").replace("_", "").lower()


KEYS: Final = (
    *("name", "description", "prompt", "tools", "disallowedTools", "allowed-tools", "permission"),
    *("model", "maxTurns", "skills", "mcpServers", "mcp"),
)
"""The keys that count."""

HARMLESS: Final[Mapping[str, tuple[object, ...]]] = {"mode": ("subagent", "all"), "permissionmode": ("default",)}
"""Values of keys that are not obeyed which say what holds anyway; false does so for every key."""

_PARENTS: Final = "a subagent may do what its parent may, and no more"
MEANT: Final[Mapping[str, str]] = {
    "permissionmode": _PARENTS,
    "hooks": "nothing is run before or after a call",
    "memory": "a subagent keeps no notes of its own",
    "knowledge": "there are no knowledge bases here; tell it in the prompt which files to read",
    "background": "every subagent works while its parent goes on",
    "effort": "how hard a model thinks is not chosen here",
    "reasoningeffort": "how hard a model thinks is not chosen here",
    "temperature": "that is left to the provider",
    "topp": "that is left to the provider",
    "isolation": "it works where its parent works",
    "initialprompt": "it begins with the task that its parent gives it",
    "steps": "write maxTurns",
    "maxsteps": "write maxTurns",
    "mode": "every definition is one of a subagent",
    "readonly": "take the tools that write out of `tools`",
    "fallbackmodels": "the models of its parent are tried in their order",
}
"""What holds instead of a key that others obey."""

PASSED_OVER: Final = frozenset(
    {
        *("color", "colour", "icon", "emoji", "avatar", "displayname", "title", "hidden", "subagent"),
        *("version", "author", "license", "category", "categories", "tags", "keywords", "metadata", "domain"),
        *("created", "updated", "lastupdated", "homepage", "repository", "source", "examples", "capabilities"),
    }
)
"""Keys that say nothing about the work."""
