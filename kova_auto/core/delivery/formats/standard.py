"""Render for anything that takes Standard Webhooks: signed JSON with a type, a time and data.

The specification asks for less than 20 kB. What is longer is cut, and says so with byte counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import JsonValue

from kova_auto.core.delivery.format import Format, Rendered, Sealed, Wish, encode, posted
from kova_auto.core.delivery.notice import SCRIPTED, ApprovalNotice, EndpointTest, Notice, RunReport, ScheduleNotice
from kova_auto.core.delivery.outcome import AttemptResult
from kova_auto.core.delivery.signature import signed_headers
from kova_auto.core.delivery.target import Target
from kova_auto.core.delivery.text import border, one_line
from kova_auto.core.errors import ConfigError
from kova_auto.core.net.http import HttpResponse

MAX_BYTES = 20_000

# The one long text of each notice; it gets what room the rest leaves.
_LONG: Mapping[type[Notice], str] = {
    RunReport: "answer",
    ApprovalNotice: "arguments",
    ScheduleNotice: "reason",
    EndpointTest: "text",
}
_WHOLE = frozenset({"run_id", "call_id", "job"})
# Entries of each list, and characters of each other text: the first that leave half the room for the long text.
_BOUNDS = ((50, 1000), (20, 300), (5, 100))


def render(notice: Notice, _wish: Wish) -> Rendered:
    """Return the message; its id travels in a header, and no form is plainer than this one."""
    long = _LONG[type(notice)]
    whole: dict[str, JsonValue] = notice.model_dump(mode="json", exclude={"kind", long})
    fields = next((few for few in _shorter(whole) if len(encode(few)) <= MAX_BYTES // 2), _shorter(whole)[-1])
    extra: dict[str, JsonValue] = {}
    if isinstance(notice, RunReport):
        extra = {"denied_count": len(notice.denied), "changes_count": len(notice.changes)}
    if not isinstance(notice, EndpointTest) and notice.scripted:
        extra["note"] = SCRIPTED
    at = notice.at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    head: dict[str, JsonValue] = {"type": notice.type, "timestamp": at}
    return Rendered(_fit(head, {**fields, **extra, "truncated": fields != whole}, long, getattr(notice, long)))


def _shorter(fields: dict[str, JsonValue]) -> list[dict[str, JsonValue]]:
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
            return {key: _bound(item, entries, characters) for key, item in value.items()}
        case _:
            return value


def _fit(head: dict[str, JsonValue], data: dict[str, JsonValue], long: str, text: str) -> bytes:
    """Return the message with as much of the long text as there is room for."""

    def spell(characters: int) -> bytes:
        kept = text[:characters]
        counts: dict[str, JsonValue] = {f"{long}_bytes": len(text.encode()), f"{long}_bytes_sent": len(kept.encode())}
        cut: dict[str, JsonValue] = {"truncated": True} if len(kept) < len(text) else {}
        return encode({**head, "data": {**data, **cut, long: kept, **counts}})

    if len(text) <= MAX_BYTES and len(message := spell(len(text))) <= MAX_BYTES:
        return message
    # Each character takes at least one byte, so no more than this many can fit.
    fitting = bisect_right(range(MAX_BYTES), MAX_BYTES, key=lambda characters: len(spell(characters))) - 1
    return spell(border(text, max(0, fitting)))


def judge(_reply: HttpResponse) -> AttemptResult | None:
    """Leave it to the status: any 2xx means that the receiver has it."""
    return None


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt, signed for this moment with each of the target's secrets.

    Raises:
        ConfigError: It has none.
    """
    if not target.secrets:
        msg = f"the format {target.format} is signed: wanted a secret"
        raise ConfigError(msg, key=f"endpoints.{target.name}.secret", hint="whsec_ and base64 of 24 to 64 random bytes")
    plain = posted(target, message, delivery_id, now)
    signature = signed_headers(target.secrets, delivery_id, int(now.timestamp()), message.body)
    return replace(plain, headers=(*plain.headers, *signature))


FORMAT = Format(render, judge, seal, tries_in_doubt=None)
