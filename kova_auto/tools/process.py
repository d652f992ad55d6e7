"""Runs commands: each in a session of its own, behind a gate, within limits, and ended with all it started.

The gate: a new process waits, as a shell that has not yet become the command, until `release`. What the caller writes
down in between is therefore on disk before the command runs; if the caller dies first, nothing runs.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.capture import Capture, Output
from kova_auto.tools.leftovers import Leader, end, started_of

_SHELL = ("/bin/bash", "--norc", "--noprofile", "-p", "-c")
_GATE = """
read -r word && [ "$word" = go ] || exit 125
ulimit -c 0
ulimit -t "$1" 2>/dev/null
ulimit -f "$2" 2>/dev/null
ulimit -u "$3" 2>/dev/null
shift 3
exec "$@" </dev/null
"""
_GO = b"go\n"
_CHUNK = 1 << 16
_DRAIN_S = 1.0
_DEATH_S = 5.0


def bash_argv(command: str) -> list[str]:
    """Return the argument list that runs a command: one shell, pinned, which reads no start-up file or function.

    A command that begins with a dash is a command all the same.
    """
    return [*_SHELL, "--", command]


class Overflow(StrEnum):
    """Say what happens when a command prints more than the spool takes."""

    KILL = "kill"
    ROLL = "roll"  # the tail goes on; for processes in the background


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bound one command.

    No limit is set on address space: runtimes reserve far more than they use.

    Attributes:
        timeout_s: Wall clock from the release; each process may also use that much of every processor.
        grace_s: Between the polite signal and the other one.
        head_bytes: Of the output's beginning kept in memory.
        tail_bytes: Of the output's end kept in memory.
        spool_bytes: Of the output that goes to a file.
        overflow: What happens beyond it.
        processes: Of this user in the confinement, threads included.
        file_bytes: That one file may grow to.
    """

    timeout_s: float = 120.0
    grace_s: float = 1.0
    head_bytes: int = 8 << 10
    tail_bytes: int = 8 << 10
    spool_bytes: int = 4 << 20
    overflow: Overflow = Overflow.KILL
    processes: int = 4096
    file_bytes: int = 4 << 30


BACKGROUND = Limits(timeout_s=86_400.0, head_bytes=0, tail_bytes=256 << 10, overflow=Overflow.ROLL)
"""Bounds a command that is left running and looked at from time to time."""


class Ending(StrEnum):
    """Say why a command is over."""

    EXITED = "exited"
    TIMED_OUT = "timed_out"
    OVERFLOWED = "overflowed"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Ended:
    """Say how a command went.

    Attributes:
        exit_code: As a shell says it: 128 and the signal's number where a signal ended it; None if it would not die.
        leftovers: Processes that outlived the command and were ended after it.
    """

    ending: Ending
    exit_code: int | None
    output: Output
    duration_s: float
    leftovers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Child:
    """Hold a process behind its gate, and our ends of its pipes."""

    process: asyncio.subprocess.Process
    leader: Leader
    gate: BinaryIO
    printed: BinaryIO


