"""Render for Telegram's bots, put the bot's token into the address, and judge what is answered.

Text and its styles go apart: the text as it is, and a list of entities that say where each style begins and how long it
is, in UTF-16 units. So no character has to be escaped, and nothing that is cut can leave a tag open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final
from urllib.parse import quote

from pydantic import JsonValue

from kova_auto.core.delivery.document import Document, describe
from kova_auto.core.delivery.format import Form, Format, Rendered, Sealed, Wish, encode, posted
from kova_auto.core.delivery.formats import packing
from kova_auto.core.delivery.formats.answer import code_of, fields_of, is_good, seconds_of, text_of, unfit_answer
from kova_auto.core.delivery.formats.commonmark import hushed
from kova_auto.core.delivery.formats.markdown import Block, Preformatted, parse
from kova_auto.core.delivery.formats.page import SIGNS, footer
from kova_auto.core.delivery.formats.sealing import below, token_of
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.outcome import AttemptOutcome, AttemptResult
from kova_auto.core.delivery.target import Target
from kova_auto.core.delivery.text import cut, excerpt
from kova_auto.core.net.http import HttpResponse

_TEXT: Final = LIMITS["telegram"]["text"]
_MOST_ENTITIES: Final = LIMITS["telegram"]["entities"].most
_MAX_URL: Final = 2000
# From rich to condensed: characters of Markdown in the body, and how many facts.
_LADDER: Final = ((3600, 12), (2800, 12), (2000, 6), (1000, 3), (400, 3))
# Where there are too many, the first of these stay.
_TELLING: Final = ("text_link", "pre", "code", "blockquote", "bold", "strikethrough", "italic")


@dataclass(frozen=True, slots=True)
class _Entity:
    """Hold where a style begins and how far it reaches, in UTF-16 units."""

    kind: str
    offset: int
    length: int
    url: str = ""

    def spelled(self) -> dict[str, JsonValue]:
        """Return it as Telegram takes it."""
        link: dict[str, JsonValue] = {"url": self.url} if self.url else {}
        return {"type": self.kind, "offset": self.offset, "length": self.length, **link}


@dataclass
class _Composer:
    """Put a text together with its entities."""

    text: str = ""
    size: int = 0
    entities: list[_Entity] = field(default_factory=list)

    def add(self, text: str, *kinds: str, url: str = "") -> None:
        """Add text in some styles; what calls somebody is broken, but in code, where nothing is looked for."""
        shown = text if {"pre", "code"} & {*kinds} else hushed(text)
        length = _TEXT.unit.size(shown)
        if shown.strip():
            links = {"text_link": url}
            self.entities += [_Entity(kind, self.size, length, links.get(kind, "")) for kind in kinds]
        self.text += shown
        self.size += length

    def quote(self, start: int) -> None:
        """Make a quotation of all that was added since."""
        if self.size > start:
            self.entities.append(_Entity("blockquote", start, self.size - start))

    def telling(self) -> list[JsonValue]:
        """Return the entities that are sent, in the order of the text, the longer first."""
        ranked = sorted(self.entities, key=lambda one: _TELLING.index(one.kind))[:_MOST_ENTITIES]
        return [one.spelled() for one in sorted(ranked, key=lambda one: (one.offset, -one.length))]


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return the richest message that fits, or a text without styles where that was not taken."""
    document = describe(notice)
    if wish.form is Form.RICH:
        for characters, facts in _LADDER:
            composer = _composed(document, wish, characters, facts)
            if composer.size <= _TEXT.most:
                return _message(wish, composer.text, composer.telling())
    return _message(wish, _plain(document, wish), [])


def _message(wish: Wish, text: str, entities: list[JsonValue]) -> Rendered:
    message: dict[str, JsonValue] = {"chat_id": wish.text("chat_id"), "text": text}
    if entities:
        message["entities"] = entities
    if topic := wish.text("topic_id"):
        message["message_thread_id"] = int(topic)
    return Rendered(encode({**message, "link_preview_options": {"is_disabled": True}}))


