"""Render embeds for Discord's webhooks, ask for the message back, and judge what is answered.

Without `wait=true` Discord says yes before it has kept anything. Ten thousand refusals in ten minutes make it ban an
address, so what it says of waiting and of hooks that are gone is taken at its word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pydantic import JsonValue

from kova_auto.core.delivery.document import Document, Status, describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, encode, posted
from kova_auto.core.delivery.formats import packing
from kova_auto.core.delivery.formats.answer import code_of, fields_of, is_good, seconds_of, text_of, unfit_answer
from kova_auto.core.delivery.formats.commonmark import Dialect, hushed
from kova_auto.core.delivery.formats.markdown import parse
from kova_auto.core.delivery.formats.page import Page, footer
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.delivery.text import excerpt
from kova_auto.core.net.http import HttpResponse

_MOST: Final = {key: limit.most for key, limit in LIMITS["discord"].items()}
# From rich to condensed: characters of Markdown in the body, and how many facts.
_LADDER: Final = ((5200, 15), (4000, 15), (2500, 8), (1200, 3), (400, 3))
_DIALECT: Final = Dialect()
_BARE: Final = Dialect(bold="", italic="", strike="", code=False, fences=False, links=False, autolinks=False)
_COLOURS: Final = {Status.GOOD: 0x2EB67D, Status.BAD: 0xE01E5A, Status.ATTENTION: 0xECB22E, Status.NEUTRAL: 0x8A8F98}
_SUPPRESS_EMBEDS: Final = 4  # a flag of messages: no previews of links
_MOST_FACT: Final = 300
_MOST_COMMAND: Final = 300
_BANNED_S: Final = 600.0


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the richest embeds that stay inside every limit, or a plain text where those were not taken."""
    document = describe(notice)
    if wish.form is Form.RICH:
        for characters, facts in _LADDER:
            embeds = _embeds(document, wish, characters, facts)
            if len(embeds) <= _MOST["embeds"] and sum(map(_length, embeds)) <= _MOST["embeds total"]:
                return _message({"embeds": embeds})
    text = Page(document, wish, _BARE).within(_MOST["content"], most=1600)
    # The briefest of all may be a little longer: then the last line, which is about the message itself, is cut.
    short = packing.shortened(text, _MOST["content"], str, _BARE.unit.size)
    return _message({"content": short, "flags": _SUPPRESS_EMBEDS})


def _message(payload: dict[str, JsonValue]) -> Rendered:
    return Rendered(encode({**payload, "allowed_mentions": {"parse": []}}))


def _embeds(document: Document, wish: Wish, characters: int, facts: int) -> list[JsonValue]:
    markdown = excerpt(document.body_markdown, characters).text
    pieces = _DIALECT.pack(parse(markdown), _MOST["description"])
    fields = [_field(label, _DIALECT.shortened(value, _MOST_FACT)) for label, value in document.facts[:facts]]
    acts = "\n".join(_acts(document, _MOST["field value"]))
    first: dict[str, JsonValue] = {
        "title": _DIALECT.shortened(document.title, _MOST["title"]),
        "color": _COLOURS[document.status],
    }
    described: list[dict[str, JsonValue]] = [{"description": piece} for piece in pieces]
    embeds = [{**first, **(described[0] if described else {})}, *described[1:]]
    embeds[-1] |= {
        "fields": [*fields, *([_field("Go on", acts, inline=False)] if acts else [])],
        "footer": {"text": packing.shortened(footer(document, wish), 600, hushed, _DIALECT.unit.size)},  # no Markdown
    }
    return list(embeds)


def _field(name: str, value: str, *, inline: bool = True) -> JsonValue:
    return {"name": name[: _MOST["field name"]], "value": value, "inline": inline}


def _acts(document: Document, room: int) -> Iterator[str]:
    """Yield what can be done about it, commands first, as long as there is room."""
    commands = [_DIALECT.command(command[:_MOST_COMMAND]) for command in document.commands]
    for act in [*commands, *(_DIALECT.link(label, url) for label, url in document.links)]:
        room -= len(act) + 1
        if room >= 0:
            yield act


def _length(embed: JsonValue) -> int:
    """Return how much of the limit for all embeds one takes."""
    match embed:
        case dict():
            return sum(_length(value) for key, value in embed.items() if key not in {"color", "inline"})
        case list():
            return sum(map(_length, embed))
        case _:
            return _DIALECT.unit.size(str(embed))


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt: Discord is to answer with the message once it has it."""
    parts = urlsplit(target.url)
    thread = target.options.get("thread_id", "")
    added = [("wait", "true"), *([("thread_id", str(thread))] if thread else [])]
    given = [(key, value) for key, value in parse_qsl(parts.query) if key not in dict(added)]
    url = urlunsplit(parts._replace(query=urlencode([*given, *added])))
    return replace(posted(target, message, delivery_id, now), url=url)


_UNKNOWN_WEBHOOK: Final = 10015
_INVALID_TOKEN: Final = 50027


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what an answer means: the message itself is the receipt, and a hook that is gone stays gone."""
    fields = fields_of(reply)
    code = code_of(fields, "code")
    if reply.status == 429:
        return _throttled(reply)
    if reply.status == 404 or code in {_UNKNOWN_WEBHOOK, _INVALID_TOKEN}:
        detail = f"Discord answered {reply.status}: there is no such webhook any more"
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail, permanent=True)
    if not is_good(reply):
        return None
    if text_of(fields, "id"):
        return AttemptResult(AttemptOutcome.DELIVERED, "Discord answered with the message")
    if reply.status == 204:
        unsaid = "something between us and Discord dropped `wait`: the message was taken, and not confirmed"
        return AttemptResult(AttemptOutcome.AMBIGUOUS, unsaid, permanent=True)
    return unfit_answer(reply, "Discord")


def _throttled(reply: HttpResponse) -> AttemptResult:
    fields = fields_of(reply)
    headers = (_number(reply.header(name)) for name in ("retry-after", "x-ratelimit-reset-after"))
    asked = [wait for wait in (seconds_of(fields, "retry_after"), *headers) if wait is not None]
    if fields.get("global") is True or reply.header("x-ratelimit-global") == "true":
        detail = "Discord asks all that comes from here to slow down"
    elif not asked and reply.header("retry-after") is None:
        # What it answers to an address that it has banned names no time; bans last ten minutes and more.
        return AttemptResult(
            AttemptOutcome.THROTTLED, "Discord takes nothing from this address for now", retry_after_s=_BANNED_S
        )
    else:
        detail = "Discord asks to slow down"
    return AttemptResult(AttemptOutcome.THROTTLED, detail, retry_after_s=max(asked, default=None))


def _number(text: str | None) -> float | None:
    if text and re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{1,9})?", text, re.ASCII):
        return float(text)
    return None


FORMAT: Final = Format(render, judge, seal)
