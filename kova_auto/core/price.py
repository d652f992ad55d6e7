"""What tokens cost: prices per million, and the one place where money is computed.

A run carries the prices that it began with, so that what it spent is a fold of its facts like everything else.
"""

from __future__ import annotations

from pydantic import Field

from kova_auto.core.message import Usage
from kova_auto.core.value import Value

MILLION = 1_000_000


class Rates(Value):
    """Hold prices in USD per million tokens; a cache whose price nobody said costs what plain input costs."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cache_read: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Tier(Rates):
    """Hold the prices of a request whose input, cached input included, is longer than `above` tokens."""

    above: int = Field(gt=0)


class Price(Rates):
    """Hold what a model costs.

    Attributes:
        tiers: Prices of longer requests, each for the whole request.
        source: Where it comes from, as `settings` or `genai-prices 0.2.3`.
    """

    tiers: tuple[Tier, ...] = ()
    source: str = ""

    def rates(self, input_tokens: int) -> Rates:
        """Return the prices of a request with this much input."""
        reached = [tier for tier in self.tiers if input_tokens > tier.above]
        return max(reached, key=lambda tier: tier.above, default=self)


FREE = Price(input=0.0, output=0.0, source="free")


def cost_usd(price: Price, usage: Usage) -> float:
    """Return what a request has cost."""
    rates = price.rates(usage.input_tokens)
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    plain = max(usage.input_tokens - read - written, 0)
    cached = read * _or(rates.cache_read, rates.input) + written * _or(rates.cache_write, rates.input)
    return (plain * rates.input + cached + usage.output_tokens * rates.output) / MILLION


def _dearest(rates: Rates) -> float:
    return max(rates.input, _or(rates.cache_write, rates.input))


def _or(rate: float | None, other: float) -> float:
    return other if rate is None else rate


def most_usd(price: Price, input_tokens: int, output_tokens: int) -> float:
    """Return what a request may cost at most: with this input, all of it paid for at full price, and such a reply."""
    rates = price.rates(input_tokens)
    return (input_tokens * _dearest(rates) + output_tokens * rates.output) / MILLION


def affordable_tokens(price: Price, usd: float, input_tokens: int) -> int | None:
    """Return how many tokens a reply may have until `usd` are spent, its request paid for at full price.

    Negative or 0 where the request alone costs that much; None where output costs nothing and there is money for it.
    """
    rates = price.rates(input_tokens)
    left = usd - input_tokens * _dearest(rates) / MILLION
    if rates.output == 0:
        return None if left >= 0 else 0
    return int(left * MILLION / rates.output)
