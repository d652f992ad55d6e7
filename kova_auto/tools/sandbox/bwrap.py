"""Confine with bubblewrap: name spaces of its own for files, network, processes and users.

The host's tree is there, read-only; what is hidden is covered by empty file systems; the run's temporary directory is
`/tmp`. As uid 0, bwrap keeps every capability unless it is told otherwise, and its read-only root can then be
remounted: the user name space and the dropped capabilities are therefore never optional.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kova_auto.tools.environment import MARKER
from kova_auto.tools.sandbox.control import Controls
from kova_auto.tools.sandbox.network import with_network
from kova_auto.tools.sandbox.places import Access, Place, nearest
from kova_auto.tools.sandbox.plan import Confinement

TEMP_AT = (Path("/", "tmp"), Path("/", "var", "tmp"))
"""Where a command sees its run's temporary directory."""

_ALWAYS = (
    "--unshare-all",
    "--unshare-user",
    "--disable-userns",
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--new-session",
)
# To uid 0 many files of a fresh /proc are writable without any capability, `sys/kernel/core_pattern` among them, by
# which the host's kernel runs a program of one's choice; bwrap itself covers too few of them.
_HOST = ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--remount-ro", "/proc")


def bwrap_argv(
    bwrap: Path,
    confinement: Confinement,
    seen: Sequence[Place],
    controls: Controls,
    command: Sequence[str],
    token: str,
    *,
    seccomp: int | None = None,
) -> list[str]:
    """Return the command line that runs `command` confined.

    Args:
        bwrap: The program.
        confinement: Canonical.
        seen: What the command sees, outer trees first.
        controls: The control files of the writable roots.
        command: The command's own argument list.
        token: Marks the command's processes, and not bwrap's own, which are to outlive a polite signal.
        seccomp: Descriptor from which bwrap reads a filter of system calls.
    """
    filtered = () if seccomp is None else ("--seccomp", str(seccomp))
    if (descriptor := confinement.network) is not None:
        command = with_network(descriptor, command)
    inside = ("--setenv", MARKER, token, "--chdir", str(confinement.cwd), "--")
    return [str(bwrap), *_ALWAYS, *filtered, *_HOST, *_trees(seen), *_controls(seen, controls), *inside, *command]


def _trees(seen: Sequence[Place]) -> list[str]:
    mounts = [argument for place in seen for argument in _mount(place)]
    # Only now, as the mount points of visible trees below a hidden one are made in it.
    sealed = [place.path for place in seen if place.access is Access.HIDDEN and place.is_dir]
    return mounts + [argument for path in sealed for argument in ("--remount-ro", str(path))]


def _mount(place: Place) -> tuple[str, ...]:
    match place.access:
        case Access.HIDDEN if place.is_dir:
            return ("--tmpfs", str(place.path))
        case Access.HIDDEN:
            return ("--ro-bind", "/dev/null", str(place.path))  # a device on a file system without devices: no access
        case Access.READ:
            return ("--ro-bind", str(place.source), str(place.path))
        case Access.WRITE:
            return ("--bind", str(place.source), str(place.path))


def _controls(seen: Sequence[Place], controls: Controls) -> list[str]:
    """Return the mounts over control files; after the hidden trees are sealed, so that no planted link leads there."""
    ways: dict[Path, tuple[str, ...]] = {path: ("--bind", str(path), str(path)) for path in controls.pins}
    ways |= {path: ("--ro-bind", str(path), str(path)) for path in controls.masks}
    ways |= {path: ("--tmpfs", str(path), "--remount-ro", str(path)) for path in controls.voids}
    shown = (path for path in sorted(ways, key=lambda path: len(path.parts)) if _is_writable(seen, path))
    return [argument for path in shown for argument in ways[path]]


def _is_writable(seen: Sequence[Place], path: Path) -> bool:
    place = nearest(seen, path)
    return place is not None and place.at_home and place.access is Access.WRITE
