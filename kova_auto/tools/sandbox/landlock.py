"""Confine with Landlock where bubblewrap does not work: the kernel denies this process and its children.

It allows trees and knows no exceptions below them: what lies around a hidden place is allowed one by one, and a hidden
place inside a writable root cannot be had. What it lacks is said, not assumed away.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.sandbox.network import no_network
from kova_auto.tools.sandbox.places import Access, Place, places
from kova_auto.tools.sandbox.plan import Confinement, Level
from kova_auto.tools.sandbox.seccomp import Numbers, program

LEAST_ABI = 3
"""Older ones cannot stop a file outside from being cut to nothing (kernel 6.2)."""

_CREATE_RULESET = 444
_ASK_VERSION = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_MAKE_CHARACTER, _MAKE_BLOCK = 1 << 6, 1 << 11
_ALL_ABI_3 = (1 << 15) - 1
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_TCP_ABI, _IOCTL_ABI, _SCOPE_ABI = 4, 5, 6
_TCP, _SCOPE = 0b11, 0b11
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
_SHARED = (Path("/", "tmp"), Path("/", "var", "tmp"), Path("/", "dev", "shm"))
_LAUNCHER = Path(__file__).with_name("launcher.py")


def abi() -> int:
    """Return the kernel's Landlock version, 0 where there is none."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))
    return max(0, int(version))


def why_not(version: int, known: Numbers | None) -> str:
    """Return why Landlock cannot be used here, empty where it can."""
    if not version:
        return "this kernel has no Landlock"
    if version < LEAST_ABI:
        return f"this kernel's Landlock is version {version}, and {LEAST_ABI} (Linux 6.2) is needed"
    if known is None:
        return f"no system call numbers are known for {os.uname().machine}"
    return ""


def lacks(level: Level, version: int) -> tuple[str, ...]:
    """Return what bubblewrap would give and Landlock does not."""
    always = (
        "mode, owner, times and attributes of files outside can be changed",
        "names, sizes and owners of hidden files can be asked for",
        "other processes and their command lines are visible, and their priority and limits can be changed",
        "a process that leaves its group and clears its environment outlives the command",
        "there is no shared memory in /dev/shm, and directories above hidden places cannot be listed",
    )
    signals = () if version >= _SCOPE_ABI else ("other processes of the same user can be signalled",)
    control = ("control files inside the workspace can be changed",) if level is Level.WORKSPACE else ()
    return (*control, *signals, *always)


def seen_by(confinement: Confinement) -> tuple[Place, ...]:
    """Return what a command sees: the host's shared temporary directories are hidden, its own lies where it lies."""
    wider = replace(confinement, hidden=(*confinement.hidden, *(path.resolve() for path in _SHARED)))
    return places(wider, (confinement.temp,))


def landlock_argv(
    python: Path,
    confinement: Confinement,
    seen: Sequence[Place],
    command: Sequence[str],
    *,
    version: int,
    known: Numbers,
) -> list[str]:
    """Return the command line that runs `command` confined.

    Args:
        python: An interpreter; it need not be visible inside.
        confinement: Canonical.
        seen: What the command sees.
        command: The command's own argument list, the program's absolute path first.
        version: The kernel's Landlock version, at least `LEAST_ABI`.
        known: This machine's system calls.

    Raises:
        ToolFailedError: Something to hide lies inside a writable root, or the command is to have a network.
    """
    if confinement.network is not None:
        raise ToolFailedError(no_network("Landlock"))
    handled = _ALL_ABI_3 | (_IOCTL_DEVICE if version >= _IOCTL_ABI else 0)
    fields = [handled]
    fields += [_TCP] if version >= _TCP_ABI else []
    fields += [_SCOPE] if version >= _SCOPE_ABI else []
    ruleset = struct.pack(f"={len(fields)}Q", *fields).hex()
    rules = [f"{rights:x}:{path}" for path, rights in _rules(seen, handled)]
    launch = (str(python), "-I", "-S", str(_LAUNCHER), ruleset, program(known).hex())
    return [*launch, *rules, "--", *command]


def _rules(seen: Sequence[Place], handled: int) -> Iterator[tuple[Path, int]]:
    writes = handled & ~(_MAKE_CHARACTER | _MAKE_BLOCK)
    outermost = [path for path in _hidden(seen) if not any(_shows(place, path) for place in seen)]
    yield from _reading(Path("/"), outermost)
    for place in seen:
        inner = [path for path in _hidden(seen) if _shows(place, path)]
        if place.access is Access.READ:
            yield from _reading(place.path, inner)
        elif place.access is Access.WRITE:
            if inner:
                message = f"Landlock cannot hide {inner[0]} inside {place.path}, which may be written"
                raise ToolFailedError(message)
            yield place.path, writes if place.is_dir else writes & _OF_FILES
    for device in _DEVICES:
        yield Path(device), handled & _OF_FILES


def _hidden(seen: Sequence[Place]) -> list[Path]:
    return [place.path for place in seen if place.access is Access.HIDDEN]


def _shows(place: Place, path: Path) -> bool:
    return place.access is not Access.HIDDEN and path.is_relative_to(place.path)


def _reading(top: Path, hidden: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    """Yield the largest trees that hold all of `top` but what is hidden, with the right to read them."""
    split = frozenset(above for path in hidden for above in path.parents)
    if top not in split:
        yield top, _READ if top.is_dir() else _READ & _OF_FILES
        return
    todo = [top]
    while todo:
        for child, is_dir in _children(todo.pop()):
            if child in hidden:
                continue
            if child in split:
                todo.append(child)
            else:
                yield child, _READ if is_dir else _READ & _OF_FILES


def _children(top: Path) -> list[tuple[Path, bool]]:
    """Return what lies in a directory, and whether it is one; a link leads to what has rules of its own."""
    try:
        with os.scandir(top) as entries:
            return [(top / entry.name, entry.is_dir()) for entry in entries if not entry.is_symlink()]
    except (PermissionError, FileNotFoundError):
        return []  # then no command of ours can read it either
