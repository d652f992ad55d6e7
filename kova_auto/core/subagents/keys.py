"""The keys that definitions of subagents have, here and elsewhere, and what those mean that are not obeyed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kova_auto.core.delivery.text import one_line

_ALIKE: Final[Mapping[str, str]] = dict.fromkeys(("steps", "maxsteps"), "maxturns")
"""What OpenCode calls a key of ours."""


def canonical(key: str) -> str:
    """Return a key without the marks in which systems differ: `max-turns`, `max_turns` and `maxTurns` are one."""
    plain = key.strip().replace("-", "").replace("_", "").lower()
    return _ALIKE.get(plain, plain)


_LOGIC: Final[Mapping[object, bool]] = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
}


def logic(value: object) -> object:
    """Return what a word of logic means; anything else as it is."""
    return _LOGIC.get(value.strip().lower(), value) if isinstance(value, str) else value


KEYS: Final = (
    *("name", "description", "prompt", "tools", "disallowedTools", "allowed-tools", "permission"),
    *("model", "maxTurns", "skills", "mcpServers", "mcp", "readonly"),
)
"""The keys that count."""

PLAN: Final = "plan"
"""The permission mode that only reads; all others would permit more."""

HARMLESS: Final[Mapping[str, tuple[object, ...]]] = {
    "mode": ("subagent", "all"),
    "permissionmode": ("default",),
    "memory": ("none",),
    "kind": ("local",),
}
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
    "mode": "every definition is one of a subagent",
    "kind": "every definition is one of a subagent that works here",
    "timeoutmins": "it has as much time as its parent has left; maxTurns bounds its replies",
    "isbackground": "every subagent works while its parent goes on",
    "approvalmode": _PARENTS,
    "fallbackmodels": "the models of its parent are tried in their order",
}
"""What holds instead of a key that others obey."""

PASSED_OVER: Final = frozenset(
    {
        *("color", "colour", "icon", "emoji", "avatar", "displayname", "title", "hidden", "subagent"),
        *("version", "author", "license", "category", "categories", "tags", "keywords", "metadata", "domain"),
        *("created", "updated", "lastupdated", "homepage", "repository", "source", "examples", "capabilities"),
        *("argumenthint", "target"),
    }
)
"""Keys that say nothing about the work."""


def shown(value: object) -> str:
    """Return what a key has, in a few words."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case str():
            return f"`{one_line(value, 60)}`"
        case int():
            return str(value)
        case list():
            return "a list"
        case _:
            return "a mapping"
