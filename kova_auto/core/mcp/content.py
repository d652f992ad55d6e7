"""Read the answer of a tool: its text, its images, and what else it holds and is not shown.

Source: Model Context Protocol 2025-11-25, tools.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from kova_auto.core.mcp.listing import seen

MAX_IMAGES: Final = 4
MAX_IMAGE_BYTES: Final = 2 << 20
_MAX_ITEMS = 1_000
_BEYOND = 64 << 10
"""Characters behind the end that are looked at, too: a secret that the end would cut in two is seen whole."""
_CUT = "\n[cut here: the answer is longer than the {limit} bytes that are kept]"


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold what a tool answered.

    Attributes:
        text: All of it, up to the bound; what is not shown stands in brackets.
        images: Contents that call themselves images, unchecked.
        structured: As JSON; empty where there is none.
        failed: The tool says so itself.
    """

    text: str
    images: tuple[bytes, ...] = ()
    structured: str = ""
    failed: bool = False


def _as_it_is(text: str) -> str:
    return text


def answered(result: Mapping[str, JsonValue], limit: int, clean: Callable[[str], str] = _as_it_is) -> Answer:
    """Return what an answer holds.

    Args:
        result: As the protocol has it.
        limit: Bytes of text that are kept.
        clean: Takes secrets out of text; asked before anything is cut.
    """
    if result.get("resultType") == "input_required":
        return Answer(
            "[the tool wants more input, of a person or a model, before it answers: nobody gives it]", failed=True
        )
    content = result.get("content")
    items = [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    images: list[bytes] = []
    pieces = [piece for item in items[:_MAX_ITEMS] if (piece := _piece(item, images))]
    if len(items) > _MAX_ITEMS:
        pieces.append(f"[{len(items) - _MAX_ITEMS} more parts are left out]")
    structured = _structured(result.get("structuredContent"))
    if structured and not any(item.get("type") == "text" for item in items):
        pieces.insert(0, structured)  # Where there is text, it says the same.
    text = "\n".join(pieces) or "[the answer is empty]"
    return Answer(
        _kept(clean(text[: limit + _BEYOND]), limit), tuple(images), structured, result.get("isError") is True
    )


def _piece(item: Mapping[str, JsonValue], images: list[bytes]) -> str:
    match item.get("type"):
        case "text":
            return _plain(item.get("text"))
        case "image":
            return _image(item, images)
        case "audio":
            return f"[audio ({_label(item.get('mimeType'))}) is left out]"
        case "resource_link":
            return "\n".join(_link(item))
        case "resource":
            return _resource(item.get("resource"))
        case other:
            return f"[a part of the kind {_label(other)} is left out]"


def _image(item: Mapping[str, JsonValue], images: list[bytes]) -> str:
    kind, data = _label(item.get("mimeType")), item.get("data")
    try:
        image = base64.b64decode(data, validate=True) if isinstance(data, str) else b""
    except (binascii.Error, ValueError):
        return f"[an image ({kind}) is left out: it is no Base64]"
    if not image or len(image) > MAX_IMAGE_BYTES or len(images) >= MAX_IMAGES:
        return f"[an image ({kind}, {len(image)} bytes) is left out]"
    images.append(image)
    return ""


def _link(item: Mapping[str, JsonValue]) -> Iterator[str]:
    yield f"[resource {_label(item.get('uri'))}: {_label(item.get('name'))}; it is not fetched]"
    if said := _plain(item.get("description")):
        yield said


def _resource(value: JsonValue) -> str:
    if not isinstance(value, dict):
        return "[a resource is left out: it is none]"
    name, kind = _label(value.get("uri")), _label(value.get("mimeType"))
    text = value.get("text")
    if isinstance(text, str):
        return f"[resource {name}]\n{_plain(text)}"
    blob = value.get("blob")
    size = len(blob) * 3 // 4 if isinstance(blob, str) else 0
    return f"[resource {name} ({kind}, about {size} bytes) is left out: it is no text]"


def _structured(value: JsonValue) -> str:
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (RecursionError, ValueError):
        return ""


def _plain(value: JsonValue) -> str:
    """Return a text that can be written down: half characters and NUL are replaced."""
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _label(value: JsonValue) -> str:
    text = " ".join(seen(value).split()) if isinstance(value, str) else ""
    return text[:200] or "without a name"


def _kept(text: str, limit: int) -> str:
    data = text.encode()
    return text if len(data) <= limit else data[:limit].decode("utf-8", "ignore") + _CUT.format(limit=limit)
