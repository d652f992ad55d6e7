"""Serve the page of a link, and take the answer that its button sends. Looking at it changes nothing."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kova_auto.core.answering.asked import LARGEST_FORM, Shown, filled
from kova_auto.core.answering.page import HEADERS, question_page, said_page
from kova_auto.core.answering.port import Closed, Inbox
from kova_auto.core.inbound.body import FORM, media_type
from kova_auto.core.inbound.request import Inbound
from kova_auto.web.reading import GoneError, TooLargeError, body_of, is_too_long

LOG = logging.getLogger(__name__)
PATH: Final = "/answer/{token}"
_SAME: Final = frozenset({b"", b"same-origin", b"none"})


def answer_route(inbox: Inbox, public_url: str, patience_s: float) -> Route:
    """Return the route of all links; `public_url` is what they begin with, and a form may take `patience_s` to come."""
    parts = urlsplit(public_url)
    return Route(PATH, endpoint=_Pages(inbox, f"{parts.scheme}://{parts.netloc}".encode(), patience_s))


@dataclass(frozen=True, slots=True)
class _Pages:
    """Be an application that shows questions and takes answers."""

    inbox: Inbox
    origin: bytes
    patience_s: float

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        token = scope["path_params"]["token"]
        request = Inbound(tuple(scope["headers"]), b"")
        try:
            match scope["method"]:
                case "GET" | "HEAD":
                    response = _page(await self.inbox.look(token))
                case "POST":
                    response = _page(await self._answered(token, request, receive))
                case _:
                    response = _page(_NOT_ALLOWED)
                    response.headers["allow"] = "GET, HEAD, POST"
        except GoneError:
            return
        except Exception:  # As in web/hooks.py.
            LOG.exception("a link could not be answered, for a reason that nobody foresaw")
            response = _page(_FAILED)
        await response(scope, receive, send)

    async def _answered(self, token: str, request: Inbound, receive: Receive) -> Closed:
        if request.one(b"origin") not in {b"", self.origin} or request.one(b"sec-fetch-site") not in _SAME:
            return _ELSEWHERE
        if media_type(request.one(b"content-type")) != FORM:
            return _UNREADABLE
        if is_too_long(request.one(b"content-length"), LARGEST_FORM):
            return _TOO_LONG
        try:
            body = await body_of(receive, LARGEST_FORM, self.patience_s)
        except TooLargeError:
            return _TOO_LONG
        except TimeoutError:
            return _TOO_SLOW
        page = await self.inbox.look(token)
        if isinstance(page, Closed):
            return page
        said = filled(body, page.questions)
        return _UNREADABLE if said is None else await self.inbox.answer(token, said)


_NOT_ALLOWED: Final = Closed(405, "Not allowed", "This address shows a question, and takes its answer.")
_FAILED: Final = Closed(500, "That went wrong", "Nothing was answered. Try again, or answer by kova-auto approvals.")
_ELSEWHERE: Final = Closed(403, "Not from here", "The answer was sent from another page: nothing was done.")
_UNREADABLE: Final = Closed(400, "Not understood", "What was sent is no answer: nothing was done.")
_TOO_LONG: Final = Closed(413, "Too long", "The answer is too long: nothing was done.")
_TOO_SLOW: Final = Closed(408, "Too slow", "The answer did not come in time: nothing was done.")


def _page(found: Shown | Closed) -> Response:
    if isinstance(found, Shown):
        return Response(question_page(found), 200, dict(HEADERS), media_type="text/html")
    return Response(said_page(found.title, found.text), found.status, dict(HEADERS), media_type="text/html")
