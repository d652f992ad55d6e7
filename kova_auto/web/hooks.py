"""Take requests at `/hooks/NAME`: what is cheap to refuse is refused before the body is read, in a fixed order.

Source: reference on webhooks, 4.1.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Final

from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from kova_auto.core.inbound import answer
from kova_auto.core.inbound.answer import Answer
from kova_auto.core.inbound.body import FORM, JSON, media_type
from kova_auto.core.inbound.port import Door
from kova_auto.core.inbound.request import Inbound
from kova_auto.core.inbound.schemes import scheme_of
from kova_auto.core.job import WebhookTable
from kova_auto.web.answers import spelled
from kova_auto.web.reading import GoneError, TooLargeError, body_of, drop, is_too_long

LOG = logging.getLogger(__name__)
PATH: Final = "/hooks/{name}"


def hook_route(door: Door, patience_s: float) -> Route:
    """Return the route of all hooks; a body may take `patience_s` to come."""
    return Route(PATH, endpoint=_Hooks(door, patience_s))


@dataclass(frozen=True, slots=True)
class _Hooks:
    """Be an application that takes requests to hooks."""

    door: Door
    patience_s: float

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Inbound(tuple(scope["headers"]), b"")
        name = scope["path_params"]["name"]
        early = _refused(scope["method"], self.door.hook(name), request)
        try:
            found = early or await self._taken(name, request, receive)
        except GoneError:
            return
        if found.status in _UNREAD and not request.one(b"expect"):
            await drop(receive)
        await spelled(found)(scope, receive, send)

    async def _taken(self, name: str, head: Inbound, receive: Receive) -> Answer:
        hook = self.door.hook(name)
        if hook is None:
            return answer.NOT_FOUND
        try:
            body = await body_of(receive, hook.max_bytes, self.patience_s)
        except TooLargeError:
            return answer.TOO_LARGE
        except TimeoutError:
            return answer.TOO_SLOW
        try:
            return await self.door.take(name, Inbound(head.headers, body), media_type(head.one(b"content-type")))
        except Exception:  # As in engine/service.py: whoever asks is told, and the service goes on.
            LOG.exception("a request to hook %s could not be answered, for a reason that nobody foresaw", name)
            return answer.FAILED


_UNREAD: Final = frozenset({404, 405, 413, 415})


def _refused(method: str, hook: WebhookTable | None, request: Inbound) -> Answer | None:
    """Return why a request is refused for what its head says."""
    if method != "POST":
        return answer.NOT_ALLOWED
    if hook is None:
        return answer.NOT_FOUND
    if is_too_long(request.one(b"content-length"), hook.max_bytes):
        return answer.TOO_LARGE
    kinds = {JSON} if scheme_of(hook).form is None else {JSON, FORM}
    is_packed = request.one(b"content-encoding") not in {b"", b"identity"}
    if is_packed or media_type(request.one(b"content-type")) not in kinds:
        return answer.WRONG_TYPE
    return None
