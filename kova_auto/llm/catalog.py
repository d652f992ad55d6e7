"""Choose the model of a run among those somebody configured, and open it.

Opening imports what the chosen kind needs, and choosing imports neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from kova_auto.core.errors import SettingsError
from kova_auto.core.ports import Model
from kova_auto.core.provider import BUILT_IN, Provider, WireProtocol
from kova_auto.core.scripted import SCRIPTED
from kova_auto.llm.script import parse_script

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Pin:
    """Hold the model that a run is held to.

    Attributes:
        scripted: No model is called: a script is played.
    """

    provider: str
    model: str
    scripted: bool = False

    @property
    def name(self) -> str:
        """Return it as the run's events name it."""
        return f"{self.provider}/{self.model}"


PLAYED = Pin(SCRIPTED, "script", scripted=True)


@dataclass(frozen=True, slots=True)
class NoModel:
    """Say in one sentence why there is no model, and what to do about it."""

    reason: str


class OpenModel(Model, Protocol):
    """Be a model that holds connections until it is closed."""

    async def aclose(self) -> None:
        """Close them; safe to call twice."""


def pick(models: tuple[str, ...], providers: Mapping[str, Provider], *, has_script: bool) -> Pin | NoModel:
    """Return the first of a job's models that can be asked; without one, its script.

    Args:
        models: `provider/model`, `auto` (the first configured provider's default model) or `scripted`, in order.
        providers: Those that somebody configured, in order; built-in ones that need no key are there anyway.
        has_script: The job names a script.

    Raises:
        SettingsError: An entry names no provider that anybody knows, or `auto` finds one without a default model.
    """
    missing: list[str] = []
    found: Pin | None = None
    for entry in models:
        pin = _pin(entry, providers, has_script=has_script)
        if isinstance(pin, str):
            missing.append(pin)
        else:
            found = found or pin
    if found is not None:
        return found
    return PLAYED if has_script else NoModel("; ".join(missing) or "the job names no model")


def _pin(entry: str, providers: Mapping[str, Provider], *, has_script: bool) -> Pin | str:
    """Return what an entry stands for, or why it stands for nothing here."""
    if entry == AUTO:
        return _automatic(providers)
    if entry == SCRIPTED:
        return PLAYED if has_script else 'the model is "scripted", and the job names no script'
    name, slash, model = entry.partition("/")
    if not slash or not model:
        msg = f'wanted "provider/model" or "auto", found {entry!r}'
        raise SettingsError(msg, key="model")
    provider = _known(name, providers)
    if not provider.usable or (name not in providers and provider.needs_key):
        return f"provider {name!r} has no key: {_how(provider)}"
    return Pin(name, model)


def _automatic(providers: Mapping[str, Provider]) -> Pin | str:
    usable: list[str] = []
    for provider in providers.values():  # Those behind the one that is taken are not even looked at.
        if provider.usable and provider.default_model:
            return Pin(provider.name, provider.default_model)
        if provider.usable:
            usable.append(provider.name)
    if not usable:
        return "no provider is configured: add [providers.NAME] to the settings, or name a script in the job"
    msg = f'"auto" wanted a configured provider with a default model, found none with one among: {", ".join(usable)}'
    hint = f'add default_model = "…" to [providers.{usable[0]}], or name the model in the job'
    raise SettingsError(msg, key=f"providers.{usable[0]}.default_model", hint=hint)


def _known(name: str, providers: Mapping[str, Provider]) -> Provider:
    provider = providers.get(name) or BUILT_IN.get(name)
    if provider is None:
        configured = ", ".join(sorted(providers)) or "none"
        msg = f"no provider is called {name!r} (configured: {configured}; built in: {', '.join(sorted(BUILT_IN))})"
        raise SettingsError(msg, key="model", hint=f"add [providers.{name}] with its base_url to the settings")
    return provider


def _how(provider: Provider) -> str:
    source = f'{{ env = "{provider.key_env}" }}' if provider.key_env else "a reference to it"
    return f"set api_key = {source} in [providers.{provider.name}]"


def open_model(
    pin: Pin, providers: Mapping[str, Provider], script_text: str | None = None, script_path: str = ""
) -> OpenModel:
    """Return what speaks to the model of a pin; whoever opens it closes it.

    Args:
        pin: As `pick` gave it.
        providers: As given to `pick`.
        script_text: Content of the job's script.
        script_path: Where that was read.

    Raises:
        ConfigError: The provider is not there any more, or the script is none.
    """
    if pin.scripted:
        if script_text is None:
            msg = "wanted a script to play, found none"
            raise SettingsError(msg, path=script_path)
        from kova_auto.llm.scripted import ScriptPlayer

        return ScriptPlayer(parse_script(script_text, script_path))
    from kova_auto.llm.client import HttpModel

    provider = _known(pin.provider, providers)
    match provider.protocol:
        case WireProtocol.OPENAI_CHAT:
            from kova_auto.llm.openai_chat.wire import OpenAiChat

            return HttpModel(provider, OpenAiChat())
        case _:
            msg = f"this version does not speak {provider.protocol}"
            raise SettingsError(msg, key=f"providers.{provider.name}.protocol")
