"""Which models a run is held to when it is opened, what is known of them, and what a ceiling in money asks for."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from kova_auto.app.discovery import nobody
from kova_auto.app.driving import drive_one
from kova_auto.app.pinning import Chain, Pinning
from kova_auto.core.errors import ConfigError
from kova_auto.core.job import Outcome
from kova_auto.core.pin import Capability, ModelPin
from kova_auto.core.price import FREE, Price
from kova_auto.core.provider import Provider, configured
from kova_auto.llm.choice import Pin
from kova_auto.scheduling.jobfiles import load_job
from tests.app.houses import Home
from tests.support import ROOT, a_job, at

NOW = at("07:00:00")
OPENAI = configured("openai", {"api_key": "k-123456", "default_model": "gpt-5"})
HOUSE = configured("house", {"base_url": "https://models.example.org/v1", "models": {"m": {"window": 9_000}}})
CHEAP = Price(input=1, output=2, source="test")


def cheap_openai(provider: Provider, _model: str, _at: datetime) -> Price | None:
    return CHEAP if provider.name == "openai" else None


def pinning(*known: Provider, found: Pin | None = None) -> Pinning:
    async def server() -> Pin | None:
        return found

    return Pinning({provider.name: provider for provider in known}, server, cheap_openai)


async def test_each_model_of_a_chain_is_held_with_what_is_known_of_it() -> None:
    chain = await pinning(OPENAI, HOUSE).chain(a_job(model=["auto", "house/m", "mistral/m"]), NOW)

    gpt = Capability(window=400_000, max_output=128_000)
    assert chain == Chain(
        (
            ModelPin(name="openai/gpt-5", capability=gpt, price=CHEAP),
            ModelPin(name="house/m", capability=Capability(window=9_000)),
        )
    )
    assert (chain.scripted, chain.unpriced) == (False, ("house/m",))


async def test_a_model_in_this_process_is_held_as_a_demonstration_that_costs_nothing() -> None:
    chain = await Pinning({}, nobody).chain(a_job(model="local/smollm2-135m"), NOW)

    known = Capability(window=2_048, max_output=256, trims=True)
    assert chain == Chain((ModelPin(name="local/smollm2-135m", capability=known, price=FREE, quality="demo"),))


async def test_auto_is_held_to_what_a_server_on_this_machine_serves() -> None:
    found = Pin("llamacpp", "smol")
    plain = await Pinning({}, pinning(found=found).server).chain(a_job(), NOW)
    asked = await pinning(OPENAI, found=found).chain(a_job(), NOW)

    assert plain == Chain((ModelPin(name="llamacpp/smol", price=FREE),))
    assert [pin.name for pin in asked.pins] == ["openai/gpt-5"]


async def test_a_script_is_the_last_resort() -> None:
    chain = await pinning().chain(a_job(script="a.toml", script_text="[[turns]]"), NOW)

    assert (chain.scripted, chain.pins) == (True, ())


@pytest.mark.parametrize(
    ("model", "lacks"),
    [
        pytest.param("openai/gpt-5", "", id="the price is known"),
        pytest.param(
            "house/m", 'add price = { input = …, output = … } to [providers.house.models."m"]', id="it is not"
        ),
        pytest.param(
            ["openai/gpt-5", "house/m", "house/n"], "the price of house/m (and of 1 more)", id="of a fallback"
        ),
    ],
)
async def test_a_ceiling_that_a_job_names_wants_every_price(model: object, lacks: str) -> None:
    known = pinning(OPENAI, HOUSE)
    bounded = await known.chain(a_job(model=model, bounds_money=True), NOW)
    unbounded = await known.chain(a_job(model=model), NOW)

    assert (bool(bounded.lacks), unbounded.lacks) == (bool(lacks), "")
    assert lacks in bounded.lacks
    assert not lacks or "genai-prices" in bounded.lacks


async def test_a_ceiling_in_money_wants_no_price_of_a_script_nor_of_this_machine() -> None:
    known = Pinning({}, nobody)
    played = await known.chain(a_job(script="a.toml", script_text="[[turns]]", bounds_money=True), NOW)
    local = await known.chain(a_job(model="ollama/qwen3", bounds_money=True), NOW)

    assert (played.lacks, played.scripted, local.lacks) == ("", True, "")


async def test_settings_price_what_nobody_lists() -> None:
    models = {"m": {"price": {"input": 1, "output": 2}}}
    priced = configured("house", {"base_url": "https://models.example.org/v1", "models": models})
    chain = await Pinning({"house": priced}, nobody).chain(a_job(model="house/m", bounds_money=True), NOW)

    assert (chain.lacks, chain.pins[0].price) == ("", Price(input=1, output=2, source="settings"))


_WITHOUT_THE_EXTRA = """
import asyncio, sys
sys.modules["genai_prices"] = None
from kova_auto.app.discovery import nobody
from kova_auto.app.pinning import Pinning
from kova_auto.core.provider import configured
from tests.support import a_job, at
known = {"openai": configured("openai", {"api_key": "k-123456"})}
job = a_job(model="openai/gpt-5", bounds_money=True)
print(asyncio.run(Pinning(known, nobody).chain(job, at("07:00:00"))).lacks)
"""


def test_without_the_price_list_a_ceiling_says_how_to_get_it() -> None:
    program = [sys.executable, "-c", _WITHOUT_THE_EXTRA]
    done = subprocess.run(program, cwd=ROOT, check=True, capture_output=True, text=True)

    assert done.stdout.strip() == (
        "a ceiling in money wants the price of openai/gpt-5, which is not known: pip install 'kova-auto[prices]', or "
        'add price = { input = …, output = … } to [providers.openai.models."gpt-5"] in the settings'
    )


async def test_a_run_that_lacks_a_price_is_blocked_and_who_asks_for_one_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.settings('[providers.house]\nbase_url = "https://models.example.org/v1"\n')
    path = home.job("look", 'model = "house/m"\nlimits = { cost_usd = 0.5 }\n', script=None)
    async with home.house() as house:
        opened = await house.opening.of_occurrence(load_job(path), NOW)
        with pytest.raises(ConfigError, match=r"look\.toml: limits: a ceiling in money wants the price of house/m"):
            await house.control.request(home.ask("look"))
        await house.store.journal.open(opened)
        await drive_one(house, opened.run_id, asyncio.Event())
        state = await house.store.journal.load(opened.run_id)

    assert (opened.model, state.model_calls) == ("house/m", 0)
    assert state.finished is not None
    assert (state.finished.outcome, state.finished.reason) == (Outcome.BLOCKED, opened.blocked)
