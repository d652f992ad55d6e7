"""Read what Slack sends when somebody presses a button, and write what then stands in the message's place.

Source: Slack, "Handling user interaction in your Slack apps"; reference on webhooks, 4.3. Slack's user id is an
identity inside its team only, so that both are checked. Who sent it, `core/inbound/sources/slack.py` has verified.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from urllib.parse import parse_qs

from pydantic import JsonValue

from kova_auto.core.approval.levels import Decision
from kova_auto.core.delivery.format import encode
from kova_auto.core.delivery.formats.mrkdwn import escape
from kova_auto.core.delivery.text import one_line

REPLY_HOST: Final = "hooks.slack.com"
"""The only host that is answered; what asks for another is not believed."""
ALLOW: Final = "kova_allow"
DENY: Final = "kova_deny"
OPEN: Final = "kova_open"
"""Ids of the buttons; the last only opens a page, and is told all the same."""
_DECISIONS: Final = {ALLOW: Decision.ONCE, DENY: Decision.DENY}


class Ignored(StrEnum):
    """Say why a press does nothing."""

    UNREADABLE = "it does not read as a button's"
    OTHER = "it is no button of ours"
    TEAM = "it comes from a team that the settings do not name"
    APP = "it comes from another app than the settings name"
    USER = "the settings do not let this user answer"


@dataclass(frozen=True, slots=True)
class Press:
    """Hold one press of a button.

    Attributes:
        token: Of the link that the button stands for.
        reply_url: Where the message may be replaced; a credential. Empty where Slack sent none.
    """

    decision: Decision
    token: str = field(repr=False)
    team: str
    user: str
    reply_url: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Pressers:
    """Say who may press: in which team, through which app, which users."""

    team: str
    users: Collection[str]
    app: str = ""


def press_of(body: bytes, allowed: Pressers) -> Press | Ignored:
    """Return what a request that was verified says, or why nothing is done about it."""
    try:
        (text,) = parse_qs(body.decode("ascii"), strict_parsing=True, errors="strict", max_num_fields=8)["payload"]
        payload = json.loads(text)
    except (ValueError, KeyError, RecursionError):
        return Ignored.UNREADABLE
    team, user, app = _at(payload, "team", "id"), _at(payload, "user", "id"), _at(payload, "api_app_id")
    actions = payload.get("actions") if isinstance(payload, dict) else None
    action = actions[0] if isinstance(actions, list) and len(actions) == 1 else None
    decision = _DECISIONS.get(_at(action, "action_id"))
    if _at(payload, "type") != "block_actions" or decision is None:
        return Ignored.OTHER
    if team != allowed.team:
        return Ignored.TEAM
    if allowed.app and app != allowed.app:
        return Ignored.APP
    if user not in allowed.users:
        return Ignored.USER
    return Press(decision, _at(action, "value"), team, user, _at(payload, "response_url"))


def _at(value: JsonValue, *path: str) -> str:
    """Return the text at a path; empty where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def replacement(text: str) -> bytes:
    """Return what replaces the message with its buttons: they are of no use any more."""
    line = escape(one_line(text, 1000))
    block: JsonValue = {"type": "section", "text": {"type": "mrkdwn", "text": line, "verbatim": True}}
    return encode({"replace_original": True, "text": line, "blocks": [block]})


def note_to_one(text: str) -> bytes:
    """Return what only the person who pressed reads; the message stays as it is."""
    return encode({"response_type": "ephemeral", "replace_original": False, "text": escape(one_line(text, 1000))})
