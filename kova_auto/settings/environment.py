"""Read the process's environment: the one place that does. What it says is passed on as values."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

Environment = Mapping[str, str]

APP = "kova-auto"


def environment() -> Environment:
    """Return the environment of this process."""
    return dict(os.environ)


def forgo_plugins() -> None:
    """Keep pydantic from asking every installed package for plugins.

    That takes a good part of a start, and a plugin would see every value that is checked, secrets too.
    """
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")


def config_dir(environ: Environment) -> Path:
    """Return the directory of the user's settings, on macOS too."""
    return _base(environ, "XDG_CONFIG_HOME", ".config") / APP


def data_dir(environ: Environment) -> Path:
    """Return where the service keeps what it knows, unless the settings say otherwise; systemd's choice comes first."""
    if state := environ.get("STATE_DIRECTORY", "").partition(":")[0]:
        return Path(state)
    return _base(environ, "XDG_DATA_HOME", ".local/share") / APP


def credentials_dir(environ: Environment) -> Path | None:
    """Return the directory in which systemd hands over credentials, if it does."""
    directory = environ.get("CREDENTIALS_DIRECTORY")
    return Path(directory) if directory else None


def wants_color(environ: Environment, *, is_terminal: bool) -> bool:
    """Say whether output may be coloured: on a terminal that can, and that nobody asked to stay plain."""
    return is_terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def _base(environ: Environment, variable: str, below_home: str) -> Path:
    """Return a base directory; the specification says to ignore a relative one."""
    named = Path(environ.get(variable, ""))
    if named.is_absolute():
        return named
    home = environ.get("HOME")
    return (Path(home) if home else Path.home()) / below_home


def local_zone(environ: Environment, link: Path = Path("/etc/localtime")) -> str:
    """Return the IANA name of this machine's time zone, UTC where it cannot be told.

    Args:
        environ: Of the process; `TZ` comes first.
        link: What the system keeps its zone in, usually a link into the zone database.
    """
    named = environ.get("TZ", "").removeprefix(":")
    if "/" in named and not named.startswith("/"):
        return named
    try:
        target = link.readlink()
    except OSError:
        return "UTC"
    return str(target).partition("zoneinfo/")[2] or "UTC"
