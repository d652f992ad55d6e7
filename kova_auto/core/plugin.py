"""Understand the manifest of a plugin: a folder of skills, subagents and MCP servers, of which nothing runs here.

Source: reference on the original, 9; the manifest is the one that Claude Code shares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.text import one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.json_text import read_object
from kova_auto.core.subagents.definition import Layer
from kova_auto.core.toml.complaints import did_you_mean

MOST_POINTERS: Final = 64
"""So many places one key of a manifest may name."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_POINTERS: Final = ("skills", "agents", "mcpServers")
_KNOWN: Final = ("name", "version", "description", *_POINTERS)
_NOTHING_COUNTS: Final = "nothing of this plugin counts"
_PASSED_OVER: Final = frozenset(
    {"$schema", "author", "homepage", "repository", "license", "keywords", "displayName", "category", "tags"}
)
NEVER: Final[Mapping[str, str]] = {
    "commands": "commands are for a person's session",
    "hooks": "nothing is run before or after a call",
    "lspServers": "there are no language servers here",
    "outputStyles": "they are for a person's session",
    "dependencies": "no plugin is fetched; enable each by itself",
}
"""What plugins bring besides, and why it is not used."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Hold what a manifest says.

    Attributes:
        skills: Places of folders of skills, relative, as they are written.
        agents: Places of folders and files of subagents.
        servers: Places of files that configure MCP servers.
        problems: What it says and does not mean here.
    """

    name: str
    version: str = ""
    description: str = ""
    skills: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    problems: tuple[ConfigError, ...] = ()


def parse_manifest(text: str, path: str) -> Manifest:
    """Return what a manifest says.

    Raises:
        ConfigError: It is none, or has no name that can be used.
    """
    content = read_object(text, path, wanted="wanted an object with a name", hint=_NOTHING_COUNTS)
    problems: list[ConfigError] = []
    places = {key: tuple(_places(content.get(key), key, path, problems)) for key in _POINTERS}
    problems += _unused(content, path)
    return Manifest(
        name=_name(content, path),
        version=_text(content, "version", path, problems),
        description=_text(content, "description", path, problems),
        skills=places["skills"],
        agents=places["agents"],
        servers=places["mcpServers"],
        problems=tuple(problems),
    )


def _name(content: Mapping[str, JsonValue], path: str) -> str:
    name = content.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        found = f"`{one_line(name, 60)}`" if isinstance(name, str) else "none"
        message = f"wanted a name of small letters, digits, - and _, found {found}"
        raise ConfigError(message, path=path, key="name", hint=_NOTHING_COUNTS)
    if name in set(Layer):
        message = f"{name} cannot be the name of a plugin: it names a layer"
        raise ConfigError(message, path=path, key="name", hint=_NOTHING_COUNTS)
    return name


def _text(content: Mapping[str, JsonValue], key: str, path: str, problems: list[ConfigError]) -> str:
    value = content.get(key)
    if value is None or isinstance(value, str):
        return one_line(value or "", 500)
    problems.append(ConfigError("wanted text, found something else: it is passed over", path=path, key=key))
    return ""


def _places(value: JsonValue, key: str, path: str, problems: list[ConfigError]) -> Iterator[str]:
    """Yield the places that a key names; whether they lie in the plugin is seen where they are looked up."""
    entries = value if isinstance(value, list) else [] if value is None else [value]
    if len(entries) > MOST_POINTERS:
        message = f"wanted at most {MOST_POINTERS} places, found {len(entries)}: the first count"
        problems.append(ConfigError(message, path=path, key=key))
    for entry in entries[:MOST_POINTERS]:
        if isinstance(entry, str):
            yield entry
        elif isinstance(entry, dict) and key == "mcpServers":
            message = "servers that stand in the manifest are not started: write them into .mcp.json"
            problems.append(ConfigError(message, path=path, key=key))
        else:
            message = "wanted places in the plugin, found something else: it is passed over"
            problems.append(ConfigError(message, path=path, key=key))


def _unused(content: Mapping[str, JsonValue], path: str) -> Iterator[ConfigError]:
    for key, value in content.items():
        if key in _KNOWN or key in _PASSED_OVER or value in (None, [], {}):
            continue
        shown = one_line(key, 40)
        if why := NEVER.get(key):
            yield ConfigError(f"is not used: {why}", path=path, key=shown)
        else:
            hint = did_you_mean(shown, _KNOWN)
            message = "this key is not known, and means nothing"
            yield ConfigError(message, path=path, key=shown, hint=hint if hint.startswith("did") else "")
