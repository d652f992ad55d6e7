"""What settings say of subagents and of plugins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import Field, StrictInt

from kova_auto.core.errors import ConfigError
from kova_auto.core.provider import BUILT_IN
from kova_auto.core.toml.complaints import did_you_mean
from kova_auto.core.toml.places import Key
from kova_auto.core.value import Value

_MODEL: Final = re.compile(r"([a-z0-9][a-z0-9_-]{0,63})/\S+")
_FOLDER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class AgentsTable(Value):
    """Bound the subagents of a run, and say which models they have.

    Attributes:
        max_concurrent: Of one run, at once.
        max_depth: 1: a subagent dispatches no others.
        max_turns: Replies of a dispatch, where the definition names no number.
        models: `provider/model` by the name or address of a subagent, or by the alias that definitions use.
        disabled: Names or addresses that no run has.
    """

    max_concurrent: StrictInt = Field(default=8, ge=1, le=64)
    max_depth: StrictInt = Field(default=1, ge=1, le=3)
    max_turns: StrictInt = Field(default=50, ge=1, le=1000)
    models: dict[str, str] = Field(default_factory=dict)
    disabled: tuple[str, ...] = ()


class PluginsTable(Value):
    """Name the plugins that are used: absolute paths, paths in `~`, and names of folders in `~/.kova/plugins`."""

    enabled: tuple[str, ...] = ()


def agents_problems(table: AgentsTable, providers: Mapping[str, object]) -> Iterator[tuple[Key, ConfigError]]:
    """Yield each model that is none, with what is wrong.

    Args:
        table: Of the settings.
        providers: That the settings configure, by name.
    """
    known = sorted({*BUILT_IN, *providers})
    for name, model in table.models.items():
        found = _MODEL.fullmatch(model)
        if not found:
            yield ("agents", "models", name), ConfigError(f'wanted "provider/model", found {model!r}')
        elif found[1] not in known:
            message = f"wanted a model of a provider, found the unknown provider {found[1]}"
            yield ("agents", "models", name), ConfigError(message, hint=did_you_mean(found[1], known))


def plugins_problems(table: PluginsTable) -> Iterator[tuple[Key, ConfigError]]:
    """Yield each entry that can be no folder, with what is wrong; whether a plugin lies there is seen later."""
    for at, entry in enumerate(table.enabled):
        if not (entry.startswith(("/", "~/")) or _FOLDER.fullmatch(entry)) or "\0" in entry:
            message = (
                f"wanted an absolute path, one that begins with ~/, or a folder of ~/.kova/plugins, found {entry!r}"
            )
            yield ("plugins", "enabled", at), ConfigError(message)
