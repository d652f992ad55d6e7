"""Take the presses of buttons that Slack sends: verified, from people who may, answered at once."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kova_auto.core.answering.asked import LARGEST_FORM
from kova_auto.core.answering.buttons import Ignored, Pressers, note_to_one, press_of, replacement
from kova_auto.core.answering.port import Inbox
from kova_auto.core.inbound import answer
from kova_auto.core.inbound.answer import Answer
from kova_auto.core.inbound.body import FORM, media_type
from kova_auto.core.inbound.request import Inbound
from kova_auto.core.inbound.sources.slack import SLACK
from kova_auto.core.ports import Clock
from kova_auto.web.answers import PLAIN, spelled
from kova_auto.web.reading import GoneError, TooLargeError, body_of, is_too_long

LOG = logging.getLogger(__name__)
PATH: Final = "/slack/actions"
_TAKEN: Final = 200


def button_route(inbox: Inbox, allowed: Pressers, clock: Clock, patience_s: float) -> Route:
    """Return the route of Slack's buttons."""
    return Route(PATH, endpoint=_Buttons(inbox, allowed, clock, patience_s))


@dataclass(frozen=True, slots=True)
class _Buttons:
    """Be an application that takes presses."""

    inbox: Inbox
    allowed: Pressers
    clock: Clock
    patience_s: float

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        head = Inbound(tuple(scope["headers"]), b"")
        try:
            found = _refused(scope["method"], head) or await self._pressed(head, receive)
        except GoneError:
            return
        except Exception:  # As in web/hooks.py.
            LOG.exception("a press of a button could not be answered, for a reason that nobody foresaw")
            found = answer.FAILED
        response = spelled(found) if found else Response(b"", _TAKEN, dict(PLAIN))
        await response(scope, receive, send)

    async def _pressed(self, head: Inbound, receive: Receive) -> Answer | None:
        try:
            body = await body_of(receive, LARGEST_FORM, self.patience_s)
        except TooLargeError:
            return answer.TOO_LARGE
        except TimeoutError:
            return answer.TOO_SLOW
        keys = self.inbox.keys()
        if not keys:
            return answer.BUSY
        if SLACK.check(keys, Inbound(head.headers, body), self.clock.now().timestamp()):
            return answer.UNAUTHORIZED
        press = press_of(body, self.allowed)
        if isinstance(press, Ignored):
            if press is not Ignored.OTHER:
                LOG.warning("a press of a button is ignored: %s", press)
            return None
        came = await self.inbox.press(press)
        is_over = came.status in _FINAL
        self.inbox.reply(press.reply_url, (replacement if is_over else note_to_one)(f"{came.title}: {came.text}"))
        return None


_FINAL: Final = frozenset({200, 404, 409, 410})
"""With these the message's buttons are of no use any more."""


def _refused(method: str, head: Inbound) -> Answer | None:
    if method != "POST":
        return answer.NOT_ALLOWED
    if is_too_long(head.one(b"content-length"), LARGEST_FORM):
        return answer.TOO_LARGE
    return None if media_type(head.one(b"content-type")) == FORM else answer.WRONG_TYPE
