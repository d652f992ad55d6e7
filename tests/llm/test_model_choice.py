"""Which models a run is held to, in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from kova_auto.core.errors import ConfigError, SettingsError
from kova_auto.core.provider import Provider, configured
from kova_auto.llm.choice import PLAYED, NoModel, Pin, pick, wants_server


def providers(*entries: Provider) -> dict[str, Provider]:
    return {entry.name: entry for entry in entries}


OPENAI = configured("openai", {"api_key": "k-123456", "default_model": "gpt-x"})
DEEPSEEK = configured("deepseek", {"api_key": "k-123456"})
OURS = configured("ours", {"base_url": "http://10.0.0.5/v1"})
KEYLESS = configured("mistral", {})


@pytest.mark.parametrize(
    ("models", "known", "has_script", "found"),
    [
        (("openai/gpt-y",), (OPENAI,), False, (Pin("openai", "gpt-y"),)),
        (("ours/some/model",), (OURS,), False, (Pin("ours", "some/model"),)),
        (("ollama/llama3.2",), (), False, (Pin("ollama", "llama3.2"),)),
        (("auto",), (OPENAI, DEEPSEEK), True, (Pin("openai", "gpt-x"),)),
        (("auto",), (DEEPSEEK, OPENAI), True, (Pin("deepseek", "deepseek-flash"),)),
        (("auto",), (OURS, DEEPSEEK), True, (Pin("deepseek", "deepseek-flash"),)),
        (("auto",), (), True, (PLAYED,)),
        (("auto",), (KEYLESS,), True, (PLAYED,)),
        (("mistral/m", "openai/gpt-y"), (OPENAI,), True, (Pin("openai", "gpt-y"),)),
        (("openai/gpt-y", "ollama/m"), (OPENAI,), True, (Pin("openai", "gpt-y"), Pin("ollama", "m"))),
        (("ollama/m", "openai/gpt-y", "ollama/m"), (OPENAI,), True, (Pin("ollama", "m"), Pin("openai", "gpt-y"))),
        (("mistral/m", "auto", "ollama/m"), (OPENAI,), True, (Pin("openai", "gpt-x"), Pin("ollama", "m"))),
        (("openai/gpt-x", "auto"), (OPENAI,), True, (Pin("openai", "gpt-x"),)),
        (("openai/gpt-y",), (), True, (PLAYED,)),
        (("scripted",), (OPENAI,), True, (PLAYED,)),
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
def test_every_model_that_can_be_asked_is_taken_in_order_else_the_script(
    models: tuple[str, ...], known: tuple[Provider, ...], has_script: object, found: tuple[Pin, ...] | NoModel
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


HERE = Pin("llamacpp", "smol")
LOCAL = configured("ollama", {})


@pytest.mark.parametrize(
    ("models", "known", "wanted", "chain"),
    [
        pytest.param(("auto",), (), True, (HERE,), id="nobody is configured"),
        pytest.param(("auto",), (KEYLESS,), True, (HERE,), id="nobody who is configured has a key"),
        pytest.param(("auto",), (LOCAL,), True, (HERE,), id="a server here is configured without a model"),
        pytest.param(("auto",), (OPENAI,), False, (Pin("openai", "gpt-x"),), id="a provider is configured"),
        pytest.param(("auto",), (LOCAL, OPENAI), False, (Pin("openai", "gpt-x"),), id="one behind it is configured"),
        pytest.param(("openai/gpt-y", "auto"), (KEYLESS,), True, (HERE,), id="auto is a fallback"),
        pytest.param(("ollama/m",), (), False, (Pin("ollama", "m"),), id="the job does not say auto"),
    ],
)
def test_auto_takes_a_server_on_this_machine_where_no_configured_provider_answers_it(
    models: tuple[str, ...], known: tuple[Provider, ...], wanted: object, chain: tuple[Pin, ...]
) -> None:
    assert wants_server(models, providers(*known)) is wanted
    assert pick(models, providers(*known), has_script=True, found=HERE if wanted else None) == chain


class Locked(Mapping[str, Provider]):
    """Have one provider whose secret cannot be had."""

    def __getitem__(self, name: str) -> Provider:
        if name == "openai":
            message = "env NOT_SET: found none"
            raise ConfigError(message)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield "openai"

    def __len__(self) -> int:
        return 1


def test_a_secret_that_cannot_be_had_costs_its_entries_alone() -> None:
    assert pick(("openai/gpt-y", "auto", "ollama/m"), Locked(), has_script=True) == (Pin("ollama", "m"),)
    assert not wants_server(("auto",), Locked())


@pytest.mark.parametrize("has_script", [True, False])
def test_a_script_does_not_hide_that_a_secret_cannot_be_had(has_script: bool) -> None:
    found = pick(("openai/gpt-y", "mistral/m"), Locked(), has_script=has_script)

    assert isinstance(found, NoModel)
    assert found.reason.startswith("env NOT_SET: found none; provider 'mistral' has no key: set api_key")


@pytest.mark.parametrize(("pin", "name"), [(Pin("a", "b/c"), "a/b/c"), (PLAYED, "scripted/script")])
def test_a_pin_is_named_as_the_runs_events_name_it(pin: Pin, name: str) -> None:
    assert pin.name == name
