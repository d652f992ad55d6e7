"""Finds and ends the processes of one command, wherever they went: its group, and on Linux whoever bears its mark.

A process can leave its group; the environment it started with stays readable in `/proc`. A process that does both,
leaving the group and clearing its environment, is out of reach here: a process name space holds it.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from kova_auto.tools.environment import MARKER

_PROC = Path("/proc")
_LOOK_AGAIN_S = 0.02
_DEATH_S = 5.0
_NOTHING = 0


@dataclass(frozen=True, slots=True)
class Leader:
    """Identify a command's first process, which leads its group and session, across a restart of the service.

    Attributes:
        pid: Also the group's number.
        started: When it started, as the system tells it; with it, a reused pid is not taken for it.
    """

    pid: int
    started: str


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    group: int
    started: str


async def started_of(pid: int) -> str:
    """Return when a process started, unique to this boot; empty where there is none or it is dead."""
    if _lists_processes():
        found = _look(pid)
        return found.started if found else ""
    asked = await asyncio.create_subprocess_exec(
        *("/bin/ps", "-o", "lstart=", "-p", str(pid)), stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
    )
    answer, _ = await asked.communicate()
    return answer.decode().strip()


async def kill_leftovers(leader: Leader, token: str, *, grace_s: float = 1.0) -> tuple[int, ...]:
    """End what a dead service left of a command, and return the processes that were found.

    The group counts only if its leader still is the recorded process; a marked process counts in any case.

    Args:
        leader: As it was recorded before the command ran.
        token: The call's mark.
        grace_s: Between the polite signal and the other one.
    """
    if not _lists_processes() and await started_of(leader.pid) != leader.started:
        return ()
    return await _end(_Search(leader, token, recorded=True), grace_s)


async def end(leader: Leader, token: str, *, grace_s: float) -> tuple[int, ...]:
    """End the processes of a command that this process spawned, and wait until they are gone, within a bound.

    Args:
        leader: The group's leader; may be dead already.
        token: The call's mark.
        grace_s: Between the polite signal and the other one; 0 skips the polite one.
    """
    return await _end(_Search(leader, token, recorded=False), grace_s)


async def _end(search: _Search, grace_s: float) -> tuple[int, ...]:
    found: set[int] = set()
    clock = asyncio.get_running_loop().time  # A look takes a while where many processes run.
    for signal_, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, _DEATH_S)):
        until, told = clock() + patience_s, set[int]()
        while clock() < until:
            members = await asyncio.to_thread(search.members)
            if not members.all:
                return tuple(sorted(found))
            if members.grouped:
                search = replace(search, recorded=False)  # seen with its leader once, it stays the command's own
            found |= members.all
            # Parents first, as a rule: one whose child dies before it is told would go on to its next step.
            for pid in sorted(members.to_tell(signal_) - told):
                _send(pid, signal_)
                told.add(pid)
            await asyncio.sleep(_LOOK_AGAIN_S)
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class _Members:
    """Hold a command's live processes; a negative number is a whole group, where processes cannot be listed."""

    grouped: frozenset[int] = frozenset()
    marked: frozenset[int] = frozenset()

    @property
    def all(self) -> frozenset[int]:
        return self.grouped | self.marked

    def to_tell(self, signal_: signal.Signals) -> frozenset[int]:
        """Return whom to signal. Politely, only the command itself: a confining parent that died would cut it off."""
        return self.marked if signal_ is signal.SIGTERM and self.marked else self.all


@dataclass(frozen=True, slots=True)
class _Search:
    """Say what to look for.

    Attributes:
        recorded: The leader is known from a record only. A group that has lost its leader is then somebody's; to the
            process that spawned the leader it is its own, as no pid is given away while a group has its number.
    """

    leader: Leader
    token: str
    recorded: bool

    def members(self) -> _Members:
        """Return the command's live processes, this one never among them."""
        if not _lists_processes():
            return _Members(grouped=frozenset({-self.leader.pid} if _send(-self.leader.pid, _NOTHING) else ()))
        mark = f"{MARKER}={self.token}".encode()
        processes = [found for pid in _pids() if (found := _look(pid))]
        grouped = [found for found in processes if found.group == self.leader.pid and self._owns_group(processes)]
        marked = [found for found in processes if _bears(found.pid, mark)]
        return _Members(_numbers(grouped), _numbers(marked))

    def _owns_group(self, processes: Iterable[_Process]) -> bool:
        started = next((found.started for found in processes if found.pid == self.leader.pid), None)
        return started == self.leader.started or (started is None and not self.recorded)


def _numbers(processes: Iterable[_Process]) -> frozenset[int]:
    return frozenset(found.pid for found in processes)


def _lists_processes() -> bool:
    return _PROC.joinpath("self").exists()


def _pids() -> Iterator[int]:
    own = os.getpid()
    yield from (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdecimal() and int(entry.name) != own)


def _look(pid: int) -> _Process | None:
    """Read a live process's line; None where it is dead or a zombie."""
    try:
        line = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None
    # The name stands in parentheses and may hold any byte, parentheses among them.
    state, _, group, *others = line.rpartition(b")")[2].split()
    if state in (b"Z", b"X"):
        return None
    return _Process(pid, int(group), f"{int(others[16])}@{_boot()}")


def _bears(pid: int, mark: bytes) -> bool:
    try:
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


@lru_cache(maxsize=1)
def _boot() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def _send(pid: int, signal_: int) -> bool:
    try:
        os.kill(pid, signal_)
    except OSError:
        return False
    return True
