"""Read what `KOVA_AUTO_*` variables say instead of the settings file; tables are joined by two underscores.

`KOVA_AUTO_MAX_SLEEP=10s`, `KOVA_AUTO_PROVIDERS__OPENAI__API_KEY__ENV=MY_KEY`; lists and whole tables are JSON.
"""

from __future__ import annotations

import json
from typing import Final

from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict, SettingsError

from kova_auto.core import errors
from kova_auto.core.toml.complaints import did_you_mean
from kova_auto.core.toml.places import Key
from kova_auto.settings.environment import Environment
from kova_auto.settings.model import SettingsFile

PREFIX: Final = "KOVA_AUTO_"
_DELIMITER: Final = "__"


class _FromEnvironment(SettingsFile, BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, env_nested_delimiter=_DELIMITER, strict=True)


def read_overrides(environ: Environment) -> dict[str, object]:
    """Return what the environment says, in the shape of the settings file; values are still text.

    Raises:
        SettingsError: A variable names no setting, or holds no JSON where a list or a table is wanted.
    """
    ours = {name: value for name, value in environ.items() if name.startswith(PREFIX)}
    unknown = [_unknown(name) for name in sorted(ours) if _key(name)[0] not in SettingsFile.model_fields]
    if unknown:
        first, *others = unknown
        raise errors.SettingsError(first.message, path=first.path, hint=first.hint, others=others)
    source = EnvSettingsSource(_FromEnvironment)
    source.env_vars = {name.lower(): value for name, value in ours.items()}
    try:
        return source()
    except SettingsError as exc:
        raise _no_json(exc, ours) from exc


def variable_of(key: Key, environ: Environment) -> str:
    """Return the variable that sets a key, or something around it or inside it."""
    wanted = tuple(str(part) for part in key)
    return next(
        name
        for name in sorted(environ)
        if name.startswith(PREFIX) and (wanted[: len(_key(name))] == _key(name) or _key(name)[: len(wanted)] == wanted)
    )


def _key(name: str) -> tuple[str, ...]:
    return tuple(name[len(PREFIX) :].lower().split(_DELIMITER))


def _unknown(name: str) -> errors.SettingsError:
    known = [f"{PREFIX}{field.upper()}" for field in SettingsFile.model_fields]
    top = f"{PREFIX}{_key(name)[0].upper()}"
    hint = did_you_mean(top, known) or "a secret's variable may have any name that does not begin so"
    return errors.SettingsError(f"variables that begin with {PREFIX} are settings", path=name, hint=hint)


def _no_json(exc: SettingsError, ours: Environment) -> errors.SettingsError:
    """Name the variable: pydantic-settings names the field only."""
    for name, value in sorted(ours.items()):
        if f'"{_key(name)[0]}"' in str(exc) and value[:1] in {"[", "{"}:
            try:
                json.loads(value)
            except ValueError as wrong:
                return errors.SettingsError(f"wanted JSON: {wrong}", path=name)
    field = next((f"{PREFIX}{name.upper()}" for name in SettingsFile.model_fields if f'"{name}"' in str(exc)), PREFIX)
    return errors.SettingsError("wanted a list or a table as JSON", path=field)
