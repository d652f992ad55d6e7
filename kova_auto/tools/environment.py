"""Decides which variables a command sees. Allow-list only: what is not named here does not pass."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from kova_auto.core.errors import ConfigError

MARKER = "KOVA_AUTO_CALL"
"""Names the variable by which a command's processes are found again, wherever they went."""

_PASSED = ("TZ", "USER", "LOGNAME", "SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE")
_FIXED = {
    # Legacy multibyte locales change where quotes end: the locale is part of how commands are adjudicated.
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "CI": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
}
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_REPLACES_COMMANDS = re.compile(r"BASH_ENV|BASH_FUNC_.*|BASHOPTS|SHELLOPTS|ENV|PS4|IFS|LD_.*|DYLD_.*|KOVA_AUTO_.*")
_CACHES = {
    "XDG_CACHE_HOME": "xdg",
    "npm_config_cache": "npm",
    "PIP_CACHE_DIR": "pip",
    "UV_CACHE_DIR": "uv",
    "CARGO_HOME": "cargo",
    "GOCACHE": "go-build",
    "GOMODCACHE": "go-mod",
}


def clean_environment(
    service: Mapping[str, str], given: Mapping[str, str], *, untrusted: Sequence[Path] = ()
) -> dict[str, str]:
    """Return a command's environment, all but the variables that name places (`place_variables`).

    Args:
        service: The service's own environment; only PATH and a few harmless names are taken from it.
        given: What the job's author gives to its commands; wins over everything else.
        untrusted: Directories that commands may write: no PATH entry may lie in one.

    Raises:
        ConfigError: `given` names a variable that would replace the programs that are checked.

    Source: executor hygiene of the command policy; job files, `[env]`.
    """
    for name in given:
        if _REPLACES_COMMANDS.fullmatch(name):
            message = f"{name} is never given to a command: it would change which programs run"
            raise ConfigError(message, key=f"env.{name}", hint="remove it")
    passed = {name: service[name] for name in _PASSED if name in service}
    return passed | _FIXED | {"PATH": trusted_path(service.get("PATH", ""), untrusted)} | dict(given)


def trusted_path(path: str, untrusted: Sequence[Path]) -> str:
    """Return `path` without its empty, relative and untrusted entries; a system default if nothing is left."""
    roots = [root.resolve() for root in untrusted]
    kept = [
        entry
        for entry in path.split(":")
        if entry.startswith("/") and not any(Path(entry).resolve().is_relative_to(root) for root in roots)
    ]
    return ":".join(kept) or _DEFAULT_PATH


def place_variables(temp: Path, cache: Path) -> dict[str, str]:
    """Return the variables that name the places a command may write besides its workspace.

    Args:
        temp: The run's temporary directory, as the command sees it; `home` in it becomes HOME.
        cache: The directory that package managers may fill, as the command sees it.
    """
    caches = {name: str(cache / leaf) for name, leaf in _CACHES.items()}
    return {"HOME": str(temp / "home"), "TMPDIR": str(temp), **caches}
