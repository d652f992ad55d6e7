"""Replace the secret that an endpoint shares with us: for a while the old one signs beside the new.

The settings name where a secret is, and never hold it. A new one is written where they say, if that is a place that we
can write; the old one is kept in the data directory, readable for its owner alone, until its time is over.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from pydantic import AwareDatetime, ValidationError

from kova_auto.core.delivery.needs import NEEDS, Want
from kova_auto.core.delivery.signature import (
    Kind,
    SigningSecret,
    parse_secret,
    spell_private,
    spell_public,
    spell_secret,
)
from kova_auto.core.errors import ConfigError
from kova_auto.core.secret import SecretRef
from kova_auto.core.value import Value
from kova_auto.knowledge.files import write_whole
from kova_auto.settings.environment import Environment
from kova_auto.settings.model import EndpointTable, Settings
from kova_auto.settings.secrets import read_secret
from kova_auto.settings.text import absolute

GRACE: Final = timedelta(hours=24)
BYTES: Final = 32


class Retired(Value):
    """Hold a secret that signs beside its successor, and until when."""

    secret: str
    until: AwareDatetime


@dataclass(frozen=True, slots=True)
class Rotated:
    """Say what was done.

    Attributes:
        place: Where the new secret is, or is to be put.
        shown: The new secret, where we could not put it there; else empty.
        public: The half of it that the receiver is given, where that is not the secret itself; else empty.
        until: When the old one stops signing.
    """

    place: str
    shown: str
    public: str
    until: datetime


def retired(data_dir: Path, name: str, now: datetime) -> Retired | None:
    """Return the secret that still signs beside an endpoint's own; one whose time is over is removed."""
    path = _path(data_dir, name)
    try:
        found = Retired.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    if found.until > now:
        return found
    with contextlib.suppress(OSError):
        path.unlink()
    return None


def rotate(
    settings: Settings, environ: Environment, name: str, *, now: datetime, grace: timedelta, fresh: bytes
) -> Rotated:
    """Put a new secret in the place of an endpoint's, of the same kind.

    Args:
        settings: Have the endpoint.
        environ: Of this process, where the secret may be.
        name: Of the endpoint.
        now: UTC.
        grace: For how long both sign.
        fresh: What the new one is made of, random.

    Raises:
        ConfigError: It has none that we could replace, or the last one was replaced just now, or the new one cannot be
            written; then the old one is still the only one.
    """
    reference = _reference(settings, name)
    key = f"endpoints.{name}.secret"
    old = read_secret(reference, environ, base=settings.path.parent)
    kind = parse_secret(old, key=key, asymmetric=True).kind
    if going := retired(settings.data_dir, name, now):
        msg = f"the secret before this one signs until {going.until:%Y-%m-%d %H:%M} UTC: two at once are the most"
        raise ConfigError(msg, key=key, hint=f"kova-auto endpoints secret drop {name} ends that now")
    new, until = spell_private(fresh) if kind is Kind.ED25519 else spell_secret(fresh), now + grace
    public = spell_public(SigningSecret(fresh, kind)) if kind is Kind.ED25519 else ""
    _keep(settings.data_dir, name, Retired(secret=old, until=until))
    try:
        place, is_there = _put(reference, new, settings.path.parent)
    except ConfigError:
        drop(settings, name)
        raise
    return Rotated(place, "" if is_there else new, public, until)


def drop(settings: Settings, name: str) -> bool:
    """Let an endpoint's old secret sign no more; False where there is none.

    Raises:
        ConfigError: There is no such endpoint.
    """
    _table(settings, name)
    path = _path(settings.data_dir, name)
    was_there = path.exists()
    path.unlink(missing_ok=True)
    return was_there


def _path(data_dir: Path, name: str) -> Path:
    return data_dir / "retired" / f"{name}.json"


def _table(settings: Settings, name: str) -> EndpointTable:
    table = settings.endpoints.get(name)
    if table is None:
        known = ", ".join(sorted(settings.endpoints)) or "none"
        msg = f"there is no endpoint {name}; the settings have {known}"
        raise ConfigError(msg, hint="kova-auto endpoints list shows them")
    return table


def _reference(settings: Settings, name: str) -> SecretRef:
    """Return where the one secret is that can be replaced.

    Raises:
        ConfigError: There is not exactly one, or its receiver makes it and not we.
    """
    table, key = _table(settings, name), f"endpoints.{name}.secret"
    needs = NEEDS[table.format]
    if needs.secret is Want.NONE or not table.secret:
        msg = "wanted an endpoint with a secret, found none"
        raise ConfigError(msg, key=key)
    if needs.signs != "whsec":
        msg = f"a secret of the format {table.format} is made by its receiver: replace it there, and then here"
        raise ConfigError(msg, key=key)
    if len(table.secret) > 1:
        msg = "the settings name several secrets, which all sign: replace them there"
        raise ConfigError(msg, key=key, hint="secret = [new, old], and later the new one alone")
    return table.secret[0]


def _keep(data_dir: Path, name: str, old: Retired) -> None:
    path = _path(data_dir, name)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(path, old.model_dump_json())


def _put(reference: SecretRef, secret: str, base: Path) -> tuple[str, bool]:
    """Write a secret where a reference says, if that can be written; return the place, and whether it is there."""
    if reference.file is None:
        return reference.source, False
    path = absolute(reference.file, base).resolve()
    write_whole(path, secret + "\n")
    return str(path), True
