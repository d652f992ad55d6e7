"""Render for mailboxes; the endpoint's address is Apprise's, `mailto://` or `mailtos://`.

The mail is HTML of our own making, with the same as text beside it; nothing in it is fetched when it is opened.
"""

from __future__ import annotations

from typing import Final

from kova_auto.core.delivery.document import describe
from kova_auto.core.delivery.format import Carrier, Form, Format, Rendered, Wish
from kova_auto.core.delivery.formats.carried import judge, rendered, sealed_where, title_of
from kova_auto.core.delivery.formats.html import GAP, LINE_END, Html
from kova_auto.core.delivery.formats.page import PLAIN, Page
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.notifier import Note

MAX_BODY: Final = 40_000
MAX_PLAIN: Final = 2500
_MOST: Final = LIMITS["email"]["body"].most // 2
_MOST_SUBJECT: Final = LIMITS["email"]["subject"].most
_SCHEMES: Final = frozenset({"mailto", "mailtos"})


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return a mail; in its plain form of text alone, and short."""
    document, is_html = describe(notice), wish.form is Form.RICH
    rich = Page(document, wish, Html(), titled=False, line_end=LINE_END, gap=GAP)
    page, most = (rich, MAX_BODY) if is_html else (Page(document, wish, PLAIN, titled=False), MAX_PLAIN)
    title, text = title_of(document, _MOST_SUBJECT), page.within(_MOST, most=most)
    return rendered(Note(title=title, text=text, is_html=is_html, status=document.status))


def _refusal(scheme: str) -> str:
    return "" if scheme in _SCHEMES else "wanted a URL that begins with mailto:// or mailtos://"


FORMAT: Final = Format(render, judge, sealed_where(_refusal), carrier=Carrier.APPRISE)
