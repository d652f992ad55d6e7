"""Read a permissions document: standing decisions that a person wrote down, or this machine remembered, as JSON.

What is wrong with a part of it is said with its place, and the rest counts all the same. Whether a document is
effective or only proposes, and what a directory's text means, is decided by who reads the file.

Source: reference on the original, sections 4.4 and 11.4.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NoReturn

from pydantic import JsonValue

from kova_auto.core.approval.rules import check_rule
from kova_auto.core.consent import Standing
from kova_auto.core.errors import ConfigError
from kova_auto.core.toml.complaints import did_you_mean

LISTS: Mapping[str, str] = {"writeRoots": "write_roots", "allowCommands": "commands", "allowMcpTools": "tools"}
"""The document's lists, each with the name of what it fills in a `Standing`."""
LONGEST = 64
"""So many entries of one list count."""

NOTHING = Standing()

_SHOWN = 80
_NAMED = 8
_TOOL = re.compile(r"[A-Za-z0-9_.:/@-]{1,256}")
_KINDS: Mapping[type, str] = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}


@dataclass(frozen=True, slots=True)
class Document:
    """Hold what was read.

    Attributes:
        path: The file, as it is shown.
        content: The whole object, what nobody knows included; None where the text is no object.
        standing: What counts; directories as they are written.
        problems: What does not count, and why.
    """

    path: str
    content: Mapping[str, JsonValue] | None
    standing: Standing = NOTHING
    problems: tuple[ConfigError, ...] = ()


def parse_permissions(text: str, path: str, *, known: Collection[str] = ()) -> Document:
    """Read a document; never raises.

    Args:
        text: JSON; blank means an empty object.
        path: For messages.
        known: Further keys that mean something to who reads.
    """
    doubled: list[str] = []
    try:
        content = _object(text, path, doubled)
    except ConfigError as exc:
        return Document(path, None, problems=(exc,))
    problems = [
        _problem(path, _key(key), "stands there more than once, and the last one counts") for key in doubled[:_NAMED]
    ]
    problems += _unknown(path, [key for key in content if key not in LISTS and key not in known])
    said: dict[str, tuple[str, ...]] = {}
    for name, field in LISTS.items():
        counted, wrong = _entries(content.get(name), name, path)
        said[field] = counted
        problems += wrong
    return Document(path, content, Standing(**said), tuple(problems))


@dataclass(frozen=True, slots=True)
class Change:
    """Hold a document's object after a change, and the entries that came or went, as they are written."""

    content: dict[str, JsonValue]
    entries: Standing


def added(document: Document, more: Standing) -> Change:
    """Add entries, each once; all else of the document stays.

    Raises:
        ConfigError: There is no object to go on from, a list of it is none or is full, or an entry cannot count.
    """
    content, came = _writable(document), dict[str, tuple[str, ...]]()
    for name, field in LISTS.items():
        if not getattr(more, field):
            continue
        entries = _list(document, content, name)
        known = [_trimmed(entry) for entry in entries]
        new = tuple(entry for entry in dict.fromkeys(map(str.strip, getattr(more, field))) if entry not in known)
        for entry in new:
            if complaint := _CHECKS[name](entry):
                message = f"wanted {_WANTED[name]}, found {shown(entry)}: {complaint}"
                raise ConfigError(message)
        if new and len(entries) + len(new) > LONGEST:
            message = f"holds {len(entries)} entries, and no more than {LONGEST} count"
            raise ConfigError(message, path=document.path, key=name, hint="kova-auto rules forget makes room")
        came[field] = new
        _put(content, name, [*entries, *new])
    return Change(content, Standing(**came))


def removed(document: Document, gone: Standing) -> Change:
    """Take entries out; all else of the document stays.

    Raises:
        ConfigError: There is no object to go on from, or a list of it is none.
    """
    content, went = _writable(document), dict[str, tuple[str, ...]]()
    for name, field in LISTS.items():
        if unwanted := {entry.strip() for entry in getattr(gone, field)}:
            entries = _list(document, content, name)
            went[field] = tuple(dict.fromkeys(text for entry in entries if (text := _trimmed(entry)) in unwanted))
            _put(content, name, [entry for entry in entries if _trimmed(entry) not in unwanted])
    return Change(content, Standing(**went))


