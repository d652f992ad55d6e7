"""Match a host against the hosts that a job lists: a name stands for itself, `*.name` for what lies below it.

`*` stands for every public host; whether a host is public is decided where its address is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import idna

ANY = "*"
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*|[0-9a-f:]+")


def check_host(entry: str) -> str | None:
    """Return what is wrong with a listed host, or None."""
    if entry == ANY:
        return None
    name = _canonical(entry.removeprefix("*."))
    if name is None:
        return f"wanted a host such as docs.python.org, *.python.org or *, found {entry!r}"
    if entry.startswith("*.") and ("." not in name or name.rpartition(".")[2].isdigit()):
        return f"{entry!r} is wider than one site; write it as *.python.org, or * for any public host"
    return None


def listing(entries: Iterable[str], host: str | None) -> str | None:
    """Return the entry that covers a host, or None; a host that is not known is covered by `*` only."""
    return next((entry for entry in entries if _covers(entry, host)), None)


def named_hosts(entries: Iterable[str]) -> tuple[str, ...]:
    """Return the entries that name a host or what lies below one: all but `*`."""
    return tuple(entry for entry in entries if entry != ANY)


def _covers(entry: str, host: str | None) -> bool:
    if entry == ANY:
        return True
    if host is None or check_host(entry):
        return False
    name = _canonical(entry.removeprefix("*."))
    found = _canonical(host)
    if name is None or found is None:
        return False
    return found.endswith(f".{name}") if entry.startswith("*.") else found == name


def _canonical(name: str) -> str | None:
    try:
        ascii_name = name if name.isascii() else idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError:
        return None
    host = ascii_name.lower().removesuffix(".").removeprefix("[").removesuffix("]")
    return host if _HOST.fullmatch(host) and len(host) <= 253 else None
