"""Render for Slack's incoming webhooks, and judge what they answer.

Limits as Slack documents them: 150 characters to a header, 2000 to a field, 3000 to a section, 50 blocks. About 13 000
characters in all is not documented and answers `msg_blocks_too_long`; we stay well below.
"""

from __future__ import annotations

import json
import math

from pydantic import JsonValue

from kova_auto.core.delivery.document import Document, Status, describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Wish, encode
from kova_auto.core.delivery.formats.markdown import parse
from kova_auto.core.delivery.formats.mrkdwn import escape, pack, shortened, size
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.text import cut, excerpt
from kova_auto.core.net.http import BodyEnd, HttpResponse

MAX_HEADER = 150
MAX_SECTION = 3000
MAX_FIELDS = 10
MAX_FIELD = 2000
MAX_BLOCKS = 50
MAX_TOTAL = 11_000
MAX_PLAIN = 2500
MAX_LABEL, MAX_VALUE, MAX_LINK = 75, 2000, 3000  # of a button

# From rich to condensed: characters of Markdown in the body, and how many facts.
_LADDER = ((9000, MAX_FIELDS), (4000, MAX_FIELDS), (1200, 3))
_SIGNS = {Status.GOOD: "✅", Status.BAD: "❌", Status.ATTENTION: "⚠️", Status.NEUTRAL: "ℹ️"}  # noqa: RUF001


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the richest message that stays inside every limit; nothing is lost, the command to see it all is there."""
    document = describe(notice)
    title = f"{_SIGNS[document.status]} {document.title}"
    footer = " · ".join([*document.footer, wish.delivery_id[:12]])
    if wish.form is Form.RICH:
        for characters, facts in _LADDER:
            blocks = _blocks(document, title, footer, characters, facts)
            if len(blocks) <= MAX_BLOCKS and sum(map(_length, blocks)) <= MAX_TOTAL:
                return _message({"text": shortened(f"{title}. {document.summary}", 300), "blocks": blocks})
    return _message({"text": escape(_plain(document, title, footer)), "mrkdwn": False})


def _message(payload: dict[str, JsonValue]) -> Rendered:
    return Rendered(encode({**payload, "unfurl_links": False, "unfurl_media": False}))


def _blocks(document: Document, title: str, footer: str, characters: int, facts: int) -> list[JsonValue]:
    body = pack(parse(excerpt(document.body_markdown, characters).text), MAX_SECTION)
    fields = [_text(f"*{escape(label)}*\n{shortened(value, 400)}") for label, value in document.facts[:facts]]
    actions = "\n".join(f"`{shortened(command, 400)}`" for command in document.commands)
    blocks: list[JsonValue] = [{"type": "header", "text": {"type": "plain_text", "text": shortened(title, MAX_HEADER)}}]
    if fields:
        blocks.append({"type": "section", "fields": fields})
    blocks += [{"type": "section", "text": _text(text)} for text in (*body, actions) if text]
    if buttons := _buttons(document):
        blocks.append({"type": "actions", "elements": buttons})
    blocks.append({"type": "context", "elements": [_text(shortened(footer, 600))]})
    return blocks


def _buttons(document: Document) -> list[JsonValue]:
    """Return what can be pressed: links open a page, the others are told to us."""
    pressed: list[JsonValue] = [
        {"type": "button", "action_id": key, "text": _label(label), "value": value}
        for key, label, value in document.buttons
        if len(value) <= MAX_VALUE
    ]
    opened: list[JsonValue] = [
        {"type": "button", "action_id": f"kova_open_{number}", "text": _label(label), "url": url}
        for number, (label, url) in enumerate(document.links)
        if len(url) <= MAX_LINK
    ]
    return [*pressed, *opened]


def _label(text: str) -> JsonValue:
    return {"type": "plain_text", "text": cut(text, MAX_LABEL)}


def _text(mrkdwn: str) -> JsonValue:
    # Verbatim: Slack makes no link and no mention of its own out of plain text.
    return {"type": "mrkdwn", "text": mrkdwn, "verbatim": True}


def _length(block: JsonValue) -> int:
    match block:
        case {"type": "mrkdwn" | "plain_text", "text": str(text)}:
            return size(text)
        case dict():
            return sum(map(_length, block.values()))
        case list():
            return sum(map(_length, block))
        case _:
            return 0


def _plain(document: Document, title: str, footer: str) -> str:
    facts = [f"{label}: {cut(value, 200)}" for label, value in document.facts]
    body = excerpt(document.body_markdown, MAX_PLAIN).text
    links = [f"{label}: {url}" for label, url in document.links]
    acts = "\n".join([*document.commands, *links])
    return "\n\n".join(part for part in (title, "\n".join(facts), body, acts, footer) if part)


_GONE = frozenset({"no_service", "no_team", "invalid_token", "channel_is_archived"})
_REFUSED = frozenset({"action_prohibited", "channel_not_found", "user_not_found", "team_disabled", "no_active_hooks"})
_UNFIT = frozenset(
    {
        "invalid_payload",
        "no_text",
        "invalid_blocks",
        "invalid_blocks_format",
        "msg_blocks_too_long",
        "msg_too_long",
        "too_many_attachments",
        "invalid_attachments",
    }
)
_THROTTLED = frozenset({"rate_limited", "ratelimited"})


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what Slack's body says: 200 alone is no promise, and each error has a name."""
    fields = _fields(reply.body)
    code = str(fields.get("error", "")) or reply.body.strip().decode("ascii", "replace")
    if reply.status == 429 or code in _THROTTLED:
        return AttemptResult(AttemptOutcome.THROTTLED, "Slack asks to slow down", retry_after_s=_seconds(fields))
    for codes, outcome in (
        (_GONE, AttemptOutcome.BAD_ENDPOINT),
        (_REFUSED, AttemptOutcome.BAD_ENDPOINT),
        (_UNFIT, AttemptOutcome.BAD_PAYLOAD),
    ):
        if code in codes:
            return AttemptResult(outcome, f"Slack answered {reply.status}: {code}", permanent=codes is _GONE)
    return _accepted(reply, fields) if reply.status == 200 else None


def _accepted(reply: HttpResponse, fields: dict[str, JsonValue]) -> AttemptResult | None:
    # Empty, or {"ok": true}: hooks that start a workflow. {"success": true}: servers that imitate Slack.
    said = reply.body.strip(b" \t\r\n")
    if reply.ending is BodyEnd.BROKEN:
        return AttemptResult(AttemptOutcome.AMBIGUOUS, "Slack answered 200, and the connection ended before it said ok")
    if said in {b"ok", b""} or fields.get("ok") is True or fields.get("success") is True:
        return AttemptResult(AttemptOutcome.DELIVERED, "Slack answered 200: ok")
    if fields.get("ok") is False or fields.get("success") is False:
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, "Slack answered 200, and that it did not take the message")
    if said[:15].lower().startswith((b"<!doctype html", b"<html")):
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, "a web page answered: the URL is not that of a Slack webhook")
    # Sending again could double a message that arrived.
    return AttemptResult(AttemptOutcome.AMBIGUOUS, "the receiver answered 200, but not ok", permanent=True)


def _fields(body: bytes) -> dict[str, JsonValue]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _seconds(fields: dict[str, JsonValue]) -> float | None:
    value = fields.get("retry_after")
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
        return float(value)
    return None


FORMAT = Format(render, judge)
