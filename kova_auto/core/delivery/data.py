"""Make the `data` of a message that a program reads: the whole notice, or what is ours of it, in so many bytes.

What is too long is cut, and says so with byte counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.format import encode
from kova_auto.core.delivery.notice import (
    ApprovalNotice,
    Digest,
    EndpointNotice,
    EndpointTest,
    Notice,
    RunReport,
    ScheduleNotice,
)
from kova_auto.core.delivery.text import border, one_line
from kova_auto.core.delivery.thin import counts, thin_data

Data = dict[str, JsonValue]
Wrap = Callable[[Data], Data]

FULL: Final = "full"
THIN: Final = "thin"

LONG: Final[Mapping[type[Notice], str]] = {
    RunReport: "answer",
    ApprovalNotice: "arguments",
    ScheduleNotice: "reason",
    EndpointNotice: "reason",
    Digest: "text",
    EndpointTest: "text",
}
"""The one long text of each notice; it gets what room the rest leaves."""

_WHOLE: Final = frozenset({"run_id", "call_id", "job", "answer_url", "parent", "root"})
_OURS: Final = frozenset({"kind", "answer_token"})  # A token means something to a chat alone.
# Entries of each list, and characters of each other text: the first that leave half the room for the long text.
_BOUNDS: Final = ((50, 1000), (20, 300), (5, 100))


def fitted(notice: Notice, wrap: Wrap, most: int, detail: str = FULL) -> bytes:
    """Return a message as JSON of at most so many bytes.

    Args:
        notice: What is told.
        wrap: Puts the data into the envelope of the message.
        most: Bytes of the whole message.
        detail: `full`, or `thin` for what is ours alone.
    """
    if detail == THIN:
        return encode(wrap(thin_data(notice)))
    long = LONG[type(notice)]
    whole: Data = notice.model_dump(mode="json", exclude={*_OURS, long})
    if not whole.get("answer_url"):
        whole.pop("answer_url", None)
    fields = next((few for few in _shorter(whole) if len(encode(few)) <= most // 2), _shorter(whole)[-1])
    data: Data = {**fields, **counts(notice), "truncated": fields != whole}
    return _fit(wrap, data, most, long, getattr(notice, long))


def _shorter(fields: Data) -> list[Data]:
    return [
        {key: value if key in _WHOLE else _bound(value, entries, characters) for key, value in fields.items()}
        for entries, characters in _BOUNDS
    ]


def _bound(value: JsonValue, entries: int, characters: int) -> JsonValue:
    match value:
        case str():
            return value if len(value) <= characters else one_line(value, characters)
        case list():
            return [_bound(item, entries, characters) for item in value[:entries]]
        case dict():
            return {key: _bound(item, entries, characters) for key, item in list(value.items())[:entries]}
        case _:
            return value


def _fit(wrap: Wrap, data: Data, most: int, long: str, text: str) -> bytes:
    """Return the message with as much of the long text as there is room for."""

    def spell(characters: int) -> bytes:
        kept = text[:characters]
        sizes: Data = {f"{long}_bytes": len(text.encode()), f"{long}_bytes_sent": len(kept.encode())}
        cut: Data = {"truncated": True} if len(kept) < len(text) else {}
        return encode(wrap({**data, **cut, long: kept, **sizes}))

    if len(text) <= most and len(message := spell(len(text))) <= most:
        return message
    # Each character takes at least one byte, so no more than this many can fit.
    fitting = bisect_right(range(most), most, key=lambda characters: len(spell(characters))) - 1
    return spell(border(text, max(0, fitting)))
