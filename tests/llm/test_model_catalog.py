"""How the model of a pin is opened, and a provider asked what it serves."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import ConfigError
from kova_auto.core.provider import Provider, configured
from kova_auto.llm.catalog import open_model
from kova_auto.llm.choice import PLAYED, Pin
from kova_auto.llm.client import HttpModel
from kova_auto.llm.scripted import ScriptPlayer

OPENAI = configured("openai", {"api_key": "k-123456", "default_model": "gpt-x"})


def providers(*entries: Provider) -> dict[str, Provider]:
    return {entry.name: entry for entry in entries}


async def test_a_pin_is_opened_as_what_it_stands_for() -> None:
    asked = open_model(Pin("openai", "gpt-x"), providers(OPENAI))
    played = open_model(PLAYED, {}, "[[turns]]\ntext = 'Done.'", "a.script.toml")
    assert (type(asked), type(played)) == (HttpModel, ScriptPlayer)
    await asked.aclose()
    await played.aclose()


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
