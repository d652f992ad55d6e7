"""Listen, and serve the routes that the house hands over.

uvicorn's own server takes the process's signals, ends it where it cannot listen, and wakes ten times a second: only its
protocol is used. It trusts no proxy's headers, names neither itself nor the path in any log, and hangs on nobody at
the end.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Sequence
from functools import partial
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from uvicorn.config import Config
from uvicorn.server import ServerState

from kova_auto.core.errors import ConfigError
from kova_auto.core.inbound import answer
from kova_auto.core.inbound.answer import Answer
from kova_auto.web.answers import spelled
from kova_auto.web.connection import BoundedConnection

LOG = logging.getLogger(__name__)
LARGEST_HEAD: Final = 16_384
GRACE_S: Final = 5.0
_BACKLOG: Final = 128


def site(routes: Sequence[BaseRoute]) -> Starlette:
    """Return the application of these routes: everything else is not found, in the same shape as any other no."""
    handlers = {HTTPException: _refuse, Exception: _fail}
    app = Starlette(routes=list(routes), exception_handlers=handlers)  # type: ignore[arg-type]
    app.router.redirect_slashes = False
    return app


async def _refuse(request: Request, exc: HTTPException) -> Response:
    del request
    known = {404: answer.NOT_FOUND, 405: answer.NOT_ALLOWED}
    return spelled(known.get(exc.status_code, Answer(exc.status_code, {"error": "refused"})))


async def _fail(request: Request, exc: Exception) -> Response:
    del request, exc
    return spelled(answer.FAILED)


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address.

    Raises:
        ConfigError: It cannot be.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
    except OSError as exc:
        found.close()
        message = f"wanted to listen on {host} port {port}: {exc.strerror or exc}"
        raise ConfigError(message, key="ingress.listen", hint="another program may listen there already") from exc
    return found


class Listener:
    """Serve an application on one bound socket."""

    def __init__(self, app: Starlette, sock: socket.socket, *, patience_s: float, most: int) -> None:
        """Take what it serves.

        Args:
            app: Of `site`.
            sock: Of `bound`; closed at the end.
            patience_s: For the head of a request.
            most: Connections at once.
        """
        self._sock = sock
        self._config = Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            h11_max_incomplete_event_size=LARGEST_HEAD,
        )
        self._state = ServerState()
        self._connection = partial(BoundedConnection, self._config, self._state, {}, patience_s=patience_s, most=most)
        # Whoever sends what is no HTTP must not fill the log.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)

    @property
    def port(self) -> int:
        """Return on which port it listens."""
        port: int = self._sock.getsockname()[1]
        return port

    async def serve(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set; what is being answered then has a few seconds to come to its end."""
        self._config.load()
        server = await asyncio.get_running_loop().create_server(self._connection, sock=self._sock, backlog=_BACKLOG)
        LOG.info("listening for requests from outside on %s port %s", *self._sock.getsockname()[:2])
        try:
            await stop.wait()
        finally:
            server.close()
            await self._end()

    async def _end(self) -> None:
        for connection in list(self._state.connections):
            connection.shutdown()
        tasks = list(self._state.tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=GRACE_S)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in list(self._state.connections):
            connection.transport.abort()
