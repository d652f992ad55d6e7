"""A workspace beside what must not be reached, and what became of a write or a read there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.errors import ToolError
from kova_auto.core.tool import Zone
from kova_auto.tools.boundary import Resolver, openat2_beneath, walk_beneath
from kova_auto.tools.files import existing, read_file, replace_file
from kova_auto.tools.roots import Ground, Roots
from tests.tools.tool_scenes import a_ground, some_roots

METHODS = (openat2_beneath, walk_beneath)
REFUSED, HELD, ELSEWHERE = "refused", "held by the floor", "elsewhere"


@dataclass(frozen=True)
class World:
    """A workspace W beside what must not be reached."""

    top: Path
    roots: Roots
    ground: Ground

    @property
    def workspace(self) -> Path:
        return self.top / "W"

    def write(self, text: str, data: bytes = b"new") -> str:
        """Write as the tools do, and return the path written, or what became of it."""
        try:
            target = self.roots.locate(text, self.ground, writes=True)
            fact = self.roots.fact(target)
            if fact.zone in (Zone.CONTROL, Zone.GUARDED, Zone.SECRET):
                return HELD
            if fact.zone in (Zone.ELSEWHERE, Zone.READ_ROOT):
                return ELSEWHERE
            found = existing(self.roots, target)
            replace_file(self.roots, target, data, before=found.hash if found else None, tag="1.1")
        except ToolError:
            return REFUSED
        return os.path.relpath(target.path, self.top)

    def read(self, text: str) -> str:
        """Read as the tools do, and return the content, or what became of it."""
        try:
            target = self.roots.locate(text, self.ground, writes=False)
            zone = self.roots.fact(target).zone
            if zone in (Zone.ELSEWHERE, Zone.SECRET):
                return ELSEWHERE if zone is Zone.ELSEWHERE else HELD
            return read_file(self.roots, target).data.decode()
        except ToolError:
            return REFUSED


def a_world(top: Path, resolve: Resolver) -> World:
    """Return a workspace full of links; the caller closes its roots."""
    for name in ("W/src", "W/.git/hooks", "W-evil", "out/deep"):
        (top / name).mkdir(parents=True)
    for name in ("W/a.txt", "W/src/b.txt", "W-evil/f", "out/o.txt"):
        (top / name).write_text(f"in {name}")
    links = {
        "file-out": "../out/o.txt", "dir-out": "../out", "dangling": "../out/new.txt", "chain": "dangling",
        "inner": "src/b.txt", "inner-dir": "src", "absolute-in": f"{top}/W/a.txt", "loop-a": "loop-b",
        "loop-b": "loop-a", "src/up": "../../out", "deep-out": "../out/deep", "cwd": "/proc/self/cwd",
        "root": "/proc/self/root", "fds": "/proc/self/fd", "dangling-in": "src/none.txt",
    }  # fmt: skip
    for name, target in links.items():
        (top / "W" / name).symlink_to(target)
    return World(top, some_roots(resolve=resolve), a_ground(top / "W"))


def everything(top: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in top.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
