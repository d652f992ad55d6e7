"""Read one server of a file, key by key; each complaint names its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import JsonValue, ValidationError

from kova_auto.core.errors import ConfigError
from kova_auto.core.mcp.foreign import CHOSEN, NOT_OBEYED, PASSED_OVER, RENAMED, SWITCHED_OFF, is_written_out
from kova_auto.core.mcp.server import MAX_RESULT_BYTES, MAX_TOOLS, Given, Layer, Server
from kova_auto.core.secret import SecretRef
from kova_auto.core.toml.complaints import REFERENCE_FORMS, did_you_mean

_LOCAL, _REMOTE = ("command", "args", "env", "cwd"), ("url", "headers", "allow_private")
_USERS: Final = ("approveTools", "trustReadOnlyHint", "allow_private")
_KNOWN: Final = (
    *("type", *_LOCAL, *_REMOTE, "description", "disabled", "approveTools", "trustReadOnlyHint"),
    *("timeout", "tool_timeout", "max_result_bytes", "max_tools"),
    *("enabled", *SWITCHED_OFF, *CHOSEN),
)
_STDIO, _HTTP = ("stdio", "local"), ("http", "streamable-http", "streamableHttp", "streamable_http", "remote")
_MOST_ITEMS, _LONGEST = 128, 8_192
_DESCRIPTION = 200
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_OURS = frozenset(
    {"host", "content-length", "content-type", "accept", "connection", "transfer-encoding", "mcp-session-id"}
)
_KINDS: Mapping[type, str] = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}


@dataclass(frozen=True, slots=True)
class Entry:
    """Say where a server stands, and collect what of it means nothing."""

    name: str
    path: str
    layer: Layer
    plugin: str = ""
    warnings: list[ConfigError] = field(default_factory=list)

    def problem(self, key: str, message: str, hint: str = "") -> ConfigError:
        """Return a complaint about one of its keys."""
        place = f"mcpServers.{self.name}.{key}" if key else f"mcpServers.{self.name}"
        return ConfigError(message, path=self.path, key=place, hint=hint)


def server_of(entry: Entry, value: JsonValue) -> Server:
    """Return the server.

    Raises:
        ConfigError: It could not be started as it stands there.
    """
    if not isinstance(value, dict):
        raise entry.problem(key="", message=f"wanted an object, found {_kind(value)}")
    entry.warnings.extend(found for key in value if (found := _unheeded(entry, key)))
    own = {key: found for key, found in value.items() if entry.layer is Layer.USER or key not in _USERS}
    _check_kind(entry, own)
    return Server(
        name=entry.name,
        layer=entry.layer,
        plugin=entry.plugin,
        path=entry.path,
        description=" ".join(_text(entry, own, "description").split())[:_DESCRIPTION],
        command=_text(entry, own, "command"),
        args=_texts(entry, own, "args"),
        env=_given(entry, own, "env", _VARIABLE),
        cwd=_text(entry, own, "cwd"),
        url=_text(entry, own, "url"),
        headers=_given(entry, own, "headers", _HEADER),
        timeout_s=_number(entry, own, "timeout", 10, (0.1, 600), "seconds"),
        tool_timeout_s=_number(entry, own, "tool_timeout", 120, (0.1, 3600), "seconds"),
        max_result_bytes=int(
            _number(entry, own, "max_result_bytes", MAX_RESULT_BYTES, (1024, 4 * MAX_RESULT_BYTES), "bytes")
        ),
        max_tools=int(_number(entry, own, "max_tools", MAX_TOOLS, (1, 1000), "tools")),
        approve_tools=_texts(entry, own, "approveTools"),
        trust_read_only_hint=_flag(entry, own, "trustReadOnlyHint"),
        allow_private=_flag(entry, own, "allow_private"),
        disabled=_flag(entry, own, "disabled") or not _flag(entry, own, "enabled", default=True),
        only_tools=tuple(pattern for key in CHOSEN for pattern in _texts(entry, own, key)),
        without_tools=tuple(pattern for key in SWITCHED_OFF for pattern in _texts(entry, own, key)),
    )


def _unheeded(entry: Entry, key: str) -> ConfigError | None:
    """Return why a key means nothing here, and what to write; None where it means something, or nothing is lost."""
    if key in _USERS and entry.layer is not Layer.USER:
        return entry.problem(key, "counts in the user's own file alone, and means nothing here")
    if key in _KNOWN or key in PASSED_OVER or key in RENAMED:
        return None
    if instead := NOT_OBEYED.get(key):
        return entry.problem(key, "means nothing here", instead)
    return entry.problem(key[:_DESCRIPTION], "this key is not known, and means nothing", did_you_mean(key, _KNOWN))


def _check_kind(entry: Entry, value: Mapping[str, JsonValue]) -> None:
    """Say what is wrong with how a server is reached.

    Raises:
        ConfigError: That is not said, said twice, or nothing that is done here.
    """
    if named := next((key for key in RENAMED if key in value and RENAMED[key] not in value), None):
        raise entry.problem(named, f"is called {RENAMED[named]} here")
    kind = value.get("type", "http" if "url" in value else "stdio")
    if kind == "sse":
        hint = 'MCP has put streamable HTTP in its place: write "http" where the server speaks it'
        raise entry.problem(key="type", message="the transport sse is not spoken here", hint=hint)
    if kind not in (*_STDIO, *_HTTP):
        raise entry.problem(key="type", message=f'wanted "stdio" or "http", found {_shown(kind)}')
    needed, others, other = ("command", _REMOTE, "http") if kind in _STDIO else ("url", _LOCAL, "stdio")
    if wrong := next((key for key in others if key in value), None):
        raise entry.problem(wrong, f"is for a server of the type {other}; this one is of the type {kind}")
    if not _text(entry, value, needed):
        raise entry.problem(needed, "wanted " + ("a program to start" if kind in _STDIO else "an address"))
    command = str(value.get("command", ""))
    if "/" in command and not command.startswith(("/", "~/", "${")) and entry.layer is Layer.USER:
        hint = "write the whole path, or the name of a program on PATH"
        raise entry.problem(
            key="command", message="a relative path would start what lies in whichever workspace", hint=hint
        )


def _text(entry: Entry, value: Mapping[str, JsonValue], key: str) -> str:
    found = value.get(key, "")
    if not isinstance(found, str):
        raise entry.problem(key, f"wanted a text, found {_kind(found)}")
    return _sound(entry, key, found)


def _sound(entry: Entry, key: str, text: str) -> str:
    if "\0" in text or len(text) > _LONGEST:
        raise entry.problem(key, f"wanted a text of at most {_LONGEST} characters without NUL")
    return text


def _texts(entry: Entry, value: Mapping[str, JsonValue], key: str) -> tuple[str, ...]:
    found = value.get(key, [])
    if not isinstance(found, list) or len(found) > _MOST_ITEMS:
        raise entry.problem(key, f"wanted a list of at most {_MOST_ITEMS} texts, found {_kind(found)}")
    for at, item in enumerate(found):
        if not isinstance(item, str):
            raise entry.problem(key=f"{key}[{at}]", message=f"wanted a text, found {_kind(item)}")
    return tuple(_sound(entry, key, item) for item in found if isinstance(item, str))


def _given(entry: Entry, value: Mapping[str, JsonValue], key: str, form: re.Pattern[str]) -> dict[str, Given]:
    found = value.get(key, {})
    if not isinstance(found, dict) or len(found) > _MOST_ITEMS:
        raise entry.problem(key, f"wanted an object with a text for each name, found {_kind(found)}")
    given: dict[str, Given] = {}
    for name, item in found.items():
        place = f"{key}.{name[:_DESCRIPTION]}"
        if not form.fullmatch(name) or name.lower() in _OURS:
            raise entry.problem(place, "cannot be given under this name")
        given[name] = _sound(entry, place, item) if isinstance(item, str) else _reference(entry, place, item)
        if isinstance(item, str) and is_written_out(name, item):
            entry.warnings.append(_written_out(entry, place, name))
        if form is _HEADER and isinstance(item, str) and not (item.isascii() and item.isprintable()):
            raise entry.problem(place, "wanted printable ASCII")
    return given


def _written_out(entry: Entry, place: str, name: str) -> ConfigError:
    """Return that a secret stands in a file as it is. It is heeded all the same, and taken out of what is written."""
    instead = "write ${NAME} in its place"
    if place.startswith("env."):
        instead = f'write {{ "env": "{name}" }}, or another place where it is'
    if entry.layer is not Layer.USER:
        instead = f"name {name} in [env] of the job, and write ${{{name}}} here"
    return entry.problem(place, "a secret seems to be written out here", instead)


def _reference(entry: Entry, place: str, value: JsonValue) -> SecretRef:
    """Return where a secret is. In a file that others wrote, it could be any of the user's.

    Raises:
        ConfigError: It is no such thing, or not for this file to say.
    """
    if not isinstance(value, dict):
        raise entry.problem(place, f"wanted a text, or where a secret is, found {_kind(value)}", REFERENCE_FORMS)
    if entry.layer is not Layer.USER:
        hint = "name it in [env] of the job and write ${NAME} here"
        raise entry.problem(place, "only the user's own file says where a secret is", hint)
    try:
        return SecretRef.model_validate(value)
    except ValidationError as exc:
        raise entry.problem(place, "wanted a text, or where a secret is", REFERENCE_FORMS) from exc


def _number(
    entry: Entry,
    value: Mapping[str, JsonValue],
    key: str,
    default: float,
    bounds: tuple[float, float],
    unit: str,
) -> float:
    found = value.get(key, default)
    least, most = bounds
    if isinstance(found, bool) or not isinstance(found, int | float) or not least <= found <= most:
        is_milli = unit == "seconds" and isinstance(found, int) and least <= found / 1000 <= most
        hint = f"seconds, not milliseconds: {found / 1000:g}" if is_milli and isinstance(found, int) else ""
        raise entry.problem(key, f"wanted {unit}, from {least:g} to {most:g}, found {_shown(found)}", hint)
    return float(found)


def _flag(entry: Entry, value: Mapping[str, JsonValue], key: str, *, default: bool = False) -> bool:
    found = value.get(key, default)
    if not isinstance(found, bool):
        raise entry.problem(key, f"wanted true or false, found {_shown(found)}")
    return found


def _kind(value: Any) -> str:  # noqa: ANN401  # whatever JSON holds
    return "nothing" if value is None else _KINDS.get(type(value), "a number")


def _shown(value: JsonValue) -> str:
    return ascii(value)[:60] if isinstance(value, str | int | float) else _kind(value)
