"""Hold a run to its models: the chain, with what is known of each at this moment, or what the run lacks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from kova_auto.core.job import Job
from kova_auto.core.pin import ModelPin
from kova_auto.core.price import Price
from kova_auto.core.provider import Provider, WireProtocol
from kova_auto.llm.capability import capability
from kova_auto.llm.choice import NoModel, Pin, pick, provider_of, wants_server
from kova_auto.llm.pricing import EXTRA, has_prices, price_of
from kova_auto.threads import aside

DEMO: Final = "demo"
"""What to expect of a model in this process: it is there to try things out."""

Prices = Callable[[Provider, str, datetime], Price | None]


@dataclass(frozen=True, slots=True)
class Chain:
    """Hold what a run will ask.

    Attributes:
        pins: In the order in which they are tried; none where a script is played.
        lacks: Why the run must not begin; empty where it may.
        key: The key of the job that a lack is about.
    """

    pins: tuple[ModelPin, ...] = ()
    lacks: str = ""
    key: str = "model"

    @property
    def scripted(self) -> bool:
        """Say whether a script is played, because no model can be asked."""
        return not self.pins and not self.lacks

    @property
    def unpriced(self) -> tuple[str, ...]:
        """Return the models whose price nobody knows."""
        return tuple(pin.name for pin in self.pins if pin.price is None)


@dataclass(frozen=True, slots=True)
class Pinning:
    """Find the chain of a job.

    Attributes:
        providers: Configured ones, by name.
        server: Finds a model that this machine serves, for an `auto` that no configured provider answers.
        prices: Says what a model costs at an instant.
    """

    providers: Mapping[str, Provider]
    server: Callable[[], Awaitable[Pin | None]]
    prices: Prices = price_of

    async def chain(self, job: Job, now: datetime) -> Chain:
        """Return what a run of the job that is opened now will ask.

        Raises:
            ConfigError: The job names no provider that anybody knows, or `auto` has no default model.
        """
        chain = await aside(partial(self.without_server, job, now))
        return chain or await self.with_server(job, now)

    def without_server(self, job: Job, now: datetime) -> Chain | None:
        """Return the chain of a job; None where it depends on what this machine serves. Fetches secrets.

        Raises:
            ConfigError: As `chain`.
        """
        return None if wants_server(job.models, self.providers) else self._chain(job, None, now)

    async def with_server(self, job: Job, now: datetime) -> Chain:
        """Return the chain of a job that depends on what this machine serves.

        Raises:
            ConfigError: As `chain`.
        """
        return await aside(partial(self._chain, job, await self.server(), now))

    def _chain(self, job: Job, found: Pin | None, now: datetime) -> Chain:
        chosen = pick(job.models, self.providers, has_script=job.script_text is not None, found=found)
        if isinstance(chosen, NoModel):
            return Chain(lacks=chosen.reason)
        chain = Chain(tuple(self._pinned(pin, now) for pin in chosen if not pin.scripted))
        if job.bounds_money and chain.unpriced:
            return Chain(chain.pins, lacks=_unpriced(chain.unpriced), key="limits")
        return chain

    def _pinned(self, pin: Pin, now: datetime) -> ModelPin:
        provider = provider_of(pin.provider, self.providers)
        price = self.prices(provider, pin.model, now)
        quality = DEMO if provider.protocol is WireProtocol.LOCAL else ""
        return ModelPin(name=pin.name, capability=capability(provider, pin.model), price=price, quality=quality)


def _unpriced(names: Iterable[str]) -> str:
    """Say that a ceiling in money cannot be held, and the two ways out."""
    first, *others = names
    provider, _, model = first.partition("/")
    install = "pip install --upgrade genai-prices" if has_prices() else EXTRA
    written = f'price = {{ input = …, output = … }} to [providers.{provider}.models."{model}"] in the settings'
    more = f" (and of {len(others)} more)" if others else ""
    return f"a ceiling in money wants the price of {first}{more}, which is not known: {install}, or add {written}"
