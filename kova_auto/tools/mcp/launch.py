"""Says what starts or reaches a server, with every reference in its configuration replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kova_auto.core.ids import CallId
from kova_auto.core.mcp.server import Server
from kova_auto.core.tool import Scene
from kova_auto.tools.leftovers import Leader, kill_leftovers
from kova_auto.tools.run_dirs import RunDirs


@dataclass(frozen=True, slots=True)
class Program:
    """Say which program is a server on this machine.

    Attributes:
        argv: The program first; where it has no slash it is found on the PATH of `env`.
        env: The whole environment.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    cwd: Path


@dataclass(frozen=True, slots=True)
class Address:
    """Say where a server answers over HTTP.

    Attributes:
        allow_private: It may be an address of this machine or network, and plain http.
        max_body_bytes: Of one answer that are read.
    """

    url: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    allow_private: bool = False
    max_body_bytes: int = 32 << 20


Launch = Program | Address
Launcher = Callable[[Server, Scene], Launch]
"""Returns how a server is started for a run; raises ConfigError where its configuration cannot be had here."""

Streams = AbstractAsyncContextManager[tuple[Any, Any]]
Dialler = Callable[[Address], Streams]
"""Opens a connection over HTTP, as the library's own streams of messages."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound connections; what is of one server alone stands in its configuration.

    Attributes:
        idle_s: Without a call, after which a server is ended.
        backoff_s: After a failed start, in which none is tried again.
        grace_s: Between the polite signal and the other one.
        cache_s: For which it is believed what tools a server had.
    """

    idle_s: float = 600.0
    backoff_s: float = 60.0
    grace_s: float = 1.0
    cache_s: float = 7 * 86_400.0


@dataclass(frozen=True, slots=True)
class Record:
    """Write down which process is a run's server, so that whoever comes after a killed service ends it.

    What a run leaves written down is ended when it settles, by whatever process does that.
    """

    dirs: RunDirs
    call: CallId

    @classmethod
    def of(cls, dirs: RunDirs, server: Server) -> Record:
        """Return where a run's server is written down."""
        return cls(dirs, CallId(f"mcp.{server.digest[:12]}"))

    @property
    def token(self) -> str:
        """Return the mark of its processes."""
        return self.dirs.token(self.call)

    def write(self, leader: Leader) -> None:
        """Write its process down, before it runs."""
        self.dirs.outputs.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.dirs.write_leader(self.call, leader)

    def forget(self) -> None:
        """Take the record back: it has ended."""
        self.dirs.leader(self.call).unlink(missing_ok=True)

    async def end_leftover(self) -> None:
        """End what a killed service left of it."""
        for call, leader in self.dirs.led():
            if call == self.call:
                await kill_leftovers(leader, self.token)
