"""Read the list of tools that a server tells of: what it says is material, held within bounds.

A tool that cannot be named or granted is left out, a name that stands twice counts once, and whatever is too large is
not taken over. Nothing of a schema is resolved or followed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from kova_auto.core.mcp.names import is_tool_name
from kova_auto.core.value import Value

MAX_DESCRIPTION: Final = 4_000
MAX_SCHEMA_BYTES: Final = 32 << 10
_TITLE = 200
_NAMED = 5
_CONTROL = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160)), " ")
_UNSEEN = dict.fromkeys((*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xFEFF), "")
_TAGS = dict.fromkeys(range(0xE0000, 0xE0080), "")


class ToolInfo(Value):
    """Hold what a server says of one tool.

    Attributes:
        schema_text: Of its arguments, as JSON; empty where it is too large or none.
        flaw: What of it was not taken over, a clause; empty where all was.
        output_text: Schema that it promises of its structured answers, as JSON; empty where it promises none.
        read_only: It says that it changes nothing.
    """

    name: str
    title: str = ""
    description: str = ""
    schema_text: str = ""
    flaw: str = ""
    output_text: str = ""
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    """Hold the tools that count, and what is to be known of the others, a sentence each."""

    tools: tuple[ToolInfo, ...] = ()
    remarks: tuple[str, ...] = ()


def _all(_: str) -> bool:
    return True


def listed(found: Sequence[JsonValue], most: int, offers: Callable[[str], bool] = _all) -> Listing:
    """Return the tools of a list as a server sent it.

    Args:
        found: The list.
        most: So many count.
        offers: Says by its name whether a tool counts; of others nothing is said.
    """
    tools: dict[str, ToolInfo] = {}
    unfit: list[str] = []
    double: list[str] = []
    for one in found:
        name = one.get("name") if isinstance(one, dict) else None
        if not isinstance(one, dict) or not isinstance(name, str) or not is_tool_name(name):
            unfit.append(ascii(name)[1:-1][:40] if isinstance(name, str) else "one without a name")
        elif not offers(name):
            continue
        elif name in tools:
            double.append(name)
        else:
            tools[name] = _tool(name, one)
    kept = tuple(tools.values())[:most]
    return Listing(kept, tuple(_remarks(unfit, double, len(tools) - len(kept), most)))


def seen(text: str) -> str:
    """Return a text without what nobody sees: control characters, and those that hide or turn text."""
    return text.encode("utf-8", "replace").decode().translate(_CONTROL | _UNSEEN | _TAGS)


def beginning(text: str, most: int) -> str:
    """Return at most so many characters of a text, the last word of them whole unless it is very long.

    Half a secret could not be told for one.
    """
    at = text.rfind(" ", most // 2, most + 1)
    return text if len(text) <= most else text[: at if at > 0 else most]


def ending(text: str, most: int) -> str:
    """Return the same of its end."""
    return beginning(text[::-1], most)[::-1]


def _tool(name: str, found: dict[str, JsonValue]) -> ToolInfo:
    hints = found.get("annotations")
    hints = hints if isinstance(hints, dict) else {}
    schema, flaw = _schema(found.get("inputSchema"))
    said = _text(found.get("description"))
    if len(said) > MAX_DESCRIPTION:
        cut = f"its description has {len(said)} characters, of which {MAX_DESCRIPTION} are kept"
        flaw = f"{flaw}; {cut}" if flaw else cut
    return ToolInfo(
        name=name,
        title=beginning(_text(found.get("title") or hints.get("title")), _TITLE),
        description=beginning(said, MAX_DESCRIPTION),
        schema_text=schema,
        flaw=flaw,
        output_text=_schema(found.get("outputSchema"))[0],
        read_only=hints.get("readOnlyHint") is True,
    )


def _text(value: JsonValue) -> str:
    return seen(value).strip() if isinstance(value, str) else ""


def _schema(value: JsonValue) -> tuple[str, str]:
    """Return a schema's text, and why it is not taken over."""
    if not isinstance(value, dict):
        return "", "" if value is None else "its schema is no object"
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (RecursionError, ValueError):
        return "", "its schema is nested too deep"
    size = len(text.encode(errors="replace"))
    return (seen(text), "") if size <= MAX_SCHEMA_BYTES else ("", f"its schema has {size} bytes and is not shown")


def _remarks(unfit: list[str], double: list[str], more: int, most: int) -> list[str]:
    remarks = []
    if unfit:
        remarks.append(f"{len(unfit)} of its tools cannot be used, for their names: {', '.join(unfit[:_NAMED])}")
    if double:
        remarks.append(f"it names {', '.join(double[:_NAMED])} more than once: the first counts")
    if more > 0:
        remarks.append(f"it has {more} tools more than the {most} that count")
    return remarks
