"""Look at the ground that a service stands on: settings, secrets, data directory, database."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from kova_auto import __version__
from kova_auto.app.connect import reading
from kova_auto.app.finding import Finding, Mark
from kova_auto.app.remote import RemoteControl
from kova_auto.app.rotation import retired
from kova_auto.core.errors import ConfigError, KovaError
from kova_auto.core.secret import SecretRef
from kova_auto.settings.environment import credentials_dir
from kova_auto.settings.model import Settings
from kova_auto.settings.secrets import read_secret

ELSEWHERE = "only the service can read it: systemd hands it over (LoadCredential= in the unit)"


def of_settings(settings: Settings, environ: Mapping[str, str], now: datetime) -> Iterator[Finding]:
    """Yield the settings file, and each secret that it names."""
    path = settings.path
    yield Finding("settings", str(path), Mark.OK, "is sound" if path.exists() else "is not there: every default holds")
    for key, reference in settings.secrets:
        yield of_secret(key, reference, settings, environ)
    for name in settings.endpoints:
        if old := retired(settings.data_dir, name, now):
            text = f"was replaced: the old one signs too until {old.until:%Y-%m-%d %H:%M} UTC"
            yield Finding("secret", f"endpoints.{name}.secret", Mark.OK, text)


def of_secret(key: str, reference: SecretRef, settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Say whether a secret can be had, never what it is."""
    if is_elsewhere(reference, environ):
        return Finding("secret", key, Mark.WARN, ELSEWHERE)
    try:
        read_secret(reference, environ, base=settings.path.parent)
    except ConfigError as exc:
        return Finding("secret", key, Mark.FAIL, str(exc))
    return Finding("secret", key, Mark.OK, f"can be had from {reference.source}")


def is_elsewhere(reference: SecretRef, environ: Mapping[str, str]) -> bool:
    """Say whether a secret is where only the service's own process can be given it."""
    return reference.credential is not None and credentials_dir(environ) is None


async def of_data(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Look at the data directory and what is in it; make nothing that is not there."""
    place = settings.data_dir
    if settings.database == "sqlite" and not settings.database_file.exists():
        return _of_place(place)
    try:
        async with reading(settings, environ, kind="doctor") as answers:
            if not isinstance(answers, RemoteControl):
                await answers.runs(None, unfinished=True, limit=1)
                return Finding("data", str(place), Mark.OK, "the database can be used; no service runs")
            status = await answers.status()
    except KovaError as exc:
        return Finding("data", str(place), Mark.FAIL, str(exc))
    serves = f"process {status.pid} serves it, kova-auto {status.version}"
    if status.version == __version__:
        return Finding("data", str(place), Mark.OK, serves)
    return Finding("data", str(place), Mark.WARN, f"{serves}, and this is {__version__}: restart the service")


def _of_place(place: Path) -> Finding:
    there = next((parent for parent in (place, *place.parents) if parent.exists()), place)
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return Finding("data", str(place), Mark.FAIL, f"{there} cannot be written: set data_dir, or its permissions")
    return Finding("data", str(place), Mark.OK, "holds no database yet: the first run makes it")