class Process:
    """Hold one spawned command. It ends by itself, at its limits, by `stop`, or when whoever waits is cancelled."""

    def __init__(self, child: _Child, capture: Capture, limits: Limits, token: str) -> None:
        """Take over a child; `spawn` makes them."""
        self._child, self._capture = child, capture
        self._limits, self._token = limits, token
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[Ending] = self._loop.create_future()
        self._since = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None
        self.leader = child.leader
        self._task = asyncio.create_task(self._supervise())

    def release(self) -> None:
        """Let the command run; the clock starts. Without this, it never does; nor does it once it was ended."""
        if self._child.gate.closed:
            return
        self._since = self._loop.time()
        self._timer = self._loop.call_later(self._limits.timeout_s, self._finish, Ending.TIMED_OUT)
        with suppress(BrokenPipeError):  # it was ended while it waited
            self._child.gate.write(_GO)
        self._child.gate.close()

    def output(self) -> Output:
        """Return what was printed so far."""
        return self._capture.output()

    @property
    def is_over(self) -> bool:
        """Say whether the command, and all it started, has ended."""
        return self._task.done()

    async def ended(self) -> Ended:
        """Wait for the end. Cancelling the wait ends the command first.

        Raises:
            ToolFailedError: The output could not be kept.
        """
        try:
            return await asyncio.shield(self._task)
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def stop(self) -> Ended:
        """End the command and what it started, politely first. Calling twice is safe."""
        self._finish(Ending.STOPPED)
        return await asyncio.shield(self._task)

    def _finish(self, ending: Ending) -> None:
        if not self._over.done():
            self._over.set_result(ending)

    async def _supervise(self) -> Ended:
        exited, pump = asyncio.create_task(self._child.process.wait()), asyncio.create_task(self._pump())
        try:
            either: set[asyncio.Future[Any]] = {exited, self._over}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            self._finish(Ending.EXITED)
            leftovers = await end(self.leader, self._token, grace_s=0 if exited.done() else self._limits.grace_s)
            await asyncio.wait({exited}, timeout=_DEATH_S)
            await asyncio.wait({pump}, timeout=_DRAIN_S)  # longer only if somebody out of reach holds the pipe
            if pump.done():
                pump.result()
            code = _exit_code(exited.result()) if exited.done() else None
            return Ended(self._ending(), code, self.output(), self._loop.time() - self._since, leftovers)
        except OSError as error:
            message = f"the output could not be kept: {error.strerror}"
            raise ToolFailedError(message) from error
        finally:
            self._let_go(exited, pump)

    def _ending(self) -> Ending:
        return Ending.OVERFLOWED if self._is_too_much() else self._over.result()

    def _is_too_much(self) -> bool:
        return self._capture.overflowed and self._limits.overflow is Overflow.KILL

    async def _pump(self) -> None:
        """Take what is printed until nobody holds the pipe any more; a command that prints too much is over."""
        reader = asyncio.StreamReader()
        transport, _ = await self._loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._child.printed
        )
        try:
            while chunk := await reader.read(_CHUNK):
                self._capture.feed(chunk)
                if self._is_too_much():
                    self._finish(Ending.OVERFLOWED)
        except OSError:
            self._finish(Ending.STOPPED)
            raise
        finally:
            transport.close()

    def _let_go(self, *tasks: asyncio.Task[Any]) -> None:
        """Give back what is held; nothing of the command stays alive, even where this task is cancelled itself."""
        if self._child.process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.leader.pid, signal.SIGKILL)
        for task in tasks:
            task.cancel()
        if self._timer is not None:
            self._timer.cancel()
        self._child.gate.close()
        self._capture.close()


async def spawn(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    token: str,
    limits: Limits,
    spool: Path | None = None,
    inherits: tuple[int, ...] = (),
) -> Process:
    """Return a process that waits behind its gate: write `leader` down, then `release` it.

    Args:
        argv: The program's absolute path first.
        env: The whole environment. For an unconfined command it holds the mark, `environment.MARKER`.
        cwd: An existing directory.
        token: The call's mark.
        limits: What ends the command.
        spool: A new file for all of the output up to `limits.spool_bytes`, where no command can write; not removed.
        inherits: Descriptors that stay open in it, besides the standard three.

    Raises:
        ToolFailedError: The process could not be started.
    """
    with ExitStack() as undo:
        try:
            capture = Capture(limits.head_bytes, limits.tail_bytes, spool=spool, spool_bytes=limits.spool_bytes)
            undo.callback(capture.close)
            command = (*_SHELL, _GATE, "gate", *_ulimits(limits), *argv)
            child = await _start(command, env=env, cwd=cwd, inherits=inherits, undo=undo)
        except OSError as error:
            message = f"the command could not be started in {cwd}: {error.strerror}"
            raise ToolFailedError(message) from error
        undo.pop_all()
    return Process(child, capture, limits, token)


async def _start(
    command: Sequence[str], *, env: Mapping[str, str], cwd: Path, inherits: tuple[int, ...], undo: ExitStack
) -> _Child:
    """Start a process between two pipes; what must be closed if anything fails is told to `undo`."""
    with ExitStack() as theirs:
        gate_out, gate_in = os.pipe()
        gate = undo.enter_context(os.fdopen(gate_in, "wb", buffering=0))
        theirs.callback(os.close, gate_out)
        printed_out, printed_in = os.pipe()
        printed = undo.enter_context(os.fdopen(printed_out, "rb", buffering=0))
        theirs.callback(os.close, printed_in)
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=gate_out,
            stdout=printed_in,
            stderr=printed_in,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            pass_fds=inherits,
            umask=0o077,
        )
    return _Child(process, Leader(process.pid, await started_of(process.pid)), gate, printed)


async def run_process(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    token: str,
    limits: Limits,
    spool: Path | None = None,
    inherits: tuple[int, ...] = (),
) -> Ended:
    """Run a command to its end where nobody needs to write down that it starts; arguments as for `spawn`."""
    process = await spawn(argv, env=env, cwd=cwd, token=token, limits=limits, spool=spool, inherits=inherits)
    process.release()
    return await process.ended()


def _ulimits(limits: Limits) -> tuple[str, str, str]:
    processors = os.cpu_count() or 1
    return str(ceil(limits.timeout_s * processors) + 60), str(limits.file_bytes >> 10), str(limits.processes)


def _exit_code(returned: int) -> int:
    return returned if returned >= 0 else 128 - returned
