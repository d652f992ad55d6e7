"""Choose the models of a run among those somebody configured; nothing is opened, and nothing heavy imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kova_auto.core.errors import ConfigError, SettingsError
from kova_auto.core.provider import BUILT_IN, Provider
from kova_auto.core.scripted import SCRIPTED

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Pin:
    """Hold one model that a run is held to.

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


def pick(
    models: tuple[str, ...], providers: Mapping[str, Provider], *, has_script: bool, found: Pin | None = None
) -> tuple[Pin, ...] | NoModel:
    """Return those of a job's models that can be asked, in order and each once; without any, its script.

    A script is not played where the only thing amiss is that the secret of a provider cannot be had.

    Args:
        models: `provider/model`, `auto` (the first configured provider's default model) or `scripted`, in order.
        providers: Those that somebody configured, in order; built-in ones that need no key are there anyway.
        has_script: The job names a script.
        found: The model of a server on this machine, for an `auto` that no configured provider answers.

    Raises:
        SettingsError: An entry names no provider that anybody knows, or `auto` finds one without a default model.
    """
    chain: list[Pin] = []
    missing: list[str] = []
    is_broken = False
    for entry in models:
        try:
            pin = _pin(entry, providers, found, has_script=has_script)
        except SettingsError:
            raise
        except ConfigError as exc:  # Its secret cannot be had.
            pin, is_broken = str(exc), True
        if isinstance(pin, str):
            missing.append(pin)
        else:
            chain.append(pin)
    if chain:
        return (PLAYED,) if chain[0].scripted else tuple(dict.fromkeys(pin for pin in chain if not pin.scripted))
    if has_script and not is_broken:
        return (PLAYED,)
    return NoModel("; ".join(missing) or "the job names no model")


def wants_server(models: tuple[str, ...], providers: Mapping[str, Provider]) -> bool:
    """Say whether a server on this machine may serve what `auto` means: nobody who is configured can, or wants to."""
    if AUTO not in models:
        return False
    try:
        return not any(one.usable and (one.default_model or not one.is_local) for one in providers.values())
    except ConfigError:
        return False  # It is said where the model is picked.


def _pin(entry: str, providers: Mapping[str, Provider], found: Pin | None, *, has_script: bool) -> Pin | str:
    """Return what an entry stands for, or why it stands for nothing here."""
    if entry == AUTO:
        return _automatic(providers, found)
    if entry == SCRIPTED:
        return PLAYED if has_script else 'the model is "scripted", and the job names no script'
    name, slash, model = entry.partition("/")
    if not slash or not model:
        msg = f'wanted "provider/model" or "auto", found {entry!r}'
        raise SettingsError(msg, key="model")
    provider = provider_of(name, providers)
    if not provider.usable or (name not in providers and provider.needs_key):
        return f"provider {name!r} has no key: {_how(provider)}"
    return Pin(name, model)


def _automatic(providers: Mapping[str, Provider], found: Pin | None) -> Pin | str:
    usable: list[str] = []
    for provider in providers.values():  # Those behind the one that is taken are not even looked at.
        if provider.usable and provider.default_model:
            return Pin(provider.name, provider.default_model)
        if provider.usable:
            usable.append(provider.name)
    if found:
        return found
    if not usable:
        return "no provider is configured: add [providers.NAME] to the settings, or name a script in the job"
    msg = f'"auto" wanted a configured provider with a default model, found none with one among: {", ".join(usable)}'
    hint = f'add default_model = "…" to [providers.{usable[0]}], or name the model in the job'
    raise SettingsError(msg, key=f"providers.{usable[0]}.default_model", hint=hint)


def provider_of(name: str, providers: Mapping[str, Provider]) -> Provider:
    """Return the provider of a name, configured or built in.

    Raises:
        SettingsError: Nobody knows it.
        ConfigError: A secret of it cannot be had.
    """
    provider = providers.get(name) or BUILT_IN.get(name)
    if provider is None:
        configured = ", ".join(sorted(providers)) or "none"
        msg = f"no provider is called {name!r} (configured: {configured}; built in: {', '.join(sorted(BUILT_IN))})"
        raise SettingsError(msg, key="model", hint=f"add [providers.{name}] with its base_url to the settings")
    return provider


def _how(provider: Provider) -> str:
    source = f'{{ env = "{provider.key_env}" }}' if provider.key_env else "a reference to it"
    return f"set api_key = {source} in [providers.{provider.name}]"
