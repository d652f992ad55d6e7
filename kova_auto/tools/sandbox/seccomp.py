"""Assembles the filter that stands beside Landlock: no sockets, no user name spaces, no kernel key rings.

Landlock knows TCP only, and no sockets of the file system, over which a user's service manager or a container engine
would run anything unconfined. The filter sees numbers, not names: it denies the calls that make sockets. Pairs stay.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterable
from dataclasses import dataclass

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets; the low half of an argument, little endian
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_NEW_USER_NAMESPACE = 0x10000000
_X32 = 0x40000000


@dataclass(frozen=True, slots=True)
class Numbers:
    """Hold one architecture's number and those of its system calls."""

    architecture: int
    socket: int
    clone: int
    unshare: int
    setns: int
    keyrings: tuple[int, int, int]


_BY_MACHINE = {
    "x86_64": Numbers(0xC000003E, socket=41, clone=56, unshare=272, setns=308, keyrings=(248, 249, 250)),
    "aarch64": Numbers(0xC00000B7, socket=198, clone=220, unshare=97, setns=268, keyrings=(217, 218, 219)),
    "riscv64": Numbers(0xC00000F3, socket=198, clone=220, unshare=97, setns=268, keyrings=(217, 218, 219)),
}
_CLONE3 = 435
_IO_URING = (425, 426, 427)  # makes sockets past any filter


def numbers(machine: str = "") -> Numbers | None:
    """Return what is known of a machine as `uname -m` names it, by default of this one."""
    return _BY_MACHINE.get(machine or platform.machine())


def program(known: Numbers) -> bytes:
    """Return the filter for a machine, eight bytes an instruction."""
    steps = [_load(_ARCHITECTURE), *_unless_equal(known.architecture, _EPERM), _load(_NUMBER)]
    steps += [_jump(_AT_LEAST, _X32, 0, 1), _deny(_EPERM)]
    steps += _deny_calls((_CLONE3, *_IO_URING), _ENOSYS)  # callers fall back to what the filter can look into
    steps += _deny_calls((known.socket, known.setns, *known.keyrings), _EPERM)
    for call in (known.clone, known.unshare):
        steps += _deny_flag(call, _NEW_USER_NAMESPACE)
    return b"".join([*steps, _step(_RETURN, _ALLOW)])


def _deny_calls(calls: Iterable[int], error: int) -> list[bytes]:
    return [step for call in calls for step in (_jump(_EQUAL, call, 0, 1), _deny(error))]


def _deny_flag(call: int, flag: int) -> list[bytes]:
    inner = [_load(_FIRST_ARGUMENT), _jump(_ANY_BIT, flag, 0, 1), _deny(_EPERM), _load(_NUMBER)]
    return [_jump(_EQUAL, call, 0, len(inner)), *inner]


def _unless_equal(value: int, error: int) -> list[bytes]:
    return [_jump(_EQUAL, value, 1, 0), _deny(error)]


def _load(offset: int) -> bytes:
    return _step(_LOAD, offset)


def _deny(error: int) -> bytes:
    return _step(_RETURN, _ERROR | error)


def _step(code: int, value: int) -> bytes:
    return struct.pack("<HBBI", code, 0, 0, value)


def _jump(code: int, value: int, when_true: int, when_false: int) -> bytes:
    return struct.pack("<HBBI", code, when_true, when_false, value)
