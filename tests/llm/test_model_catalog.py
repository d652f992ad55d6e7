"""Which model a run is held to, and how it is opened."""

from __future__ import annotations

import pytest

from kova_auto.core.errors import ConfigError, SettingsError
from kova_auto.core.provider import Provider, configured
from kova_auto.llm.catalog import PLAYED, NoModel, Pin, open_model, pick
from kova_auto.llm.client import HttpModel
from kova_auto.llm.scripted import ScriptPlayer


def providers(*entries: Provider) -> dict[str, Provider]:
    return {entry.name: entry for entry in entries}


OPENAI = configured("openai", {"api_key": "k-123456", "default_model": "gpt-x"})
DEEPSEEK = configured("deepseek", {"api_key": "k-123456"})
OURS = configured("ours", {"base_url": "http://10.0.0.5/v1"})
KEYLESS = configured("mistral", {})


@pytest.mark.parametrize(
    ("models", "known", "has_script", "found"),
    [
        (("openai/gpt-y",), (OPENAI,), False, Pin("openai", "gpt-y")),
        (("ours/some/model",), (OURS,), False, Pin("ours", "some/model")),
        (("ollama/llama3.2",), (), False, Pin("ollama", "llama3.2")),
        (("auto",), (OPENAI, DEEPSEEK), True, Pin("openai", "gpt-x")),
        (("auto",), (DEEPSEEK, OPENAI), True, Pin("deepseek", "deepseek-chat")),
        (("auto",), (OURS, DEEPSEEK), True, Pin("deepseek", "deepseek-chat")),
        (("auto",), (), True, PLAYED),
        (("auto",), (KEYLESS,), True, PLAYED),
        (("mistral/m", "openai/gpt-y"), (OPENAI,), True, Pin("openai", "gpt-y")),
        (("openai/gpt-y", "ollama/m"), (OPENAI,), True, Pin("openai", "gpt-y")),
        (("openai/gpt-y",), (), True, PLAYED),
        (("scripted",), (OPENAI,), True, PLAYED),
        (
            ("auto",),
            (),
            False,
            NoModel("no provider is configured: add [providers.NAME] to the settings, or name a script in the job"),
        ),
        (
            ("openai/gpt-y", "scripted"),
            (),
            False,
            NoModel(
                "provider 'openai' has no key: set api_key = { env = \"OPENAI_API_KEY\" } in [providers.openai]; "
                'the model is "scripted", and the job names no script'
            ),
        ),
        ((), (), False, NoModel("the job names no model")),
    ],
)
def test_the_first_model_that_can_be_asked_is_taken_else_the_script(
    models: tuple[str, ...], known: tuple[Provider, ...], has_script: object, found: Pin | NoModel
) -> None:
    assert pick(models, providers(*known), has_script=bool(has_script)) == found


@pytest.mark.parametrize(
    ("models", "known", "said"),
    [
        (
            ("opnai/gpt",),
            (OPENAI,),
            "no provider is called 'opnai' (configured: openai; built in: anthropic, cerebras, ",
        ),
        (("openai/gpt-x", "nobody/x"), (OPENAI,), "no provider is called 'nobody'"),
        (("gpt-x",), (OPENAI,), 'wanted "provider/model" or "auto", found \'gpt-x\''),
        (("openai/",), (OPENAI,), 'wanted "provider/model" or "auto", found \'openai/\''),
        (("auto",), (OURS,), '"auto" wanted a configured provider with a default model, found none'),
    ],
)
def test_a_model_that_cannot_be_meant_is_an_error(
    models: tuple[str, ...], known: tuple[Provider, ...], said: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        pick(models, providers(*known), has_script=True)
    assert said in str(caught.value)


@pytest.mark.parametrize(("pin", "name"), [(Pin("a", "b/c"), "a/b/c"), (PLAYED, "scripted/script")])
def test_a_pin_is_named_as_the_runs_events_name_it(pin: Pin, name: str) -> None:
    assert pin.name == name


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
