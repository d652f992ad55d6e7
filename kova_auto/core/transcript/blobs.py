"""Find the contents that a run's facts point to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum

from kova_auto.core.event import CallFinished, ContextAssembled, Event, WritePlanned
from kova_auto.core.ids import BlobHash
from kova_auto.core.message import AssistantMessage, FileChange, ImagePart, Part
from kova_auto.core.value import Value


class BlobUse(StrEnum):
    """Say what a content is."""

    IMAGE = "image"
    OUTPUT = "output"
    BEFORE = "before"
    AFTER = "after"


class BlobRef(Value):
    """Point to a content.

    Attributes:
        use: What it is: shown to the model, the whole of an output that the model was told in part, or a file's
            content before and after a write.
        name: The file, the call, or what kind of image it is.
        size: Bytes; None where it is not kept any more, or nobody has looked.
    """

    hash: BlobHash
    use: BlobUse
    name: str
    size: int | None = None


def blobs_in(events: Iterable[Event]) -> tuple[BlobRef, ...]:
    """Return the contents that the facts point to, each use once, in the order in which they are pointed to."""
    return tuple(dict.fromkeys(ref for event in events for ref in _refs(event)))


def _refs(event: Event) -> Iterator[BlobRef]:
    match event:
        case ContextAssembled():
            for message in event.history:
                yield from () if isinstance(message, AssistantMessage) else _images(message.parts)
            yield from _images(event.prompt)
        case CallFinished():
            yield from _images(event.result.parts)
            if event.result.rest:
                yield BlobRef(hash=event.result.rest, use=BlobUse.OUTPUT, name=event.call_id)
            for change in event.result.changes:
                yield from _sides(change)
        case WritePlanned():
            yield from _sides(event.change)
        case _:
            pass


def _images(parts: Iterable[Part]) -> Iterator[BlobRef]:
    for part in parts:
        if isinstance(part, ImagePart):
            yield BlobRef(hash=part.blob, use=BlobUse.IMAGE, name=part.media_type)


def _sides(change: FileChange) -> Iterator[BlobRef]:
    for use, key in ((BlobUse.BEFORE, change.before), (BlobUse.AFTER, change.after)):
        if key:
            yield BlobRef(hash=key, use=use, name=change.path)
