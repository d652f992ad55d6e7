"""A scene to break out of, and the one judge of whether somebody did. Standard library only: it runs as any user."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from kova_auto.tools.process import Ended, Limits, bash_argv, run_process
from kova_auto.tools.sandbox.confiners import Confiner
from kova_auto.tools.sandbox.plan import Confinement, Level

CANARY = "the-canary-sings"
"""Lies wherever a command must not look; a command that prints it got out."""

BROKE = "I-got-out"
"""Printed by an attempt that succeeds without leaving a trace."""

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
PERSON = {
    "GIT_AUTHOR_NAME": "kova",
    "GIT_AUTHOR_EMAIL": "kova@example.org",
    "GIT_COMMITTER_NAME": "kova",
    "GIT_COMMITTER_EMAIL": "kova@example.org",
}
LIMITS = Limits(timeout_s=120, grace_s=0.2)

_HELD = (
    *(".git/config", ".git/config.worktree", ".git/commondir", ".git/info", ".git/hooks"),
    *(".kova", ".npmrc", ".vscode", "AGENTS.md", ".github/workflows", "nested/.envrc", "sub/.git", "lib/.git"),
    *(".KOVA", ".Git", "a/b/.vscode", "a/.npmrc", "nested/.NPMRC", ".git/objects/info/alternates"),
)


@dataclass(slots=True)
class Scene:
    """Hold the places of one attempt, all below `top`.

    Attributes:
        home: Hidden; holds the workspace where it is asked for.
        tcp, udp, abstract, hidden_socket: What nobody inside may reach.
        victim: A process of ours that nobody inside may signal or read.
        shared: A file in the machine's own temporary directory.
    """

    top: Path
    workspace: Path
    tcp: socket.socket
    udp: socket.socket
    abstract: socket.socket
    hidden_socket: socket.socket
    victim: subprocess.Popen[bytes]
    shared: Path
    before: dict[str, object] = field(default_factory=dict)

    @property
    def outside(self) -> Path:
        return self.top / "outside"

    @property
    def home(self) -> Path:
        return self.top / "home"

    @property
    def state(self) -> Path:
        return self.top / "state"

    @property
    def caches(self) -> Path:
        return self.top / "service/caches"

    @property
    def in_memory(self) -> Path:
        return Path("/dev/shm", self.top.name)

    def variables(self) -> dict[str, str]:
        """Return what tells a script where things are."""
        names = {"WS": self.workspace, "OUT": self.outside, "HIDDEN": self.home, "STATE": self.state}
        names["CACHES"] = self.caches
        ports = {"TCP": self.tcp.getsockname()[1], "UDP": self.udp.getsockname()[1]}
        more = {
            "VICTIM": self.victim.pid,
            "SHARED": self.shared,
            "SHM": self.in_memory,
            "CANARY": CANARY,
            "BROKE": BROKE,
        }
        return {
            "ABSTRACT": self.abstract.getsockname()[1:].decode(),
            **GIT,
            **PERSON,
            **{name: str(value) for name, value in (names | ports | more).items()},
        }

    @property
    def hidden(self) -> tuple[Path, ...]:
        return (self.home, self.state, self.top / "service")

    def confinement(self, level: Level) -> Confinement:
        return Confinement(
            level=level,
            workspace=self.workspace,
            temp=self.top / "temp",
            cwd=self.workspace,
            cache=self.caches / "mine",
            write_roots=(self.top / "shared-lib",),
            read_roots=(self.outside,),
            hidden=self.hidden,
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                "LC_ALL": "C.UTF-8",
                **self.variables(),
            },
        )

    def photograph(self, *, whole_workspace: bool) -> dict[str, object]:
        """Return the state of everything that must stay as it is."""
        trees = [
            self.outside,
            self.home,
            self.state,
            self.caches / "other",
            *([self.workspace] if whole_workspace else []),
        ]
        seen = {
            str(path): _look(path) for tree in trees for path in [tree, *tree.rglob("*")] if not self._is_ours(path)
        }
        held = [self.workspace / name for name in _HELD]
        seen |= {str(path): _look(path) for top in held for path in [top, *top.rglob("*")]}
        return seen | {str(path): _look(path) for path in (self.shared, self.in_memory)}

    def _is_ours(self, path: Path) -> bool:
        inside_home = self.workspace.is_relative_to(self.home)
        return inside_home and (path.is_relative_to(self.workspace) or self.workspace.is_relative_to(path))

    def escaped(self, text: str, *, level: Level) -> str:
        """Say how somebody got out who printed this, empty where nobody did.

        At READING, the workspace must be as it was too.
        """
        after = self.photograph(whole_workspace=level is Level.READING)
        changed = sorted(name for name in self.before | after if self.before.get(name) != after.get(name))
        signs = {
            "printed the canary": CANARY in text,
            "says so": BROKE in text,
            f"changed {changed}": bool(changed),
            "connected": any(_was_reached(end) for end in (self.tcp, self.udp, self.abstract, self.hidden_socket)),
            "killed a process outside": self.victim.poll() is not None,
        }
        return "; ".join(sign for sign, seen in signs.items() if seen)


@contextmanager
def a_scene(*, in_home: bool = False, base: Path | None = None) -> Iterator[Scene]:
    """Make a scene, and take it away again."""
    with ExitStack() as stack:
        top = Path(tempfile.mkdtemp(prefix="breakout-", dir=base or _roomy())).resolve()
        stack.callback(shutil.rmtree, top, ignore_errors=True)
        workspace = top / "home/src" if in_home else top / "workspace"
        caches = ("service/caches/mine", "service/caches/other")
        for name in ("home/.ssh", "state", "outside", "temp", "shared-lib", *caches):
            (top / name).mkdir(parents=True)
        for name in ("home/.ssh/id", "state/journal", "outside/file", "service/caches/other/wheel"):
            (top / name).write_text(CANARY if not name.startswith("outside") else "as it was")
        a_repository(workspace)
        shared = Path(stack.enter_context(tempfile.NamedTemporaryFile("w", dir="/tmp", prefix="breakout-")).name)
        shared.write_text(CANARY)
        victim = subprocess.Popen(["/bin/sleep", "120"], env={"SECRET": CANARY})
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        scene = Scene(
            top,
            workspace,
            stack.enter_context(socket.create_server(("127.0.0.1", 0))),
            stack.enter_context(_bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))),
            stack.enter_context(_bound(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{top}")),
            stack.enter_context(_bound(socket.AF_UNIX, socket.SOCK_STREAM, str(top / "state/socket"))),
            victim,
            shared,
        )
        stack.callback(scene.in_memory.unlink, missing_ok=True)
        yield scene


async def attempt(scene: Scene, confiner: Confiner, level: Level, script: str) -> Ended:
    """Run a script in the scene, and settle."""
    scene.before = scene.photograph(whole_workspace=level is Level.READING)
    token = f"breakout-{scene.top.name}"
    confined = confiner.prepare(scene.confinement(level), bash_argv(script), token)
    ended = await run_process(
        confined.argv, env=confined.env, cwd=confined.cwd, token=token, limits=LIMITS, inherits=confined.inherits
    )
    confiner.settle(confined)
    return ended


def a_repository(path: Path) -> None:
    """Make a repository with one commit and a nested control file in it."""
    shutil.copytree(_repository(), path, symlinks=True)


@cache
def _repository() -> Path:
    path = Path(tempfile.mkdtemp(prefix="breakout-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    (path / "nested").mkdir()
    (path / "file").write_text("one\n")
    (path / "nested/.envrc").write_text("export A=1\n")
    git(path, "init", "-q", "-b", "main", "--template=", ".")
    for name in ("hooks/pre-push", "info/exclude"):
        (path / ".git" / name).parent.mkdir()
        (path / ".git" / name).touch()
    git(path, "add", "-A")
    git(path, "commit", "-qm", "one")
    return path


def git(path: Path, *arguments: str) -> str:
    """Run git on the host, and return what it printed."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(path), **GIT, **PERSON}
    done = subprocess.run(["git", *arguments], cwd=path, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def _bound(family: socket.AddressFamily, kind: socket.SocketKind, address: tuple[str, int] | str) -> socket.socket:
    made = socket.socket(family, kind)
    made.bind(address)
    if kind is socket.SOCK_STREAM:
        made.listen()
    return made


def _was_reached(end: socket.socket) -> bool:
    end.setblocking(False)
    try:
        if end.type is socket.SOCK_DGRAM:
            end.recv(1)
        else:
            end.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _look(path: Path) -> object:
    """Return kind, mode, links and content of one file, None where there is none."""
    if not os.path.lexists(path):
        return None
    status = path.lstat()
    content = path.read_bytes() if path.is_file() and not path.is_symlink() else None
    links = status.st_nlink if path.is_file() else 0
    return (status.st_mode, status.st_uid, links, content)


def _roomy() -> Path:
    """Return a directory that is not the machine's temporary one, where there is one that may be written."""
    found = Path("/var/tmp")
    return found if os.access(found, os.W_OK) else Path(tempfile.gettempdir())
