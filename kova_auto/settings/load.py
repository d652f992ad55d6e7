"""Load the settings: the user's file, what the environment says instead, and the places that follow from both.

The file is the one in the user's configuration directory or the one that was named, never one that happens to lie in
the current directory: a cloned repository must not choose where keys are sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kova_auto.core.errors import ConfigError, SettingsError
from kova_auto.core.toml.document import Document, parse_document
from kova_auto.core.toml.places import Key, spell
from kova_auto.core.toml.problems import Problems
from kova_auto.settings.calendars import read_calendars
from kova_auto.settings.checks import check_settings
from kova_auto.settings.environment import Environment, config_dir, data_dir
from kova_auto.settings.model import Settings, SettingsFile
from kova_auto.settings.overrides import read_overrides, variable_of
from kova_auto.settings.text import absolute, read_text

FILE_NAME: Final = "kova-auto.toml"


def settings_path(config: Path | None, environ: Environment) -> Path:
    """Return where the settings file is, or would be."""
    return config if config is not None else config_dir(environ) / FILE_NAME


def load_settings(config: Path | None, environ: Environment) -> Settings:
    """Read the settings; without a file everything has its default.

    Args:
        config: The file that was named; it must exist. None for the user's own.
        environ: Of the process.

    Raises:
        SettingsError: Names everything that is wrong, with file and line, or with the variable.
    """
    path = settings_path(config, environ)
    document = _document(path, required=config is not None)
    said = read_overrides(environ)
    sources = _Sources(document, said, environ)
    problems = Problems(sources.error)
    file = problems.validated(SettingsFile, _merged(document.data, said))
    check_settings(file, problems)
    calendars = read_calendars(file, path.absolute().parent, problems)
    problems.raise_any()
    return _resolved(file.model_copy(update={"calendars": calendars}), path.absolute(), environ)


class _Sources:
    """Know for each key whether the file or the environment had the last word."""

    def __init__(self, document: Document[SettingsError], said: Mapping[str, object], environ: Environment) -> None:
        self.document, self.said, self.environ = document, said, environ

    def error(self, key: Key, message: str, hint: str) -> SettingsError:
        """Return an error at the place where the key was set."""
        depth = _depth(self.said, key)
        if depth and depth >= _depth(self.document.data, key):
            missing = spell(key) if depth < len(key) else ""
            return SettingsError(message, path=variable_of(key[:depth], self.environ), key=missing, hint=hint)
        return self.document.error(key, message, hint)


def _document(path: Path, *, required: bool) -> Document[SettingsError]:
    try:
        text = read_text(path) if required or path.exists() else ""
    except ConfigError as exc:
        raise SettingsError(exc.message, path=str(path), hint="kova-auto init writes one") from exc
    return parse_document(text, str(path), SettingsError)


def _merged(under: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    merged = dict(under)
    for name, value in over.items():
        below = merged.get(name)
        merged[name] = _merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return merged


def _depth(data: Mapping[str, object], key: Key) -> int:
    """Return how many parts of the key there are in the data."""
    node: object = data
    for depth, part in enumerate(key):
        match node:
            case Mapping() if part in node:
                node = node[part]
            case list() if isinstance(part, int) and part < len(node):
                node = node[part]
            case _:
                return depth
    return len(key)


def _resolved(file: SettingsFile, path: Path, environ: Environment) -> Settings:
    base = path.parent
    said = {name: getattr(file, name) for name in SettingsFile.model_fields}
    places = {
        "path": path,
        "jobs_dir": absolute(file.jobs_dir, base),
        "data_dir": absolute(file.data_dir or data_dir(environ), base),
    }
    return Settings.model_construct(**{**said, **places})
