"""Assembles filters of system calls: what stands beside Landlock, and what bubblewrap's name spaces do not hold.

Under both, nobody reaches the kernel's key rings, types into a terminal, or leaves a file behind that runs as its
owner for whoever starts it. Landlock knows TCP only, and no sockets of the file system, over which a user's service
manager or a container engine would run anything unconfined. The filter sees numbers, not names: there it denies the
calls that make sockets, and new user name spaces. Pairs stay.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterable
from dataclasses import dataclass

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets; the low half of each argument comes first, little endian
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
    ioctl: int
    modes: tuple[tuple[int, int], ...]  # calls that give a file its mode, with the argument that holds it
    opens: tuple[tuple[int, int, int], ...]  # calls that may make a file, with the arguments for flags and mode


_NEWER = {"socket": 198, "clone": 220, "unshare": 97, "setns": 268, "ioctl": 29}
_BY_MACHINE = {
    "x86_64": Numbers(
        0xC000003E,
        socket=41,
        clone=56,
        unshare=272,
        setns=308,
        keyrings=(248, 249, 250),
        ioctl=16,
        modes=((90, 1), (91, 1), (268, 2), (85, 1), (133, 1), (259, 2)),
        opens=((2, 1, 2), (257, 2, 3)),
    ),
} | {
    machine: Numbers(
        architecture,
        **_NEWER,
        keyrings=(217, 218, 219),
        modes=((52, 1), (53, 2), (33, 2)),
        opens=((56, 2, 3),),
    )
    for machine, architecture in (("aarch64", 0xC00000B7), ("riscv64", 0xC00000F3))
}
_FCHMODAT2, _MODE_OF_FCHMODAT2 = 452, 2
_OPENAT2 = 437  # holds its mode where a filter cannot look
_RUNS_AS_OWNER = 0o4000
_MAKES_FILES = 0o100 | 0o20000000  # O_CREAT, and the half of O_TMPFILE that is its own
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_CLONE3 = 435
_IO_URING = (425, 426, 427)  # makes sockets past any filter


def numbers(machine: str = "") -> Numbers | None:
    """Return what is known of a machine as `uname -m` names it, by default of this one."""
    return _BY_MACHINE.get(machine or platform.machine())


def program(known: Numbers) -> bytes:
    """Return the filter beside Landlock, eight bytes an instruction."""
    steps = _deny_calls((_CLONE3,), _ENOSYS)  # callers fall back to what the filter can look into
    steps += _deny_calls((known.socket, known.setns), _EPERM)
    for call in (known.clone, known.unshare):
        steps += _deny_bit(call, 0, _NEW_USER_NAMESPACE)
    return b"".join([*_head(known), *steps, *_common(known), _step(_RETURN, _ALLOW)])


def inside_name_spaces(known: Numbers) -> bytes:
    """Return the filter inside bubblewrap, eight bytes an instruction."""
    return b"".join([*_head(known), *_common(known), _step(_RETURN, _ALLOW)])


def _head(known: Numbers) -> list[bytes]:
    """Deny other architectures' calls, whose numbers mean something else."""
    head = [_load(_ARCHITECTURE), *_unless_equal(known.architecture, _EPERM), _load(_NUMBER)]
    return [*head, _jump(_AT_LEAST, _X32, 0, 1), _deny(_EPERM)]


def _common(known: Numbers) -> list[bytes]:
    steps = _deny_calls((_OPENAT2, *_IO_URING), _ENOSYS) + _deny_calls(known.keyrings, _EPERM)
    for call, argument in (*known.modes, (_FCHMODAT2, _MODE_OF_FCHMODAT2)):
        steps += _deny_bit(call, argument, _RUNS_AS_OWNER)
    for call, flags, mode in known.opens:
        check = [_load_argument(mode), _jump(_ANY_BIT, _RUNS_AS_OWNER, 0, 1), _deny(_EPERM)]
        inner = [_load_argument(flags), _jump(_ANY_BIT, _MAKES_FILES, 0, len(check)), *check, _load(_NUMBER)]
        steps += [_jump(_EQUAL, call, 0, len(inner)), *inner]
    asks = [_jump(_EQUAL, request, 0, 1) for request in (_TIOCSTI, _TIOCLINUX)]
    inner = [_load_argument(1), *(step for ask in asks for step in (ask, _deny(_EPERM))), _load(_NUMBER)]
    return [*steps, _jump(_EQUAL, known.ioctl, 0, len(inner)), *inner]


def _deny_calls(calls: Iterable[int], error: int) -> list[bytes]:
    return [step for call in calls for step in (_jump(_EQUAL, call, 0, 1), _deny(error))]


def _deny_bit(call: int, argument: int, bit: int) -> list[bytes]:
    inner = [_load_argument(argument), _jump(_ANY_BIT, bit, 0, 1), _deny(_EPERM), _load(_NUMBER)]
    return [_jump(_EQUAL, call, 0, len(inner)), *inner]


def _load_argument(index: int) -> bytes:
    return _load(_ARGUMENTS + 8 * index)


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
