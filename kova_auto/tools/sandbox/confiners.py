"""The ways to confine a command, under one shape: prepare it, run it, settle what it left."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.environment import MARKER, place_variables
from kova_auto.tools.sandbox import landlock, seatbelt
from kova_auto.tools.sandbox.bwrap import TEMP_AT, bwrap_argv
from kova_auto.tools.sandbox.control import Controls
from kova_auto.tools.sandbox.live import Live
from kova_auto.tools.sandbox.network import no_network, proxy_variables
from kova_auto.tools.sandbox.places import places
from kova_auto.tools.sandbox.plan import Confinement, Level, Method
from kova_auto.tools.sandbox.seccomp import Numbers, inside_name_spaces, numbers


@dataclass(frozen=True, slots=True)
class Confined:
    """Hold what to spawn: the whole command line and environment, and where.

    Attributes:
        controls: The control files that are held while the command runs.
        inherits: Descriptors that the spawned process must have; closed when it is settled.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    controls: Controls = field(default_factory=Controls)
    inherits: tuple[int, ...] = ()


class Confiner(Protocol):
    """Turn a command into one that is confined."""

    @property
    def method(self) -> Method:
        """Name what confines."""

    @property
    def lacks(self) -> tuple[str, ...]:
        """Return what it does not hold, one clause each; empty where the whole promise is kept."""

    def prepare(self, confinement: Confinement, command: Sequence[str], token: str) -> Confined:
        """Return what to spawn; looks at the file system, so call it in a thread, right before spawning.

        Every prepared command is settled once, whether it ran or not.

        Args:
            confinement: What the command may reach.
            command: Its argument list, the program's absolute path first.
            token: The call's mark, unique on this machine.

        Raises:
            ToolFailedError: This cannot be confined so; the message says what stands in the way.
        """

    def settle(self, confined: Confined) -> tuple[str, ...]:
        """Tidy up after the command and all its processes are gone.

        Returns the paths of control files that it added; each now bears another name, `control.SET_ASIDE` at its end.
        """


@dataclass(frozen=True, slots=True)
class BwrapConfiner:
    """Confine with bubblewrap."""

    program: Path
    live: Live
    numbers: Numbers | None = field(default_factory=numbers)
    method: Method = Method.BWRAP
    lacks: tuple[str, ...] = ()

    def prepare(self, confinement: Confinement, command: Sequence[str], token: str) -> Confined:
        """See `Confiner`. The environment is given to bwrap itself: on its command line, everybody could read it."""
        there = confinement.canonical()
        _make_home(there)
        seen = places(there, TEMP_AT)
        controls = self.live.enter(there.writable, mounts=True, job_dirs=there.job_dirs)
        inherits = (_readable(inside_name_spaces(self.numbers)),) if self.numbers else ()
        seccomp = inherits[0] if inherits else None
        argv = bwrap_argv(self.program, there, seen, controls, command, token, seccomp=seccomp)
        return Confined(tuple(argv), _environment(there, TEMP_AT[0]), Path("/"), controls, inherits)

    def settle(self, confined: Confined) -> tuple[str, ...]:
        """See `Confiner`."""
        for descriptor in confined.inherits:
            os.close(descriptor)
        return self.live.leave(confined.controls)


@dataclass(frozen=True, slots=True)
class LandlockConfiner:
    """Confine with Landlock and a system call filter."""

    python: Path
    version: int
    numbers: Numbers
    level: Level
    live: Live
    method: Method = Method.LANDLOCK

    @property
    def lacks(self) -> tuple[str, ...]:
        """Return what bubblewrap would hold."""
        return landlock.lacks(self.level, self.version)

    def prepare(self, confinement: Confinement, command: Sequence[str], token: str) -> Confined:
        """See `Confiner`."""
        there = confinement.canonical()
        _make_home(there)
        seen = landlock.seen_by(there)
        argv = landlock.landlock_argv(self.python, there, seen, command, version=self.version, known=self.numbers)
        env = _environment(there, there.temp) | _GIT_PINS | {MARKER: token}
        controls = self.live.enter(there.writable, mounts=False, job_dirs=there.job_dirs)
        return Confined(tuple(argv), env, there.cwd, controls)

    def settle(self, confined: Confined) -> tuple[str, ...]:
        """See `Confiner`."""
        return self.live.leave(confined.controls)


@dataclass(frozen=True, slots=True)
class SeatbeltConfiner:
    """Confine with macOS's own sandbox; see `seatbelt` for what that is worth."""

    program: Path
    live: Live
    method: Method = Method.SEATBELT
    lacks: tuple[str, ...] = seatbelt.LACKS

    def prepare(self, confinement: Confinement, command: Sequence[str], token: str) -> Confined:
        """See `Confiner`."""
        there = confinement.canonical()
        if there.network is not None:
            raise ToolFailedError(no_network("macOS's sandbox"))
        _make_home(there)
        wider = replace(there, hidden=(*there.hidden, *seatbelt.SHARED))
        controls = self.live.enter(there.writable, mounts=True, job_dirs=there.job_dirs)
        try:
            argv = seatbelt.seatbelt_argv(self.program, there, places(wider, (there.temp,)), controls, command)
        except ToolFailedError:
            self.live.leave(controls)
            raise
        env = _environment(there, there.temp) | _GIT_PINS | {MARKER: token}
        return Confined(tuple(argv), env, there.cwd, controls)

    def settle(self, confined: Confined) -> tuple[str, ...]:
        """See `Confiner`."""
        return self.live.leave(confined.controls)


@dataclass(frozen=True, slots=True)
class OpenConfiner:
    """Confine nothing: what the operator asked for by `sandbox = "off"`."""

    method: Method = Method.NONE
    lacks: tuple[str, ...] = ("nothing is confined",)

    def prepare(self, confinement: Confinement, command: Sequence[str], token: str) -> Confined:
        """See `Confiner`. The environment's own places win: HOME stays what the service gives."""
        there = confinement.canonical()
        _make_home(there)
        defaults = place_variables(there.temp, there.cache or there.temp / "cache")
        return Confined(tuple(command), {**defaults, **there.env, MARKER: token}, there.cwd)

    def settle(self, confined: Confined) -> tuple[str, ...]:
        """Find nothing to tidy up."""
        del confined
        return ()


# Landlock cannot hold `.git/config`: at least no git in there runs what a command wrote into it a moment ago.
_GIT_PINS = {
    "GIT_CONFIG_COUNT": "3",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_KEY_1": "core.hooksPath",
    "GIT_CONFIG_VALUE_1": "/dev/null",
    "GIT_CONFIG_KEY_2": "protocol.ext.allow",
    "GIT_CONFIG_VALUE_2": "never",
}


def _environment(confinement: Confinement, temp: Path) -> dict[str, str]:
    cached = confinement.cache if confinement.level is Level.WORKSPACE else None
    network = {} if confinement.network is None else proxy_variables()
    return {**confinement.env, **place_variables(temp, cached or temp / "cache"), **network}


def _readable(data: bytes) -> int:
    """Return a descriptor from which a child reads the data."""
    descriptor = os.memfd_create("filter")
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _make_home(confinement: Confinement) -> None:
    with suppress(FileExistsError):  # an earlier command may have put anything in its place
        (confinement.temp / "home").mkdir(mode=0o700)
