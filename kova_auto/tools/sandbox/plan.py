"""The words of confinement: how much a command may touch, and where."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path


class Level(StrEnum):
    """Say how much a command may touch."""

    READING = "reading"  # writes its temporary directory only; never a network
    WORKSPACE = "workspace"  # writes workspace, write roots, temporary directory and cache
    OPEN = "open"  # nothing is confined


class Policy(StrEnum):
    """Say how much proof a job wants, as its `sandbox` key does."""

    AUTO = "auto"
    REQUIRED = "required"
    OFF = "off"


class Method(StrEnum):
    """Name what confines."""

    BWRAP = "bwrap"
    LANDLOCK = "landlock"
    SEATBELT = "seatbelt"  # macOS
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """Say what one command may reach.

    Attributes:
        temp: The run's own temporary directory, on the host; a command finds it as TMPDIR, under bwrap at `/tmp`.
        cwd: Where the command starts, inside the workspace or another visible root.
        cache: What package managers may fill at `WORKSPACE`; one per workspace, never shared.
        write_roots: Directories that count as inside.
        read_roots: Files and directories that stay visible below a hidden one.
        hidden: Files and directories that no command sees. A visible root inside a hidden directory stays visible.
        toolchains: Directories of programs below a hidden one, visible to be run.
        job_dirs: Directories of job files: none may be changed or added, wherever they lie.
        handover: Descriptor that the command inherits where it has a network: over it, it hands back the socket that
            the service's proxy is to serve. There is no other network, and none at `READING`.
        env: Everything the command's environment holds but the places that the confinement names itself.
    """

    level: Level
    workspace: Path
    temp: Path
    cwd: Path
    cache: Path | None = None
    write_roots: tuple[Path, ...] = ()
    read_roots: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    toolchains: tuple[Path, ...] = ()
    job_dirs: tuple[Path, ...] = ()
    handover: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def network(self) -> int | None:
        """Return the descriptor for the command's network; None where it has none."""
        return self.handover if self.level is Level.WORKSPACE else None

    @property
    def writable(self) -> tuple[Path, ...]:
        """Return the roots of the user's files that the command may write, none inside another."""
        roots = () if self.level is Level.READING else dict.fromkeys((self.workspace, *self.write_roots))
        return tuple(one for one in roots if not any(one != other and one.is_relative_to(other) for other in roots))

    def canonical(self) -> Confinement:
        """Return the same with every path resolved, links and all."""
        return replace(
            self,
            workspace=self.workspace.resolve(),
            temp=self.temp.resolve(),
            cwd=self.cwd.resolve(),
            cache=self.cache and self.cache.resolve(),
            write_roots=_resolved(self.write_roots),
            read_roots=_resolved(self.read_roots),
            # Most of what is to be hidden exists on some other machine: resolving costs far more than looking.
            hidden=_resolved(path for path in self.hidden if os.path.lexists(path)),
            toolchains=_resolved(self.toolchains),
            job_dirs=_resolved(self.job_dirs),
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """Say in one sentence why commands cannot be confined here, and what to do about it."""

    reason: str


def hidden_places(home: Path, more: Iterable[Path] = ()) -> tuple[Path, ...]:
    """Return what commands never see unless a root inside it is theirs: homes, sockets, other people's data, keys.

    Args:
        home: The service's own home.
        more: The service's state, its settings, and the secrets to hide even where the workspace is a home.
    """
    return tuple(dict.fromkeys((home, *(Path(place) for place in _HIDDEN), *more)))


_HIDDEN = (
    "/home",
    "/root",
    "/Users",
    "/run",
    "/srv",
    "/mnt",
    "/media",
    "/lost+found",
    "/var/backups",
    "/var/lib/private",
    "/var/log",
    "/var/mail",
    "/var/spool",
    # A service that runs as root could read these.
    "/etc/credstore",
    "/etc/credstore.encrypted",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/NetworkManager/system-connections",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
)


def _resolved(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path.resolve() for path in paths))
