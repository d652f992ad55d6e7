"""Give a confined command its half of the network: a launcher that hands a socket over, and variables that name it.

The confinement's own network holds nothing but a loopback of its own. Programs that heed no proxy variables find no
network at all, and no names: the proxy looks names up.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

PORT = 3128
"""Where the proxy is found, on the confinement's own loopback: nobody else's port can be in the way."""

_URL = f"http://127.0.0.1:{PORT}"
_NOT_BY_IT = "localhost,127.0.0.1,::1"  # what a command itself serves
_LAUNCHER = Path(__file__).with_name("handover.py")


def no_network(method: str) -> str:
    """Return why a method that does not lead commands to a proxy confines none that are to have a network."""
    return f"{method} cannot hold a command to the hosts of a network: it needs bubblewrap"


def with_network(descriptor: int, command: Sequence[str]) -> list[str]:
    """Return the command line that hands a listening socket over a descriptor, and then becomes `command`.

    The launcher goes as text: our own files may lie where no command sees them.
    """
    return [_python(), "-I", "-S", "-c", _launcher(), str(descriptor), str(PORT), "--", *command]


def proxy_variables() -> dict[str, str]:
    """Return the variables by which programs find the proxy, in both cases, as some heed only the one or the other."""
    small = {"http_proxy": _URL, "https_proxy": _URL, "all_proxy": _URL, "no_proxy": _NOT_BY_IT}
    # Without it, Node's own fetch heeds no proxy.
    return small | {name.upper(): value for name, value in small.items()} | {"NODE_USE_ENV_PROXY": "1"}


@lru_cache(maxsize=1)
def launcher_needs() -> tuple[Path, ...]:
    """Return what must be visible for the launcher to start: the interpreter, its library, nothing of ours."""
    library = Path(sysconfig.get_path("stdlib"))
    shared = Path(sysconfig.get_config_var("LIBDIR") or "", sysconfig.get_config_var("INSTSONAME") or "")
    return tuple(path.resolve() for path in (Path(_python()), library, shared) if path.exists() and path != Path())


def _python() -> str:
    return str(Path(sys.executable).resolve())


@lru_cache(maxsize=1)
def _launcher() -> str:
    return _LAUNCHER.read_text()
