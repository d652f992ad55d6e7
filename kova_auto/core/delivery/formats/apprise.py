"""Render for the long tail of services that Apprise knows: a short plain text, which all of them take.

Those that have a format of their own here are refused: Apprise reports as sent what some of them have thrown away, and
lets a model call people there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kova_auto.core.delivery.document import describe
from kova_auto.core.delivery.format import Carrier, Format, Rendered, Wish
from kova_auto.core.delivery.formats.carried import judge, rendered, sealed_where, title_of
from kova_auto.core.delivery.formats.page import PLAIN, Page
from kova_auto.core.delivery.limits import LIMITS
from kova_auto.core.delivery.notice import Notice
from kova_auto.core.delivery.notifier import Note

_MOST: Final = LIMITS["apprise"]["text"].most
_MOST_TITLE: Final = LIMITS["apprise"]["title"].most
_OURS: Final[Mapping[str, str]] = {
    "bark": "bark",
    "barks": "bark",
    "dingtalk": "dingtalk",
    "discord": "discord",
    "feishu": "feishu",
    "gchat": "google-chat",
    "lark": "feishu",
    "mailto": "email",
    "mailtos": "email",
    "mmost": "mattermost",
    "mmosts": "mattermost",
    "msteams": "teams",
    "ntfy": "ntfy",
    "ntfys": "ntfy",
    "pagerduty": "pagerduty",
    "slack": "slack",
    "tgram": "telegram",
    "wecombot": "wecom",
    "workflow": "teams",
    "workflows": "teams",
}


def render(notice: Notice, wish: Wish) -> Rendered:
    """Return a note of plain text, in either form."""
    document = describe(notice)
    title = title_of(document, _MOST_TITLE)
    text = Page(document, wish, PLAIN, titled=False).within(_MOST, most=_MOST)
    return rendered(Note(title=title, text=text, status=document.status))


def _refusal(scheme: str) -> str:
    ours = _OURS.get(scheme)
    return f'wanted format = "{ours}" for an address of this kind, which says what came of it' if ours else ""


FORMAT: Final = Format(render, judge, sealed_where(_refusal), carrier=Carrier.APPRISE)
