"""Find what a model costs: what the settings say, nothing on this machine, or else what `genai-prices` knows offline.

That package is an extra. It is imported when its answer is needed, which takes half a second, and never asked to fetch
newer prices. A price that cannot be said in our terms is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from kova_auto.core.price import FREE, Price, Rates, Tier
from kova_auto.core.provider import Provider

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice

EXTRA: Final = "pip install 'kova-auto[prices]'"
_RATES: Final = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}
# A request of text costs these besides, and our prices have no place for them.
_BESIDES: Final = ("requests_kcount", "output_reasoning_mtok", "output_citation_mtok")


def price_of(provider: Provider, model: str, at: datetime) -> Price | None:
    """Return what a model costs, None where nobody knows.

    Args:
        provider: Who serves it.
        model: Its name there.
        at: Prices change; one that changes with the hour counts as the dearest of that day, UTC.
    """
    said = provider.models.get(model)
    if said and said.price:
        return Price(**said.price.model_dump(), source="settings")
    if provider.is_local:
        return FREE
    return _listed(provider, model, at) if has_prices() else None


def has_prices() -> bool:
    """Say whether the extra is installed."""
    return find_spec("genai_prices") is not None


def _listed(provider: Provider, model: str, at: datetime) -> Price | None:
    from genai_prices import __version__
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, info = get_snapshot().find_provider_model(model, None, None, provider.place)
    except LookupError:
        return None
    hours = [info.get_prices(at.replace(hour=hour)) for hour in range(24)] if info.prices else []
    prices = [price for found in hours if (price := converted(found, f"genai-prices {__version__}"))]
    return max(prices, key=lambda price: (price.output, price.input), default=None)


def converted(found: ModelPrice, source: str) -> Price | None:
    """Return a price of `genai-prices` as ours; None where it has more to it, or no price for text at all."""
    if found.input_mtok is None or found.output_mtok is None:
        return None
    if any(getattr(found, key) is not None for key in _BESIDES):
        return None
    tiers = tuple(Tier(above=start, **_rates(found, start).model_dump()) for start in _starts(found))
    return Price(**_rates(found, 0).model_dump(), tiers=tiers, source=source)


def _starts(found: ModelPrice) -> list[int]:
    """Return the lengths of input above which anything costs something else."""
    return sorted({start for key in _RATES.values() for start, _ in _steps(found, key) if start})


def _rates(found: ModelPrice, above: int) -> Rates:
    """Return the prices of a request with more input than that."""
    reached = {ours: [usd for start, usd in _steps(found, key) if start <= above] for ours, key in _RATES.items()}
    return Rates.model_validate({ours: usd[-1] for ours, usd in reached.items() if usd})


def _steps(found: ModelPrice, key: str) -> Iterator[tuple[int, float]]:
    """Yield what a kind of token costs above each length of input, shortest first."""
    from genai_prices.types import TieredPrices

    value = getattr(found, key)
    if isinstance(value, TieredPrices):
        yield 0, float(value.base)
        yield from ((tier.start, float(tier.price)) for tier in value.tiers)
    elif value is not None:
        yield 0, float(value)
