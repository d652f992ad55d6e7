"""Find a server of models on this machine: only loopback is ever asked, and only where `auto` finds nobody else."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Final
from urllib.parse import urlsplit

from kova_auto.core.errors import ConfigError, ModelError
from kova_auto.core.ports import SteadyClock
from kova_auto.core.provider import BUILT_IN, Provider, WireProtocol
from kova_auto.llm.catalog import models_at
from kova_auto.llm.choice import Pin

CONNECT_S: Final = 0.3
LISTED_S: Final = 2.0
KEPT_S: Final = 60.0

Ask = Callable[[Provider], Awaitable[tuple[str, ...]]]


async def nobody() -> None:
    """Find no server: nobody is to be asked."""


def local_servers(providers: Mapping[str, Provider]) -> Iterator[Provider]:
    """Yield the servers on this machine that want no key: those that are configured, then the built-in ones."""
    for name in (*providers, *(name for name in BUILT_IN if name not in providers)):
        with contextlib.suppress(ConfigError):  # Its secret cannot be had; it is none of these then.
            provider = providers[name] if name in providers else BUILT_IN[name]
            is_served = provider.is_local and provider.protocol is not WireProtocol.LOCAL
            if is_served and not provider.api_key and not provider.needs_key:
                yield provider


class Discovery:
    """Ask the servers on this machine what they serve; an answer, or that there is none, is kept for a while."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        clock: SteadyClock,
        ask: Ask = models_at,
        *,
        connect_s: float = CONNECT_S,
        listed_s: float = LISTED_S,
    ) -> None:
        """Take the configured providers; nobody is asked before it is needed.

        Args:
            providers: By name.
            clock: Tells how old an answer is.
            ask: Returns what a provider serves; raises ModelError or ConfigError.
            connect_s: For a server to be there.
            listed_s: For it to have answered.
        """
        self._providers, self._clock, self._ask = providers, clock, ask
        self._connect_s, self._listed_s = connect_s, listed_s
        self._asking = asyncio.Lock()
        self._kept_until: float | None = None
        self._found: Pin | None = None

    async def __call__(self) -> Pin | None:
        """Return the first model of the first server that serves one."""
        async with self._asking:
            if self._kept_until is None or self._clock.steady_s() >= self._kept_until:
                self._found = next(iter(await self.everyone()), None)
                self._kept_until = self._clock.steady_s() + KEPT_S
            return self._found

    async def everyone(self) -> list[Pin]:
        """Ask every server at the same time; return the first model of each that serves one, in their order."""
        servers = await asyncio.to_thread(lambda: list(local_servers(self._providers)))
        served = await asyncio.gather(*(self._served(provider) for provider in servers))
        return [pin for pin in served if pin]

    async def _served(self, provider: Provider) -> Pin | None:
        try:
            async with asyncio.timeout(self._listed_s):
                models = await self._ask(provider) if await _listens(provider, self._connect_s) else ()
        except (TimeoutError, ModelError, ConfigError):
            return None
        talks = (model for model in models if "embed" not in model.lower())
        return next((Pin(provider.name, model) for model in talks), None)


async def _listens(provider: Provider, within_s: float) -> bool:
    """Say whether anybody is there at all: to ask costs nothing then, not even the import of what asks."""
    place = urlsplit(provider.base_url)
    port = place.port or (443 if place.scheme == "https" else 80)
    try:
        async with asyncio.timeout(within_s):
            _, writer = await asyncio.open_connection(place.hostname, port)
    except (TimeoutError, OSError):
        return False
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return True