def _composed(document: Document, wish: Wish, characters: int, facts: int) -> _Composer:
    composer = _Composer()
    composer.add(_title(document), "bold")
    for number, (label, value) in enumerate(document.facts[:facts]):
        composer.add("\n" if number else "\n\n")
        composer.add(label, "bold")
        composer.add(f": {cut(value, 300)}")
    for block in parse(excerpt(document.body_markdown, characters).text):
        if not (isinstance(block, Preformatted) and not block.text):
            composer.add("\n" if not isinstance(block, Preformatted) and block.tight else "\n\n")
            _add_block(composer, block)
    for number, command in enumerate(document.commands):
        composer.add("\n" if number else "\n\n")
        composer.add(cut(command, 400), "code")
    for label, url in document.links:
        composer.add("\n\n")
        composer.add(label, "text_link", url=url)
    composer.add("\n\n")
    composer.add(cut(footer(document, wish), 300), "italic")
    return composer


def _title(document: Document) -> str:
    return cut(f"{SIGNS[document.status]} {document.title}", 300)


def _add_block(composer: _Composer, block: Block) -> None:
    if isinstance(block, Preformatted):
        composer.add(block.text, "pre")
        return
    start = composer.size
    composer.add(block.lead.replace("    ", "\u2003"))
    for span in packing.runs(block.spans):
        # Code takes no other style, and a link with an address that is too long is only its label.
        linked = bool(span.href) and len(span.href) <= _MAX_URL and not span.href.startswith("mailto:")
        styles = {"bold": span.bold, "italic": span.italic, "strikethrough": span.strike, "text_link": linked}
        kinds = ["code"] if span.code and not linked else [kind for kind, wanted in styles.items() if wanted]
        composer.add(span.text or ("link" if linked else ""), *kinds, url=span.href)
    if block.quoted:
        composer.quote(start)


def _plain(document: Document, wish: Wish) -> str:
    return hushed("\n\n".join(filter(None, _plain_parts(document, wish))))


def _plain_parts(document: Document, wish: Wish) -> Iterator[str]:
    yield _title(document)
    yield cut("\n".join(f"{label}: {cut(value, 100)}" for label, value in document.facts), 600)
    yield excerpt(document.body_markdown, 400).text
    yield "\n".join(cut(command, 300) for command in document.commands)
    yield "\n".join(cut(url, 300) for _, url in document.links)
    yield cut(footer(document, wish), 300)


def seal(target: Target, message: Rendered, delivery_id: str, now: datetime) -> Sealed:
    """Return the request of one attempt, whose address holds the bot's token.

    Raises:
        ConfigError: There is no token.
    """
    token = token_of(target, "the token of the bot, as BotFather gives it")
    url = below(target.url, f"/bot{quote(token, safe=':')}/sendMessage")
    return replace(posted(target, message, delivery_id, now), url=url)


# What Telegram says of a chat that will not take messages of ours, whatever is in them.
_CLOSED: Final = (
    *("chat not found", "not enough rights", "have no rights", "need administrator rights", "chat_write_forbidden"),
    *("topic_closed", "thread not found", "topic_deleted", "peer_id_invalid", "user_id_invalid", "chat_restricted"),
)


def judge(reply: HttpResponse) -> AttemptResult | None:
    """Return what an answer means: `"ok":true` alone is good; the rest says why, and what to do."""
    fields = fields_of(reply)
    if is_good(reply):
        if fields.get("ok") is True:
            return AttemptResult(AttemptOutcome.DELIVERED, "Telegram answered ok")
        return unfit_answer(reply, "Telegram")
    more = fields.get("parameters")
    hints = more if isinstance(more, dict) else {}
    said = text_of(fields, "description").lower()
    if reply.status == 429:
        waits = seconds_of(hints, "retry_after")
        return AttemptResult(AttemptOutcome.THROTTLED, "Telegram asks to slow down", retry_after_s=waits)
    if (moved := code_of(hints, "migrate_to_chat_id")) is not None:
        return _refused(reply, f"the group has become a supergroup: set its new chat_id, {moved}")
    if reply.status in {401, 404}:
        return _refused(reply, "there is no such bot: is the token right?")
    if reply.status == 403:
        return _refused(reply, "the bot was blocked or taken out of the chat")
    if reply.status == 400 and any(part in said for part in _CLOSED):
        detail = "Telegram answered 400: the chat or its topic is not there, or the bot may not write in it"
        return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail)
    return None


def _refused(reply: HttpResponse, why: str) -> AttemptResult:
    detail = f"Telegram answered {reply.status}: {why}"
    return AttemptResult(AttemptOutcome.BAD_ENDPOINT, detail, permanent=True)


FORMAT: Final = Format(render, judge, seal)
