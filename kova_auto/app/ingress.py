"""Build the listener for requests from outside, where the settings say that there is one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine

from kova_auto.app.house import House
from kova_auto.app.inbound import InboundDesk
from kova_auto.core.errors import ConfigError
from kova_auto.scheduling.book import JobBook

LOG = logging.getLogger(__name__)
Serve = Callable[[asyncio.Event], Coroutine[None, None, None]]


def ingress(house: House, book: JobBook, ring: Callable[[], None]) -> Serve | None:
    """Return what listens until an event is set; None where nothing is to. The port is taken at once.

    Args:
        house: The service.
        book: Its jobs.
        ring: Wakes its schedule.

    Raises:
        ConfigError: Somebody else listens there.
    """
    table = house.settings.ingress
    if (place := table.place) is None:
        return None
    from kova_auto.web.hooks import hook_route
    from kova_auto.web.listener import Listener, bound, site

    with contextlib.suppress(ConfigError):  # The schedule says so; a request that comes first must find its hook.
        book.refresh()
    patience_s = table.patience.total_seconds()
    desk = InboundDesk(book, house.store.hooks, house.clock, house.vault, ring)
    routes = [hook_route(desk, patience_s)]
    listener = Listener(site(routes), bound(*place), patience_s=patience_s, most=table.max_connections)
    LOG.info("listening for requests from outside on %s port %s", place[0], listener.port)
    return listener.serve
