"""Bound what a connection may do before it has said anything: it has a few seconds for its head, and few neighbours."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

_FULL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\nretry-after: 10\r\n"
    b"content-type: application/json\r\ncontent-length: 23\r\n\r\n" + b'{"error": "try again"}\n'
)


class BoundedConnection(H11Protocol):
    """Be one connection to the listener; `limits` says what all of them share.

    uvicorn has no timer for the head of a request, and counts connections only once a head is there.
    """

    def __init__(self, *args: Any, patience_s: float, most: int, **kwargs: Any) -> None:  # noqa: ANN401 - uvicorn's
        """Take uvicorn's arguments.

        Args:
            args: uvicorn's.
            patience_s: For the whole head.
            most: Connections at once.
            kwargs: uvicorn's.
        """
        super().__init__(*args, **kwargs)
        self.access_log = False  # uvicorn asks whether anybody would listen, which the root logger always does.
        self._patience_s, self._most = patience_s, most
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin, unless there are too many already."""
        super().connection_made(transport)
        if len(self.connections) > self._most:
            transport.write(_FULL)
            transport.close()
            return
        self._timer = self.loop.call_later(self._patience_s, transport.abort)

    def handle_events(self) -> None:
        """Go on; once the head is there, the body has its own time."""
        super().handle_events()
        if self.cycle is not None:
            self._end_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        self._end_timer()
        super().connection_lost(exc)

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
