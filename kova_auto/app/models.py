"""Open the model that a run is pinned to, once for each provider of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from kova_auto.core.ports import Model
from kova_auto.core.provider import Provider
from kova_auto.core.run import RunState
from kova_auto.llm.catalog import OpenModel, Pin, open_model


class Models:
    """Hold the open models; close it when nothing runs any more."""

    def __init__(self, providers: Callable[[], Mapping[str, Provider]]) -> None:
        """Take what returns the configured providers, with their keys."""
        self._providers = providers
        self._open: dict[str, OpenModel] = {}

    def of(self, state: RunState) -> Model:
        """Return the model of a run.

        Raises:
            ConfigError: Its provider is not configured any more, or its script is none.
        """
        request, job = state.request, state.job
        provider, _, model = request.model.partition("/")
        pin = Pin(provider, model, scripted=request.scripted)
        if pin.scripted:
            return open_model(pin, {}, job.script_text, job.script or job.path)
        if provider not in self._open:
            self._open[provider] = open_model(pin, self._providers())
        return self._open[provider]

    async def close(self) -> None:
        """Close every connection; safe to call twice."""
        opened, self._open = list(self._open.values()), {}
        await asyncio.gather(*(model.aclose() for model in opened))
