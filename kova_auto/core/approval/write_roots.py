"""Say which directories no standing decision may make a write root, and why.

A write root counts as inside: whatever lies below it is written unasked. So it may neither be nor hold what steers or
keeps this machine, this service and other jobs, and it may not lie in what is closed altogether.

Source: reference on shells, section 9.3.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from kova_auto.core.approval.floor import control_of, lies_in

# Neither these, nor what is below them.
_SYSTEM = (
    "/Applications",
    "/Library",
    "/Network",
    "/System",
    "/bin",
    "/boot",
    "/dev",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/lost+found",
    "/net",
    "/nix",
    "/private/etc",
    "/proc",
    "/run",
    "/sbin",
    "/snap",
    "/sys",
    "/usr",
    "/var/backups",
    "/var/log",
    "/var/mail",
    "/var/run",
    "/var/spool",
)
# Not these themselves: what is below them may be anybody's.
_SHARED = (
    "/Users",
    "/Volumes",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/private/var",
    "/root",
    "/srv",
    "/var/lib",
)


@dataclass(frozen=True, slots=True)
class Place:
    """Hold a place that no write root may be, or hold.

    Attributes:
        path: Canonical.
        what: What it is, as `your home directory`.
        closed: No write root may lie in it either.
    """

    path: PurePath
    what: str
    closed: bool


def places_of_system() -> tuple[Place, ...]:
    """Return the places that are the system's on any machine."""
    system = (Place(PurePath(path), "a directory of the system", closed=True) for path in _SYSTEM)
    shared = (Place(PurePath(path), "where many have their files", closed=False) for path in _SHARED)
    return (*system, *shared)


def root_objection(root: PurePath, places: Iterable[Place]) -> str:
    """Return why a canonical directory cannot be a write root, as a sentence without its end; empty where it can."""
    if root == PurePath("/"):
        return "/ is the whole machine"
    if control_of(root.parts[1:]):
        return f"{root} is, or lies in, a directory that tells agents, git, editors or shells what to do"
    return next((why for place in places if (why := _objection(root, place))), "")


def _objection(root: PurePath, place: Place) -> str:
    if lies_in(place.path, (root,)):
        return f"{root} is {place.what}" if root == place.path else f"{root} holds {place.path}, {place.what}"
    return f"{root} lies in {place.path}, {place.what}" if place.closed and lies_in(root, (place.path,)) else ""
