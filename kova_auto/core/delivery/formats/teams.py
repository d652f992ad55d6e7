"""Render an adaptive card for a workflow of Microsoft Teams, and judge what is answered.

A workflow answers 202 before it has looked at the card, and a card that is too large fails unseen: so the budget is far
below what is documented. Cards of version 1.4 are what every client shows. Nobody is mentioned: that would take a list
of people beside the card.
"""

from __future__ import annotations

import re
from typing import Final

from pydantic import JsonValue

from kova_auto.core.delivery.document import Document, Status, describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Wish, encode
from kova_auto.core.delivery.formats import packing
from kova_auto.core.delivery.formats.answer import fields_of, is_good, unfit_answer
from kova_auto.core.delivery.formats.commonmark import Dialect
from kova_auto.core.delivery.formats.markdown import Block, Preformatted, parse
from kova_auto.core.delivery.formats.page import SIGNS, footer
from kova_auto.core.delivery.limits import LIMITS, Unit
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.text import cut, excerpt
from kova_auto.core.net.http import BodyEnd, HttpResponse

_MOST: Final = LIMITS["teams"]["body"].most
_MOST_BLOCK: Final = 4000
# From rich to condensed: characters of Markdown in the body, and how many facts.
_LADDER: Final = ((10_000, 15), (6500, 15), (4000, 12), (2000, 6), (800, 3), (400, 3))
_DIALECT: Final = Dialect(Unit.BYTES, italic="_", strike="", code=False, autolinks=False, newline="\n\n")
_COLOURS: Final = {Status.GOOD: "Good", Status.BAD: "Attention", Status.ATTENTION: "Warning", Status.NEUTRAL: "Default"}
_FUNCTION: Final = re.compile(r"\{(?=\{)")


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the richest card that is small enough, or one without marks where that was not taken."""
    document = describe(notice)
    if wish.form is Form.RICH:
        for characters, facts in _LADDER:
            body = [*_head(document, facts), *_body(document, characters), *_acts(document), _foot(document, wish)]
            if len(message := _card(body)) <= _MOST:
                return Rendered(message)
    return Rendered(_card([_run(_plain(document, wish))]))


def _card(body: list[JsonValue]) -> bytes:
    content: JsonValue = {
        "type": "AdaptiveCard",
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": body,
    }
    card = {"contentType": "application/vnd.microsoft.card.adaptive", "content": content}
    return encode({"type": "message", "attachments": [card]})


def _head(document: Document, facts: int) -> list[JsonValue]:
    title = _text(_DIALECT.shortened(f"{SIGNS[document.status]} {document.title}", 300))
    shown: list[JsonValue] = [
        {"title": _plainly(label), "value": _written(_DIALECT.shortened(value, 300))}
        for label, value in document.facts[:facts]
    ]
    head: JsonValue = {**title, "weight": "Bolder", "size": "Medium", "color": _COLOURS[document.status]}
    facts_set: JsonValue = {"type": "FactSet", "facts": shown}
    return [head, facts_set] if shown else [head]


def _body(document: Document, characters: int) -> list[JsonValue]:
    blocks, write, size = parse(excerpt(document.body_markdown, characters).text), _DIALECT.write, _DIALECT.unit.size
    parts = (part for block in blocks for part in packing.parted(block, _MOST_BLOCK, write, size))
    return [_block(block, written) for block, written in parts if written.strip()]


def _block(block: Block, written: str) -> JsonValue:
    if isinstance(block, Preformatted):
        return _code(block.text)
    tight: dict[str, JsonValue] = {"spacing": "None"} if block.tight else {}
    return {**_text(written), **tight}


def _text(markdown: str) -> dict[str, JsonValue]:
    return {"type": "TextBlock", "text": _written(markdown), "wrap": True}


def _written(markdown: str) -> str:
    # Two braces begin a function of the card: dates and the like.
    return _FUNCTION.sub("{\u200b", markdown)


def _plainly(text: str) -> str:
    return _written(_DIALECT.line(text))


def _code(text: str) -> JsonValue:
    return {"type": "Container", "style": "emphasis", "items": [_run(text, fontType="Monospace")]}


def _run(text: str, **look: JsonValue) -> JsonValue:
    """Return text that is not read as Markdown; spaces at the start of a line are kept."""
    kept = re.sub(r"(?m)^ +", lambda found: "\u00a0" * len(found[0]), text)
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": _written(kept), **look}]}


def _acts(document: Document) -> list[JsonValue]:
    commands = "\n".join(cut(command, 400) for command in document.commands)
    links = "\n\n".join(_DIALECT.link(label, url) for label, url in document.links)
    return [*([_code(commands)] if commands else []), *([_text(links)] if links else [])]


def _foot(document: Document, wish: Wish) -> JsonValue:
    text = _DIALECT.shortened(footer(document, wish), 400)
    return {**_text(text), "size": "Small", "isSubtle": True, "spacing": "Medium"}


def _plain(document: Document, wish: Wish) -> str:
    facts = "\n".join(f"{label}: {cut(value, 200)}" for label, value in document.facts)
    acts = "\n".join([*(cut(command, 400) for command in document.commands), *(url for _, url in document.links)])
    body = excerpt(document.body_markdown, 2500).text
    parts = (f"{SIGNS[document.status]} {document.title}", facts, body, acts, footer(document, wish))
    return "\n\n".join(filter(None, parts))


_INNER: Final = re.compile(rb"HTTP error (\d{3})")
_SWITCHED_OFF: Final = (b"WorkflowTriggerIsNotEnabled", b"WorkflowDisabled", b"WorkflowNotFound", b"WorkflowSuspended")


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what an answer means: 202, or 200 with nothing in it that says otherwise."""
    if any(code in reply.body for code in _SWITCHED_OFF):
        detail = f"Teams answered {reply.status}: the workflow is switched off or gone"
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail, permanent=reply.status == 404)
    if not is_good(reply):
        return None
    if inner := _INNER.search(reply.body):
        return _failed(int(inner[1]))
    if reply.ending is BodyEnd.BROKEN and reply.status == 200:
        return unfit_answer(reply, "Teams")
    if reply.body.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")) or "error" in fields_of(reply):
        return unfit_answer(reply, "Teams")
    if reply.status == 202:
        return AttemptResult(AttemptOutcome.DELIVERED, "Teams answered 202: the workflow has it, and says no more")
    if reply.status == 200:
        return AttemptResult(AttemptOutcome.DELIVERED, "Teams answered 200")
    return AttemptResult(AttemptOutcome.AMBIGUOUS, f"Teams answered {reply.status}, not 202 or 200", permanent=True)


def _failed(status: int) -> AttemptResult:
    """Return what an error means that the body of a good answer reports."""
    detail = f"Teams answered 200, and that posting failed with {status}"
    match status:
        case 429:
            return AttemptResult(AttemptOutcome.THROTTLED, detail)
        case 400 | 413:
            return AttemptResult(AttemptOutcome.BAD_PAYLOAD, detail)
        case _ if 400 <= status < 500:
            return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail)
        case _:
            return AttemptResult(AttemptOutcome.SERVER_ERROR, detail)


FORMAT: Final = Format(render, judge)
