"""Confine this process with Landlock and seccomp, then become the command.

Run as a script by an isolated interpreter: `launcher.py RULESET FILTER RULE... -- COMMAND...`; ruleset and filter are
in hexadecimal, a rule is `RIGHTS:PATH`. It decides nothing and imports next to nothing: it runs before every command.
"""

from __future__ import annotations

import ctypes
import os
import sys
from posix import execv

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _DROP_BOUNDING = 38, 22, 24
_SECCOMP_FILTER = 2
_PATH_BENEATH = 1
_CAPABILITIES = 64
_CAPSET_VERSION = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def main(arguments: list[str]) -> None:
    """Confine, then execute; returns only by an error."""
    end = arguments.index("--")
    ruleset, program, *rules = arguments[:end]
    command = arguments[end + 1 :]
    if os.geteuid() == 0:
        _drop_capabilities()
    _check(_libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _landlock(bytes.fromhex(ruleset), rules)
    _seccomp(bytes.fromhex(program))
    execv(command[0], command)


def _drop_capabilities() -> None:
    """Give up what uid 0 could do beyond owning files, for this process and all that it becomes."""
    for capability in range(_CAPABILITIES):
        _libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0)  # fails past the last one that the kernel knows
    header = (ctypes.c_uint32 * 2)(_CAPSET_VERSION, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()))


def _landlock(attributes: bytes, rules: list[str]) -> None:
    ruleset = _check(_libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0)))
    for rule in rules:
        rights, _, path = rule.partition(":")
        try:
            tree = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue  # gone, or not ours to see: then it stays denied
        beneath = _PathBeneath(int(rights, 16), tree)
        _check(_libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(beneath), ctypes.c_uint32(0)))
        os.close(tree)
    _check(_libc.syscall(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0)))
    os.close(ruleset)


def _seccomp(program: bytes) -> None:
    filter_ = _Program(len(program) // 8, program)
    _check(_libc.prctl(_SET_SECCOMP, _SECCOMP_FILTER, ctypes.byref(filter_), 0, 0))


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except OSError as error:
        sys.stderr.write(f"landlock: {error.strerror}\n")
        sys.exit(126)
