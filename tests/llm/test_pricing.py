"""What a model costs: the settings' word, nothing on this machine, or what the price list's own sums say."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices import Usage as ListedUsage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, ModelPrice

from kova_auto.core.message import Usage
from kova_auto.core.price import FREE, Price, cost_usd
from kova_auto.core.provider import BUILT_IN, configured
from kova_auto.llm.pricing import converted, price_of
from tests.support import ROOT, at

NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
SHAPES = [
    Usage(input_tokens=1_000, output_tokens=500),
    Usage(input_tokens=0, output_tokens=7),
    Usage(input_tokens=40_000, output_tokens=900, cache_read_tokens=30_000),
    Usage(input_tokens=40_000, output_tokens=900, cache_write_tokens=39_000),
    Usage(input_tokens=150_000, output_tokens=64_000, cache_read_tokens=120_000, cache_write_tokens=20_000),
    Usage(input_tokens=200_000, output_tokens=10),
    Usage(input_tokens=200_001, output_tokens=10, cache_read_tokens=150_000),
    Usage(input_tokens=900_000, output_tokens=8_000, cache_read_tokens=500_000, cache_write_tokens=100_000),
]


def listed() -> Iterator[tuple[str, ModelPrice]]:
    """Yield every price of the list that there is, for whatever time."""
    for provider in get_snapshot().providers:
        for model in provider.models:
            yield from ((f"{provider.id}/{model.id}", price) for price in _prices(model))


def _prices(model: ModelInfo) -> list[ModelPrice]:
    return [model.prices] if isinstance(model.prices, ModelPrice) else [found.prices for found in model.prices]


def _their_sum(price: ModelPrice, usage: Usage) -> float:
    counted = ListedUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    return float(price.calc_price(counted)["total_price"])


@pytest.mark.parametrize("usage", SHAPES, ids=str)
def test_what_we_compute_is_what_the_price_list_computes_for_every_model(usage: Usage) -> None:
    ours = {name: (price, mine) for name, price in listed() if (mine := converted(price, "list"))}

    assert len(ours) > 1_500
    for name, (price, mine) in ours.items():
        assert cost_usd(mine, usage) == pytest.approx(_their_sum(price, usage), rel=1e-9), name


def test_only_what_sells_no_text_by_the_token_alone_cannot_be_converted() -> None:
    left = [price for _, price in listed() if not converted(price, "list")]

    assert left
    assert all(
        price.input_mtok is None
        or price.output_mtok is None
        or price.requests_kcount is not None
        or price.output_reasoning_mtok is not None
        for price in left
    )


def test_the_list_has_tiers_and_they_are_kept() -> None:
    price = price_of(BUILT_IN["gemini"], "gemini-2.5-pro", NOON)

    assert price is not None
    assert [(tier.above, tier.input, tier.output) for tier in price.tiers] == [(200_000, 2.5, 15.0)]
    assert (price.input, price.output, price.source.partition(" ")[0]) == (1.25, 10.0, "genai-prices")


def test_the_settings_have_the_last_word() -> None:
    rates = {"input": 2, "output": 8.5, "cache_read": 0.2}
    openai = configured("openai", {"models": {"gpt-5": {"price": rates}}})
    house = configured("house", {"base_url": "http://127.0.0.1:9/v1", "models": {"m": {"price": rates}}})

    said = Price(input=2, output=8.5, cache_read=0.2, source="settings")
    assert (price_of(openai, "gpt-5", NOON), price_of(house, "m", NOON)) == (said, said)


def test_a_model_on_this_machine_costs_nothing() -> None:
    named_like_another = configured("openai", {"base_url": "http://localhost:4000/v1"})

    assert price_of(BUILT_IN["ollama"], "qwen3", NOON) == FREE
    assert price_of(named_like_another, "gpt-5", NOON) == FREE


@pytest.mark.parametrize(
    ("name", "said", "model"),
    [
        pytest.param("house", {"base_url": "https://models.example.org/v1"}, "gpt-5", id="a server nobody lists"),
        pytest.param("openai", {"base_url": "https://gate.example.org/v1"}, "gpt-5", id="a gateway before a known one"),
        pytest.param("openai", {}, "gpt-99", id="a model nobody lists"),
    ],
)
def test_what_nobody_knows_the_price_of_has_none(name: str, said: dict[str, object], model: str) -> None:
    assert price_of(configured(name, said), model, NOON) is None


def test_a_provider_under_another_name_costs_what_its_address_does() -> None:
    work = configured("work", {"base_url": "https://api.openai.com/v1"})

    assert price_of(work, "gpt-5", NOON) == price_of(BUILT_IN["openai"], "gpt-5", NOON) is not None


def test_a_price_that_changes_with_the_hour_counts_as_its_dearest() -> None:
    found = [price_of(BUILT_IN["deepseek"], "deepseek-v4-pro", at(f"{hour:02}:15:00")) for hour in range(24)]

    _, model = get_snapshot().find_provider_model("deepseek-v4-pro", None, "deepseek", None)
    theirs = [model.get_prices(at(f"{hour:02}:15:00")).output_mtok for hour in range(24)]
    outputs = {float(usd) for usd in theirs if isinstance(usd, Decimal)}
    assert len(outputs) > 1
    assert {price.output for price in found if price} == {max(outputs)}


_WITHOUT = """
import sys
sys.modules["genai_prices"] = None
from datetime import datetime, UTC
from kova_auto.core.provider import BUILT_IN
from kova_auto.llm.pricing import has_prices, price_of
print(has_prices(), price_of(BUILT_IN["openai"], "gpt-5", datetime(2026, 12, 1, tzinfo=UTC)))
"""
_UNNEEDED = """
import sys
from datetime import datetime, UTC
from kova_auto.core.provider import BUILT_IN, configured
from kova_auto.llm.pricing import price_of
now = datetime(2026, 12, 1, tzinfo=UTC)
priced = configured("openai", {"models": {"gpt-5": {"price": {"input": 1, "output": 2}}}})
print(price_of(BUILT_IN["ollama"], "qwen3", now).source, price_of(priced, "gpt-5", now).source)
print([name for name in sys.modules if name.startswith(("genai_prices", "httpx"))])
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        pytest.param(_WITHOUT, ["False None"], id="the extra is not there"),
        pytest.param(_UNNEEDED, ["free settings", "[]"], id="its answer is not needed"),
    ],
)
def test_the_price_list_is_an_extra_that_is_imported_where_it_is_needed(program: str, said: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)

    assert done.stdout.splitlines() == said
