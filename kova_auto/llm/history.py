"""What every protocol's history says alike: what a call gave, what stands for a result that is lost, and wire ids."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from kova_auto.core.ids import CallId
from kova_auto.core.message import AssistantMessage, ImagePart, ModelRequest, ResultStatus, TextPart, ToolMessage

NOTHING: Final = "(no output)"
SHOWN_BELOW: Final = "(an image, shown below)"
IMAGES_OF: Final = "Images from the tool results above:"
GONE: Final = "[an image that is no longer available]"
LOST: Final = "[unknown] No result of this call is on record. Check what it did before repeating it."
_LONGEST_KEY: Final = 64
_BAD_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")


def told_text(result: ToolMessage | None, image_alone: str = SHOWN_BELOW) -> str:
    """Return the text that a result is told with; never blank, unless `image_alone` is.

    Args:
        result: None where none is on record.
        image_alone: Said where there are images and no text.
    """
    if result is None:
        return LOST
    text = "\n".join(part.text for part in result.parts if isinstance(part, TextPart))
    if not text.strip():
        text = image_alone if any(isinstance(part, ImagePart) for part in result.parts) else NOTHING
    return text if result.status is ResultStatus.OK else f"[{result.status}] {text}"


def cache_key(key: str) -> str:
    """Return what tells a provider of caches which requests begin alike, no longer than it may be."""
    return key if len(key) <= _LONGEST_KEY else hashlib.sha256(key.encode()).hexdigest()


def wire_name(tool: str, longest: int = 64) -> str:
    """Return the name of a called tool as servers take it, however the model had written it."""
    return _BAD_NAME.sub("_", tool)[:longest] or "unnamed"


def wire_ids(request: ModelRequest, good: re.Pattern[str], *, keep: bool = True) -> dict[CallId, str]:
    """Return the id of each call: the provider's own where it can be kept and was not used before, else one of ours.

    Some models read their ids, so they get them back. Ours fit every server known: nine letters and digits.

    Args:
        request: Whose history it is.
        good: What the whole of an id must match to be kept.
        keep: False keeps none.
    """
    taken: set[str] = set()
    ids: dict[CallId, str] = {}
    for message in request.messages:
        for call in message.calls if isinstance(message, AssistantMessage) else ():
            own = keep and call.provider_id not in taken and good.fullmatch(call.provider_id)
            ids[call.id] = call.provider_id if own else "c" + hashlib.sha256(call.id.encode()).hexdigest()[:8]
            taken.add(ids[call.id])
    return ids
