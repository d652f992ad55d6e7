"""Build the listener for requests from outside, where the settings say that there is one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING

from kova_auto.app.answering import AnswerDesk, answer_key
from kova_auto.app.house import House
from kova_auto.app.inbound import InboundDesk
from kova_auto.core.answering.buttons import Pressers
from kova_auto.core.errors import ConfigError
from kova_auto.net.exchange import GuardedExchange
from kova_auto.scheduling.book import JobBook

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

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
    routes = [hook_route(desk, patience_s), *_answering(house, patience_s)]
    return Listener(site(routes), bound(*place), patience_s=patience_s, most=table.max_connections).serve


def _answering(house: House, patience_s: float) -> list[BaseRoute]:
    """Return the routes by which people answer: links, and the buttons of Slack where somebody may press them."""
    from kova_auto.web.asked import answer_route
    from kova_auto.web.buttons import button_route

    settings, slack = house.settings, house.settings.ingress.slack
    inbox = AnswerDesk(
        answer_key(settings.data_dir),
        house.store.journal,
        house.control,
        house.clock,
        house.vault,
        GuardedExchange(),
        slack,
    )
    routes: list[BaseRoute] = [answer_route(inbox, settings.ingress.url_of("/"), patience_s)]
    if slack:
        pressers = Pressers(slack.team, frozenset(slack.users), slack.app or "")
        routes.append(button_route(inbox, pressers, house.clock, patience_s))
    return routes
