"""Run the command in processes that are forked from one that has everything imported.

What a test starts so is a process of its own, as if it were started anew, without the second that its imports take.
`python -m tests.e2e.warm FD` is that one process. It reads orders from a socket, one message each, with the pipes for
output, for errors and for how the program went: its id, and once it has ended its wait status.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import time
from functools import cache
from importlib import import_module
from threading import Thread
from typing import NamedTuple, TextIO

import kova_auto.app
import kova_auto.cli
from kova_auto.__main__ import main
from kova_auto.settings.environment import forgo_plugins
from tests.support import ROOT

_LONGEST = 1 << 16
_STANDARD = (0, 1, 2)


class Order(NamedTuple):
    """Hold what to run."""

    args: list[str]
    environ: dict[str, str]
    cwd: str


class WarmProcess:
    """Be what `subprocess.Popen` is, for a program that the warm process forks."""

    def __init__(self, order: Order) -> None:
        ours, theirs = zip(*(os.pipe() for _ in _STANDARD), strict=True)
        try:
            socket.send_fds(_warm().orders, [json.dumps(order).encode()], theirs)
        finally:
            for number in theirs:
                os.close(number)
        self.stdout, self.stderr, self._status = (_reading(number) for number in ours)
        self.pid = int(self._status.readline())
        self.returncode: int | None = None

    def send_signal(self, number: int) -> None:
        """Send a signal, where it has not ended."""
        if self.returncode is None and not self._has_ended():
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[str, str]:
        """Wait until it has ended, and return the rest of what it says; asked again, nothing."""
        if self.returncode is not None:
            return "", ""
        said: list[str] = []
        listening = Thread(target=lambda: said.append(self.stdout.read()))
        listening.start()
        errors = self.stderr.read()
        listening.join()
        self.returncode = os.waitstatus_to_exitcode(int(self._status.readline()))
        for stream in (self.stdout, self.stderr, self._status):
            stream.close()
        return said[0], errors

    def _has_ended(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._status, selectors.EVENT_READ)
            return bool(selector.select(0))


def _reading(number: int) -> TextIO:
    return os.fdopen(number, encoding="utf-8")


class _Warm(NamedTuple):
    """Hold the process that forks, and the socket on which it takes orders."""

    process: subprocess.Popen[bytes]
    orders: socket.socket

    def end(self) -> None:
        self.orders.close()
        self.process.wait()


@cache
def _warm() -> _Warm:
    """Start the process that forks, once; it ends when this one does."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        argv, environ = [sys.executable, "-m", "tests.e2e.warm", f"{theirs.fileno()}"], {"PATH": os.defpath}
        process = subprocess.Popen(argv, cwd=ROOT, env=environ, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()])
    warm = _Warm(process, ours)
    atexit.register(warm.end)
    return warm


def _import_all() -> None:
    """Import what any command may import."""
    forgo_plugins()
    for package in (kova_auto.app, kova_auto.cli):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            import_module(module.name)


def _forked(orders: socket.socket) -> Order | None:
    """Fork a program for each order; return its order in the program, and nothing once there are no more."""
    under_way: dict[int, int] = {}
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking)
    with selectors.DefaultSelector() as selector:
        for source in (orders.fileno(), woken):
            selector.register(source, selectors.EVENT_READ)
        while True:
            ready = {key.fd for key, _ in selector.select()}
            if woken in ready:
                os.read(woken, _LONGEST)
                _tell_ends(under_way)
            if orders.fileno() not in ready:
                continue
            message, pipes, _, _ = socket.recv_fds(orders, _LONGEST, len(_STANDARD))
            if not message:
                return None
            if not (pid := os.fork()):
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for number, standard in zip(pipes, _STANDARD[1:], strict=False):
                    os.dup2(number, standard)
                for number in (*pipes, woken, waking, *under_way.values()):
                    os.close(number)
                orders.close()
                return Order(*json.loads(message))
            for number in pipes[:2]:
                os.close(number)
            under_way[pid] = pipes[2]
            os.write(pipes[2], b"%d\n" % pid)


def _tell_ends(under_way: dict[int, int]) -> None:
    for pid in [*under_way]:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            told = under_way.pop(pid)
            os.write(told, b"%d\n" % status)
            os.close(told)


def _become(order: Order) -> None:
    """Have the variables and the command line of a process that has just been started."""
    os.environ.clear()
    os.environ.update(order.environ)
    time.tzset()
    os.chdir(order.cwd)
    sys.argv = ["kova-auto", *order.args]


if __name__ == "__main__":
    _import_all()
    gc.freeze()
    if order := _forked(socket.socket(fileno=int(sys.argv[1]))):
        _become(order)
        main()
