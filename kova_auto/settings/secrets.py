"""Fetch secrets from where a reference says they are. Messages name the reference, never the value."""

from __future__ import annotations

import logging
import stat
from functools import cache
from pathlib import Path
from typing import Final

from kova_auto.core.errors import ConfigError
from kova_auto.core.secret import SecretRef
from kova_auto.settings.environment import Environment, credentials_dir
from kova_auto.settings.text import absolute, read_text

KEYRING_SERVICE: Final = "kova-auto"
_FOR_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO

logger = logging.getLogger(__name__)


def read_secret(reference: SecretRef, environ: Environment, *, base: Path) -> str:
    """Return a secret; one newline at the end of a file is not part of it.

    Args:
        reference: Where it is.
        environ: Of the process.
        base: Directory at which a relative file begins: that of the file which holds the reference.

    Raises:
        ConfigError: There is none, or it is empty.
    """
    secret, hint = _fetched(reference, environ, base)
    if not secret:
        raise _missing(reference, "found none" if secret is None else "found an empty one", hint)
    return secret


def _fetched(reference: SecretRef, environ: Environment, base: Path) -> tuple[str | None, str]:
    """Return what is there, and what to do where it is nothing."""
    if reference.env is not None:
        return environ.get(reference.env), f"set the variable {reference.env} for this process"
    if reference.file is not None:
        return _from_file(reference, absolute(reference.file, base)), "write it there"
    if reference.credential is not None:
        return _from_credential(reference, reference.credential, environ), "look at LoadCredential= in the unit"
    name = reference.keyring or ""
    return _from_keyring(reference, name), f"python -m keyring set {KEYRING_SERVICE} {name}"


def _from_file(reference: SecretRef, path: Path) -> str:
    secret = _content(reference, path)
    if path.stat().st_mode & _FOR_OTHERS:
        _warn_of(path)
    return secret


@cache
def _warn_of(path: Path) -> None:
    """Say it once: a secret is fetched each time it is needed."""
    logger.warning("other users may use the secret in %s: chmod 600 %s", path, path)


def _content(reference: SecretRef, path: Path) -> str:
    try:
        return read_text(path).removesuffix("\n")
    except ConfigError as exc:
        raise _missing(reference, exc.message, f"it should be {path}") from exc


def _from_credential(reference: SecretRef, name: str, environ: Environment) -> str:
    directory = credentials_dir(environ)
    if directory is None:
        raise _missing(reference, "systemd gave none", f"add LoadCredential={name}:PATH to the unit")
    if "/" in name:
        raise _missing(reference, "a credential's name holds no slash", "")
    return _content(reference, directory / name)


def _from_keyring(reference: SecretRef, name: str) -> str | None:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as exc:
        raise _missing(reference, "the keyring is an extra", "pip install 'kova-auto[keyring]'") from exc
    try:
        found = keyring.get_password(KEYRING_SERVICE, name)
    except KeyringError as exc:
        raise _missing(reference, f"the keyring could not be read: {exc}", "") from exc
    return None if found is None else str(found)


def _missing(reference: SecretRef, found: str, hint: str) -> ConfigError:
    return ConfigError(f"wanted a secret in {reference.source}: {found}", hint=hint)
