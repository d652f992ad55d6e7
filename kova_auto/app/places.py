"""Where the service keeps things, and what of the machine its runs must not see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.approval.floor import secret_places
from kova_auto.settings.model import Settings

APP = "kova-auto"


@dataclass(frozen=True, slots=True)
class HousePlaces:
    """Name directories; absolute.

    Attributes:
        work: What runs need while they go on: temporary directories, copies, caches; may be emptied between runs.
        secret: Never read by a tool, never seen by a command.
        control: Never written by a tool.
        job_dirs: Their job files are never written by a tool.
        toolchains: Programs below the home directory, seen by commands.
    """

    home: Path
    data: Path
    work: Path
    secret: tuple[Path, ...]
    control: tuple[Path, ...]
    job_dirs: tuple[Path, ...]
    toolchains: tuple[Path, ...]


def places_of(settings: Settings, environ: Mapping[str, str]) -> HousePlaces:
    """Return the places that follow from the settings and the environment."""
    home = Path(environ.get("HOME") or Path.home()).resolve()
    data, config = settings.data_dir.resolve(), settings.path.parent.resolve()
    configs = (home / ".config", Path(environ.get("XDG_CONFIG_HOME") or home / ".config"))
    secret = tuple(Path(place) for place in secret_places(home, configs, data))
    own = (settings.path.resolve(),) if settings.path.exists() else ()
    return HousePlaces(
        home=home,
        data=data,
        work=_work(environ, home).resolve(),
        secret=(*secret, *own),
        control=(config, data),
        job_dirs=(settings.jobs_dir.resolve(),),
        toolchains=_toolchains(environ, home),
    )


def _work(environ: Mapping[str, str], home: Path) -> Path:
    if given := environ.get("CACHE_DIRECTORY", "").partition(":")[0]:
        return Path(given)
    named = Path(environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else home / ".cache") / APP


def _toolchains(environ: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Return the entries of PATH that lie below the home directory: commands may run what is in them."""
    entries = (Path(entry).resolve() for entry in environ.get("PATH", "").split(":") if entry.startswith("/"))
    return tuple(dict.fromkeys(entry for entry in entries if entry.is_relative_to(home) and entry.is_dir()))
