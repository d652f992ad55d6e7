"""How the model of a pin is opened, and a provider asked what it serves."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.errors import ConfigError, ModelRefusedError
from kova_auto.core.provider import BUILT_IN, Provider, configured
from kova_auto.llm.catalog import models_at, open_model
from kova_auto.llm.choice import PLAYED, Pin
from kova_auto.llm.client import HttpModel
from kova_auto.llm.local.model import LocalModel
from kova_auto.llm.scripted import ScriptPlayer

OPENAI = configured("openai", {"api_key": "k-123456", "default_model": "gpt-x"})


def providers(*entries: Provider) -> dict[str, Provider]:
    return {entry.name: entry for entry in entries}


async def test_a_pin_is_opened_as_what_it_stands_for(tmp_path: Path) -> None:
    asked = open_model(Pin("openai", "gpt-x"), providers(OPENAI))
    played = open_model(PLAYED, {}, "[[turns]]\ntext = 'Done.'", "a.script.toml")
    here = open_model(Pin("local", "smollm2-135m"), {}, weights_dir=tmp_path)
    assert (type(asked), type(played), type(here)) == (HttpModel, ScriptPlayer, LocalModel)
    for model in (asked, played, here):
        await model.aclose()


async def test_a_model_in_this_process_without_weights_is_refused_where_it_is_asked_what_it_has(tmp_path: Path) -> None:
    with pytest.raises(ModelRefusedError, match="kova-auto models add smollm2"):
        await models_at(BUILT_IN["local"], weights_dir=tmp_path)


@pytest.mark.parametrize(
    ("pin", "script", "said"),
    [
        (PLAYED, None, "wanted a script to play, found none"),
        (PLAYED, "turns = ", "wanted TOML"),
        (Pin("gone", "m"), None, "no provider is called 'gone'"),
    ],
)
def test_what_cannot_be_opened_is_named(pin: Pin, script: str | None, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        open_model(pin, {}, script, "a.script.toml")
    assert said in str(caught.value)
