"""Open the model that a run is pinned to, once for each provider of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from kova_auto.app.vault import Vault
from kova_auto.core.errors import ConfigError
from kova_auto.core.ports import Model
from kova_auto.core.provider import Provider, configured
from kova_auto.core.state import RunState
from kova_auto.llm.catalog import OpenModel, open_model
from kova_auto.llm.choice import Pin
from kova_auto.settings.model import ProviderTable


class Providers(Mapping[str, Provider]):
    """Hold the configured providers; the key of each is fetched when it is asked for, so that none spoils the others.

    Asking for one raises ConfigError where a secret of it cannot be had, or cannot be what it is to be.
    """

    def __init__(self, tables: Mapping[str, ProviderTable], vault: Vault) -> None:
        """Take what the settings say, in order."""
        self._tables, self._vault = tables, vault
        self._made: dict[str, tuple[dict[str, object], Provider]] = {}  # Each run asks twice, and nothing has changed.

    def __getitem__(self, name: str) -> Provider:
        """Return a provider, with its key as it is now."""
        said = self._tables[name].said(self._vault.value)
        known, made = self._made.get(name, (None, None))
        if made is None or said != known:
            made = self._configured(name, said)
            self._made[name] = said, made
        return made

    def _configured(self, name: str, said: dict[str, object]) -> Provider:
        try:
            return configured(name, said)
        except ValidationError as exc:
            problem = exc.errors(include_url=False, include_input=False)[0]
            key = ".".join(["providers", name, *map(str, problem["loc"])])
            raise ConfigError(problem["msg"].removeprefix("Value error, "), key=key) from None

    def __contains__(self, name: object) -> bool:
        """Say whether one is configured, whatever its secrets are."""
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        """Yield their names."""
        return iter(self._tables)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._tables)


class Models:
    """Hold the open models; close it when nothing runs any more."""

    def __init__(self, providers: Mapping[str, Provider], weights_dir: Path) -> None:
        """Take the configured providers, and where weights of models in this process are kept."""
        self._providers, self._weights_dir = providers, weights_dir
        self._open: dict[str, OpenModel] = {}
        self._left: list[OpenModel] = []  # Somebody may still be listening.

    def of(self, state: RunState, name: str) -> Model:
        """Return a model of a run's chain, by its name.

        Raises:
            ConfigError: Its provider is not configured any more, or its script is none.
        """
        request, job = state.request, state.job
        provider, _, model = name.partition("/")
        pin = Pin(provider, model, scripted=request.scripted)
        if pin.scripted:
            by = request.child_of
            subagent = (by.agent, job.prompt) if by else None
            return open_model(pin, {}, job.script_text, job.script or job.path, subagent=subagent)
        if provider in self._open and self._open[provider].key_refused:  # It may have been changed since.
            self._left.append(self._open.pop(provider))
        if provider not in self._open:
            self._open[provider] = open_model(pin, self._providers, weights_dir=self._weights_dir)
        return self._open[provider]

    async def close(self) -> None:
        """Close every connection; safe to call twice."""
        opened, self._open, self._left = [*self._open.values(), *self._left], {}, []
        await asyncio.gather(*(model.aclose() for model in opened))
