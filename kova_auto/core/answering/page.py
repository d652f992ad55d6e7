"""Write the small pages that a link leads to: text of others is text, nothing is fetched, and no script runs."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from kova_auto.core.answering.asked import Asked, Shown
from kova_auto.core.delivery.text import visible

_STYLE: Final = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 2rem auto; padding: 0 1rem; color: #1b1b1b; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; }
pre { background: #f2f2f0; padding: .8rem; overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: #5c5c5c; } dd { margin: 0; overflow-wrap: anywhere; }
fieldset { border: 1px solid #c8c8c4; margin: 0 0 1rem; } label { display: block; }
textarea { width: 100%; box-sizing: border-box; font: inherit; }
button { font: inherit; padding: .5rem 1.4rem; margin: .6rem .6rem 0 0; border: 1px solid #555; border-radius: .3rem; }
button[value=once] { background: #17603a; color: #fff; } button[value=deny] { background: #fff; color: #8c1c1c; }
@media (prefers-color-scheme: dark) {
  body { background: #1b1b1b; color: #e8e8e6; } pre { background: #2a2a28; } dt { color: #a5a5a0; }
}
"""
_HASH: Final = b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

HEADERS: Final[Mapping[str, str]] = {
    "cache-control": "no-store",
    "connection": "close",
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
}
"""The headers of every page: its address is a credential, so nothing may keep it or pass it on."""


def question_page(asked: Shown) -> str:
    """Return the page that asks. It changes nothing: only its button, pressed, sends an answer."""
    document = asked.document
    facts = "".join(f"<dt>{_text(label)}</dt><dd>{_text(value)}</dd>" for label, value in document.facts)
    body = f"<pre>{_text(asked.arguments)}</pre>" if asked.arguments else ""
    fields = "".join(_fields(asked))
    allow = "Answer" if asked.questions else "Allow once"
    deny = "Do not answer" if asked.questions else "Deny"
    return _page(
        document.title,
        f"<dl>{facts}</dl>{body}"
        f'<form method="post">{fields}'
        '<label>Reason, for the record and for the model (may be left empty)<textarea name="note" rows="2" '
        'maxlength="2000"></textarea></label>'
        f'<button name="decision" value="once">{allow}</button>'
        f'<button name="decision" value="deny" formnovalidate>{deny}</button></form>'
        f"<p>This link is good until {_text(asked.until)}, for one answer. {_text(' · '.join(document.footer))}</p>",
    )


def _fields(asked: Shown) -> Iterator[str]:
    for number, question in enumerate(asked.questions):
        yield f"<fieldset><legend>{_text(question.title)}</legend>{''.join(_choices(number, question))}"
        needed = "" if question.choices else " required"
        label = "Or in your own words" if question.choices else "Your answer"
        yield f'<label>{label}<textarea name="answer-{number}" rows="2" maxlength="9000"{needed}></textarea></label>'
        yield "</fieldset>"


def _choices(number: int, question: Asked) -> Iterator[str]:
    kind = "checkbox" if question.several else "radio"
    for choice in question.choices:
        more = f" <small>{_text(choice.description)}</small>" if choice.description else ""
        value = escape(choice.title, quote=True)
        yield f'<label><input type="{kind}" name="choice-{number}" value="{value}"> {_text(choice.title)}{more}</label>'


def said_page(title: str, text: str) -> str:
    """Return a page that only says something."""
    return _page(title, f"<p>{_text(text)}</p>")


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body><h1>{_text(title)}</h1>{body}</body></html>\n"
    )


def _text(text: str) -> str:
    return escape(visible(text), quote=True)
