"""Read the servers of a file in the form that all clients of MCP share: `{"mcpServers": {name: {…}}}`.

What is wrong with one server is said with its place, and the others count all the same. What only the user may say is
not heeded in the file of a plugin or a workspace. Nothing is looked up or started here.

Source: reference on models, section 4.2.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue

from kova_auto.core.errors import ConfigError
from kova_auto.core.json_text import read_object
from kova_auto.core.mcp.entry import Entry, server_of
from kova_auto.core.mcp.foreign import OF_FILES
from kova_auto.core.mcp.names import SERVER_FORM, is_server_name
from kova_auto.core.mcp.roster import Broken, Shelf
from kova_auto.core.mcp.server import MAX_SERVERS, Layer, Server
from kova_auto.core.toml.complaints import did_you_mean

TABLE: Final = "mcpServers"
_SHOWN = 60
_PLAIN = re.compile(r"[A-Za-z0-9_.$-]+")
_NOTHING_COUNTS = "nothing of this file counts"


def parse_servers(text: str, path: str, layer: Layer, plugin: str = "") -> Shelf:
    """Read a file; never raises.

    Args:
        text: JSON; blank means that it configures nothing.
        path: For messages.
        layer: Who wrote it.
        plugin: That brought it, if one did.
    """
    doubled: list[str] = []
    try:
        content = _content(text, path, doubled)
        entries = _servers(content, path)
    except ConfigError as exc:
        return Shelf(layer, path, plugin, problems=(exc,), is_unread=True)
    problems = [_problem(path, shown(key), "stands there more than once, and the last one counts") for key in doubled]
    problems += [_unknown(path, key) for key in content if key not in (TABLE, "$schema")]
    if len(entries) > MAX_SERVERS:
        problems.append(_problem(path, TABLE, f"holds {len(entries)} servers, of which the first {MAX_SERVERS} count"))
    servers: list[Server] = []
    broken: list[Broken] = []
    for name, value in list(entries.items())[:MAX_SERVERS]:
        entry = Entry(name, path, layer, plugin)
        try:
            servers.append(_read(entry, value))
        except ConfigError as exc:
            broken.append(Broken(name, exc))
        problems += entry.warnings
    return Shelf(layer, path, plugin, tuple(servers), tuple(broken), tuple(problems))


def shown(key: str) -> str:
    """Return a key as it is named in messages."""
    text = key if _PLAIN.fullmatch(key) else ascii(key)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _read(entry: Entry, value: JsonValue) -> Server:
    if not is_server_name(entry.name):
        message = f"wanted {SERVER_FORM}"
        raise _problem(entry.path, f"{TABLE}.{shown(entry.name)}", message)
    return server_of(entry, value)


def _content(text: str, path: str, doubled: list[str]) -> Mapping[str, JsonValue]:
    """Return the object that a text holds.

    Raises:
        ConfigError: It holds none.
    """

    def pairs(found: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        doubled.extend(name for name, count in Counter(name for name, _ in found).items() if count > 1)
        return dict(found)

    if not text.strip():
        return {}
    wanted = f'wanted an object {{"{TABLE}": {{…}}}}'
    return read_object(text, path, wanted=wanted, hint=_NOTHING_COUNTS, pairs=pairs)


def _servers(content: Mapping[str, JsonValue], path: str) -> Mapping[str, JsonValue]:
    entries = content.get(TABLE, {})
    if not isinstance(entries, dict):
        message = "wanted an object with a server for each name"
        raise ConfigError(message, path=path, key=TABLE, hint=_NOTHING_COUNTS)
    return entries


def _unknown(path: str, key: str) -> ConfigError:
    if instead := OF_FILES.get(key):
        return _problem(path, key, "means nothing here", instead)
    hint = did_you_mean(key[:_SHOWN], (TABLE,)) or f"servers stand in {TABLE}"
    return _problem(path, shown(key), "this key is not known, and means nothing", hint)


def _problem(path: str, key: str, message: str, hint: str = "") -> ConfigError:
    return ConfigError(message, path=path, key=key, hint=hint)
