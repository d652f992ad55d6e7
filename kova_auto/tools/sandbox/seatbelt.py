"""Confine on macOS with `sandbox-exec`: a profile that denies everything and allows what a command needs.

Written, not run: there was no Mac to try it on. Nothing relies on it unproved: the self-test runs there as everywhere,
and where it fails, commands are refused. The profile is text, made from the same places and control files as the other
confinements; of two rules that match, the later one wins.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kova_auto.core.approval.floor import ASKED_DIRS, ASKED_FILES, CONTROL_DIRS, CONTROL_FILES
from kova_auto.core.errors import ToolFailedError
from kova_auto.tools.sandbox.control import Controls
from kova_auto.tools.sandbox.places import Access, Place
from kova_auto.tools.sandbox.plan import Confinement, Level

PROGRAM = Path("/usr/bin/sandbox-exec")

LACKS = (
    "names, sizes and owners of hidden files can be asked for",
    "other processes and their command lines are visible",
    "a process that leaves its group and clears its environment outlives the command",
)
"""What bubblewrap would hold."""

SHARED = (Path("/private/tmp"), Path("/private/var/tmp"), Path("/private/var/folders"))
"""Temporary directories of the machine and its users; a command's own lies elsewhere, or is shown in them."""

_HEAD = """\
(version 1)
(deny default)
(deny network*)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.membership"))
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))
(allow file-read*)
(allow file-write-data file-ioctl (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty"))
(allow file-write-data (literal "/dev/stdout") (literal "/dev/stderr") (regex #"^/dev/fd/[0-9]+$"))"""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def find_seatbelt() -> Path | None:
    """Return macOS's own program; None on every other system."""
    return PROGRAM if sys.platform == "darwin" and PROGRAM.exists() else None


def seatbelt_argv(
    program: Path, confinement: Confinement, seen: Sequence[Place], controls: Controls, command: Sequence[str]
) -> list[str]:
    """Return the command line that runs `command` confined.

    Raises:
        ToolFailedError: A path cannot be written into a profile.
    """
    return [str(program), "-p", profile(confinement, seen, controls), *command]


def profile(confinement: Confinement, seen: Sequence[Place], controls: Controls) -> str:
    """Return the profile.

    Args:
        confinement: Canonical.
        seen: What the command sees, outer trees first.
        controls: The control files of the writable roots.

    Raises:
        ToolFailedError: A path holds control characters.
    """
    rules = [_HEAD, *map(_shown, seen), "(allow file-read-metadata)"]  # a hidden directory can be passed, not listed
    if confinement.level is Level.WORKSPACE:
        rules += _held(controls)
    return "\n".join(rules) + "\n"


def _shown(place: Place) -> str:
    match place.access:
        case Access.HIDDEN:
            return f"(deny file-read* file-write* {_tree(place.path, is_dir=place.is_dir)})"
        case Access.READ:
            return f"(allow file-read* {_tree(place.path, is_dir=place.is_dir)})"
        case Access.WRITE:
            return f"(allow file-read* file-write* {_tree(place.path, is_dir=place.is_dir)})"


def _held(controls: Controls) -> Iterator[str]:
    """Yield the rules that keep control files as they are, existing or not; after the rules that allow their roots."""
    for root in controls.roots:
        for pattern in _patterns():
            yield f'(deny file-write* (require-all {_tree(root)} (regex #"{pattern}")))'
    for path in (*controls.masks, *controls.voids, *controls.absent):
        yield f"(deny file-write* {_tree(path)})"
    for path in (*controls.roots, *controls.pins):
        yield f"(deny file-write-unlink {_tree(path, is_dir=False)})"


def _patterns() -> list[str]:
    """Return what matches every control name at any depth, in any case; git's own is held path by path.

    Case is spelled out: most of these volumes fold it, and a profile's expressions do not.
    """
    names: Iterable[str] = (*CONTROL_DIRS, *CONTROL_FILES, *ASKED_DIRS, *ASKED_FILES)
    return [f"/{''.join(map(_either_case, name))}(/|$)" for name in names if name != ".git"]


def _either_case(char: str) -> str:
    if char.isalpha():
        return f"[{char.upper()}{char.lower()}]"
    return f"[{char}]" if char == "." else char


def _tree(path: Path, *, is_dir: bool = True) -> str:
    return f"({'subpath' if is_dir else 'literal'} {_quoted(path)})"


def _quoted(path: Path) -> str:
    text = str(path)
    if _CONTROL.search(text):
        message = f"{text!r} cannot be named in a confinement's profile: rename it"
        raise ToolFailedError(message)
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
