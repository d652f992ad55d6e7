"""Render blocks for Slack's incoming webhooks, and judge what they answer.

How much all blocks together may hold is not documented: about 13 000 characters answer `msg_blocks_too_long`, and we
stay well below.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.document import Document, describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Wish, encode
from kova_auto.core.delivery.formats.answer import fields_of, said_ok, seconds_of
from kova_auto.core.delivery.formats.markdown import parse
from kova_auto.core.delivery.formats.mrkdwn import escape, pack, shortened, size
from kova_auto.core.delivery.formats.page import SIGNS, footer
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.text import cut, excerpt
from kova_auto.core.net.http import HttpResponse

_MOST: Final = {key: limit.most for key, limit in LIMITS["slack"].items()}
_MOST_IN_ALL: Final = _MOST["total"] - 2000
_MOST_PLAIN: Final = 2500
_MOST_FACT: Final = 400
_MOST_COMMAND: Final = 400

# From rich to condensed: characters of Markdown in the body, and how many facts.
_LADDER: Final = ((9000, _MOST["fields"]), (4000, _MOST["fields"]), (1200, 3))


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the richest message that stays inside every limit; nothing is lost, the command to see it all is there."""
    document = describe(notice)
    title = f"{SIGNS[document.status]} {document.title}"
    foot = footer(document, wish)
    if wish.form is Form.RICH:
        for characters, facts in _LADDER:
            blocks = _blocks(document, title, foot, characters, facts)
            if len(blocks) <= _MOST["blocks"] and sum(map(_length, blocks)) <= _MOST_IN_ALL:
                return _message({"text": shortened(f"{title}. {document.summary}", 300), "blocks": blocks})
    return _message({"text": escape(_plain(document, title, foot)), "mrkdwn": False})


def _message(payload: dict[str, JsonValue]) -> Rendered:
    return Rendered(encode({**payload, "unfurl_links": False, "unfurl_media": False}))


def _blocks(document: Document, title: str, foot: str, characters: int, facts: int) -> list[JsonValue]:
    body = pack(parse(excerpt(document.body_markdown, characters).text), _MOST["section"])
    fields = [_text(f"*{escape(label)}*\n{shortened(value, _MOST_FACT)}") for label, value in document.facts[:facts]]
    actions = "\n".join(f"`{shortened(command, _MOST_COMMAND)}`" for command in document.commands)
    head: JsonValue = {"type": "plain_text", "text": shortened(title, _MOST["header"])}
    blocks: list[JsonValue] = [{"type": "header", "text": head}]
    if fields:
        blocks.append({"type": "section", "fields": fields})
    blocks += [{"type": "section", "text": _text(text)} for text in (*body, actions) if text]
    if buttons := _buttons(document):
        blocks.append({"type": "actions", "elements": buttons})
    blocks.append({"type": "context", "elements": [_text(shortened(foot, 600))]})
    return blocks


def _buttons(document: Document) -> list[JsonValue]:
    """Return what can be pressed: links open a page, the others are told to us."""
    pressed: list[JsonValue] = [
        {"type": "button", "action_id": key, "text": _label(label), "value": value}
        for key, label, value in document.buttons
        if len(value) <= _MOST["button value"]
    ]
    opened: list[JsonValue] = [
        {"type": "button", "action_id": f"kova_open_{number}", "text": _label(label), "url": url}
        for number, (label, url) in enumerate(document.links)
        if len(url) <= _MOST["button url"]
    ]
    return [*pressed, *opened]


def _label(text: str) -> JsonValue:
    return {"type": "plain_text", "text": cut(text, _MOST["button text"])}


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


def _plain(document: Document, title: str, foot: str) -> str:
    facts = [f"{label}: {cut(value, 200)}" for label, value in document.facts]
    body = excerpt(document.body_markdown, _MOST_PLAIN).text
    links = [f"{label}: {url}" for label, url in document.links]
    acts = "\n".join([*document.commands, *links])
    return "\n\n".join(part for part in (title, "\n".join(facts), body, acts, foot) if part)


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
    fields = fields_of(reply)
    code = str(fields.get("error", "")) or reply.body.strip().decode("ascii", "replace")
    if reply.status == 429 or code in _THROTTLED:
        asked = seconds_of(fields, "retry_after")
        return AttemptResult(AttemptOutcome.THROTTLED, "Slack asks to slow down", retry_after_s=asked)
    for codes, outcome in (
        (_GONE, AttemptOutcome.BAD_ENDPOINT),
        (_REFUSED, AttemptOutcome.BAD_ENDPOINT),
        (_UNFIT, AttemptOutcome.BAD_PAYLOAD),
    ):
        if code in codes:
            return AttemptResult(outcome, f"Slack answered {reply.status}: {code}", permanent=codes is _GONE)
    return said_ok(reply, "Slack") if reply.status == 200 else None


FORMAT: Final = Format(render, judge)
