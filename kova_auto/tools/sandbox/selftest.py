"""Proves a confinement by trying to break out of it: no version is checked, only what happens.

The same runner, the same bash and the same recipe as for real commands run a small probe that attempts what must work
and what must not; everything it aims at is made for the purpose, on loopback and in a scratch directory.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.errors import ToolError
from kova_auto.tools.process import Limits, bash_argv, run_process
from kova_auto.tools.sandbox.confiners import Confiner
from kova_auto.tools.sandbox.plan import Confinement, Level, Method

_WRITE_WORKSPACE, _WRITE_TEMP = "write in the workspace", "write a temporary file"
_WRITE_CONTROL, _WRITE_OUTSIDE = "write a control file", "write outside"
_READ_STATE, _CONNECT, _NAMESPACE = "read the hidden state", "connect to loopback", "create a user name space"
_MUST_FAIL = (_WRITE_CONTROL, _WRITE_OUTSIDE, _READ_STATE, _CONNECT, _NAMESPACE)
_LIMITS = Limits(timeout_s=20.0, grace_s=0.5)
_WORKED = "worked"

_PROBE = """
import ctypes, os, socket, sys
workspace, outside, state, port = sys.argv[1:]
def write(path):
    with open(path, "a") as file:
        file.write("#")
def unshare():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
attempts = {
    "write in the workspace": lambda: write(workspace + "/probe"),
    "write a temporary file": lambda: write(os.environ["TMPDIR"] + "/probe"),
    "write a control file": lambda: write(workspace + "/.git/config"),
    "write outside": lambda: write(outside),
    "read the hidden state": lambda: open(state).read(),
    "connect to loopback": lambda: socket.create_connection(("127.0.0.1", int(port)), 2).close(),
    "create a user name space": unshare,
}
for name, attempt in attempts.items():
    try:
        attempt()
    except (OSError, AttributeError) as error:
        print(name, getattr(error, "strerror", None) or error, sep="\\t")
    else:
        print(name, "worked", sep="\\t")
"""


@dataclass(frozen=True, slots=True)
class Check:
    """Say how one attempt went; it held if what must work worked, and what must not did not."""

    name: str
    held: bool
    detail: str


@dataclass(frozen=True, slots=True)
class SelfTest:
    """Hold the proof, or why there is none.

    Attributes:
        checks: Empty where the probe never ran.
        reason: Why it is not ok, in one clause; empty where it is.
        lacks: What the method does not promise; its checks are made all the same.
    """

    method: Method
    level: Level
    checks: tuple[Check, ...] = ()
    reason: str = ""
    lacks: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Say whether commands may rely on it."""
        return not self.reason


async def self_test(confiner: Confiner, level: Level, *, scratch: Path, hidden: tuple[Path, ...]) -> SelfTest:
    """Try to break out of a confinement.

    Args:
        confiner: What is tested.
        level: READING or WORKSPACE.
        scratch: An existing directory of the service's own; what is made in it is removed.
        hidden: What the service hides from its commands.
    """
    with _ground(scratch, level, hidden) as ground, _listener() as port:
        command = bash_argv(shlex.join(_probe(ground, port)))
        try:
            printed = await _printed(confiner, ground.confinement, command)
        except ToolError as error:
            return SelfTest(confiner.method, level, reason=str(error), lacks=confiner.lacks)
    checks = _checks(printed, level)
    return SelfTest(confiner.method, level, checks, _reason(confiner.method, level, checks, printed), confiner.lacks)


@dataclass(frozen=True, slots=True)
class _Ground:
    confinement: Confinement
    outside: Path
    state: Path


@contextmanager
def _ground(scratch: Path, level: Level, hidden: tuple[Path, ...]) -> Iterator[_Ground]:
    """Make a workspace with a repository, a file outside and a hidden one, for as long as the test runs."""
    top = Path(tempfile.mkdtemp(prefix="self-test-", dir=scratch)).resolve()
    try:
        for name in ("workspace/.git/objects", "outside", "state", "temp", "cache"):
            (top / name).mkdir(parents=True)
        for name in ("workspace/.git/HEAD", "workspace/.git/config", "outside/file", "state/canary"):
            (top / name).write_text("#")
        yield _Ground(
            Confinement(
                level=level,
                workspace=top / "workspace",
                temp=top / "temp",
                cwd=top / "workspace",
                cache=top / "cache",
                read_roots=(top / "outside",),
                hidden=(*hidden, top / "state"),
                toolchains=(Path(sys.base_prefix),),
                env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
            ),
            outside=top / "outside/file",
            state=top / "state/canary",
        )
    finally:
        shutil.rmtree(top, ignore_errors=True)


@contextmanager
def _listener() -> Iterator[int]:
    """Listen on loopback; a connection needs nobody to accept it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def _probe(ground: _Ground, port: int) -> tuple[str, ...]:
    python = str(Path(sys.executable).resolve())
    targets = (str(ground.confinement.workspace), str(ground.outside), str(ground.state), str(port))
    return ("exec", python, "-I", "-S", "-c", _PROBE, *targets)


async def _printed(confiner: Confiner, confinement: Confinement, command: list[str]) -> str:
    token = f"self-test-{os.getpid()}-{confiner.method}-{confinement.level}"
    confined = await asyncio.to_thread(confiner.prepare, confinement, command, token)
    try:
        ended = await run_process(
            confined.argv,
            env=confined.env,
            cwd=confined.cwd,
            token=token,
            limits=_LIMITS,
            inherits=confined.inherits,
        )
    finally:
        confiner.settle(confined)
    return ended.output.text()


def _checks(printed: str, level: Level) -> tuple[Check, ...]:
    """Read the probe's lines; none where it did not come to its end."""
    lines = (line.partition("\t") for line in printed.splitlines())
    went = {name: detail for name, tab, detail in lines if tab}
    wanted: Mapping[str, bool] = {
        _WRITE_WORKSPACE: level is Level.WORKSPACE,
        _WRITE_TEMP: True,
        **dict.fromkeys(_MUST_FAIL, False),
    }
    if not wanted.keys() <= went.keys():
        return ()
    return tuple(Check(name, (went[name] == _WORKED) is works, went[name]) for name, works in wanted.items())


def _reason(method: Method, level: Level, checks: tuple[Check, ...], printed: str) -> str:
    if not checks:
        lines = printed.split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "the probe printed nothing")
    unmasked = method is Method.LANDLOCK and level is Level.WORKSPACE  # stated among its lacks
    broken = (check for check in checks if not check.held and not (unmasked and check.name == _WRITE_CONTROL))
    return "; ".join(f"to {check.name} inside: {check.detail}" for check in broken)