def render_permissions(content: Mapping[str, JsonValue]) -> str:
    """Return the text of a document."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def shown(entry: object) -> str:
    """Return an entry as messages name it: short, and nothing in it acts on a screen."""
    text = ascii(entry) if isinstance(entry, str) and not entry.isprintable() else repr(entry)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _object(text: str, path: str, doubled: list[str]) -> dict[str, JsonValue]:
    """Return the object that a text holds.

    Raises:
        ConfigError: It holds none.
    """

    def pairs(found: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
        seen = dict(found)
        if len(seen) < len(found):
            counts = Counter(name for name, _ in found)
            doubled.extend(name for name, count in counts.most_common(_NAMED) if count > 1)
        return seen

    if not text.strip():
        return {}
    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as exc:
        message = f"wanted JSON: {exc.msg[:1].lower()}{exc.msg[1:]} (column {exc.colno})"
        raise ConfigError(message, path=path, line=exc.lineno, hint="nothing of this file counts") from exc
    except (RecursionError, ValueError) as exc:
        why = "it is nested too deep" if isinstance(exc, RecursionError) else "it holds a number that no program reads"
        message = f"wanted JSON: {why}"
        raise ConfigError(message, path=path, hint="nothing of this file counts") from exc
    if not isinstance(value, dict):
        message = f"wanted an object with {', '.join(LISTS)}, found {_kind(value)}"
        raise ConfigError(message, path=path, hint="nothing of this file counts")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(name)


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(text)
    return number


def _entries(value: JsonValue, name: str, path: str) -> tuple[tuple[str, ...], list[ConfigError]]:
    """Return the entries of a list that count, and what is wrong with the others."""
    if value is None:
        return (), []
    if not isinstance(value, list):
        return (), [_problem(path, name, f"wanted a list of texts, found {_kind(value)}", "the other lists count")]
    wrong = [
        _problem(path, f"{name}[{at}]", f"wanted {_WANTED[name]}, found {_found(entry)}")
        for at, entry in enumerate(value[: 2 * LONGEST])
        if not _trimmed(entry)
    ]
    texts = [(at, text) for at, entry in enumerate(value) if (text := _trimmed(entry))]
    if len(texts) > LONGEST:
        message = f"holds {len(texts)} entries, of which the first {LONGEST} count"
        wrong.append(_problem(path, name, message, "leave some out"))
    counted: dict[str, None] = {}
    for at, text in texts[:LONGEST]:
        if complaint := _CHECKS[name](text):
            wrong.append(_problem(path, f"{name}[{at}]", f"{shown(text)} does not count: {complaint}"))
        else:
            counted[text] = None
    return tuple(counted), wrong


def _trimmed(entry: JsonValue) -> str:
    return entry.strip() if isinstance(entry, str) else ""


def _found(entry: JsonValue) -> str:
    return "only blanks" if isinstance(entry, str) else _kind(entry)


def _kind(value: JsonValue) -> str:
    return "nothing" if value is None else _KINDS.get(type(value), "a number")


def _unknown(path: str, keys: list[str]) -> Iterator[ConfigError]:
    for key in keys[:_NAMED]:
        hint = did_you_mean(key[:_SHOWN], tuple(LISTS))
        yield _problem(path, _key(key), "this key is not known, and means nothing", hint)
    if len(keys) > _NAMED:
        yield _problem(path, "", f"{len(keys) - _NAMED} more keys are not known")


def _key(name: str) -> str:
    return name if name.isidentifier() and name.isascii() and len(name) <= _SHOWN else shown(name)


def _problem(path: str, key: str, message: str, hint: str = "") -> ConfigError:
    return ConfigError(message, path=path, key=key, hint=hint)


def _check_root(text: str) -> str:
    if not text.isprintable():
        return "it holds what no path is written with"
    if text.startswith("~") and not text.startswith("~/") and text != "~":
        return "write the home directory of somebody else out"
    return ""


def _check_tool(text: str) -> str:
    return "" if _TOOL.fullmatch(text) else "names are compared whole, and none has such characters"


def _check_command(text: str) -> str:
    return check_rule(text) or ""


_CHECKS: Mapping[str, Callable[[str], str]] = {
    "writeRoots": _check_root,
    "allowCommands": _check_command,
    "allowMcpTools": _check_tool,
}
_WANTED: Mapping[str, str] = {
    "writeRoots": "a directory",
    "allowCommands": "a command rule",
    "allowMcpTools": "the full name of a tool",
}


def _writable(document: Document) -> dict[str, JsonValue]:
    """Return a copy of the object that a writer goes on from.

    Raises:
        ConfigError: There is none: what is there is not overwritten.
    """
    if document.content is None:
        said = document.problems[0]
        raise ConfigError(said.message, path=said.path, line=said.line, hint="mend the file; nothing was written")
    return dict(document.content)


def _list(document: Document, content: Mapping[str, JsonValue], name: str) -> list[JsonValue]:
    value = content.get(name)
    if value is None:
        return []
    if not isinstance(value, list):
        message = f"wanted a list of texts, found {_kind(value)}"
        raise ConfigError(message, path=document.path, key=name, hint="mend the file; nothing was written")
    return value


def _put(content: dict[str, JsonValue], name: str, entries: list[JsonValue]) -> None:
    if entries:
        content[name] = entries
    else:
        content.pop(name, None)


def without(standing: Standing, known: Standing) -> Standing:
    """Return what of some standing decisions is not known already."""
    return Standing(
        commands=tuple(rule for rule in standing.commands if rule not in known.commands),
        write_roots=tuple(root for root in standing.write_roots if root not in known.write_roots),
        tools=tuple(tool for tool in standing.tools if tool not in known.tools),
    )
