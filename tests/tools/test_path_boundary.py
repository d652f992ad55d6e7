"""Where a path may lead: the cases of the boundary, with both methods of opening."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kova_auto.core.errors import ToolError
from kova_auto.tools.files import existing, read_file, replace_file
from tests.tools.boundary_world import ELSEWHERE, HELD, METHODS, REFUSED, World, a_world, everything


@pytest.fixture(params=METHODS, ids=lambda method: method.__name__)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = a_world(tmp_path.resolve(), request.param)
    yield made
    made.roots.close()


WRITES = [
    ("1", "a.txt", "W/a.txt"),
    ("1", "./a.txt", "W/a.txt"),
    ("1", "src/new.txt", "W/src/new.txt"),
    ("2", "src/../a.txt", "W/a.txt"),
    ("3", "../x", REFUSED),
    ("4", "src/../../x", REFUSED),
    ("5", "{W}/a.txt", "W/a.txt"),
    ("6", "/etc/x", ELSEWHERE),
    ("7", "{W}-evil/f", ELSEWHERE),
    ("8", "{W}/../W/a.txt", REFUSED),
    ("9", "//etc/x", ELSEWHERE),
    ("9", "{W}//a.txt", "W/a.txt"),
    ("10", "file-out", REFUSED),
    ("11", "dir-out/f", REFUSED),
    ("12", "dangling", REFUSED),
    ("13", "chain", REFUSED),
    ("14", "inner", REFUSED),
    ("14", "inner-dir/new.txt", REFUSED),
    ("14", "dangling-in", REFUSED),
    ("15", "absolute-in", REFUSED),
    ("16", "loop-a", REFUSED),
    ("16", "loop-a/f", REFUSED),
    ("17", "src/up/f", REFUSED),
    ("18", "deep-out/../b.txt", REFUSED),
    ("18", "inner-dir/../b.txt", REFUSED),
    ("19", "cwd/x", REFUSED),
    ("20", "root/x", REFUSED),
    ("20", "fds/1", REFUSED),
    ("21", "/proc/self/cwd/x", REFUSED),
    ("22", "/dev/stdout", REFUSED),
    ("22", "/dev/fd/1", REFUSED),
    ("22", "/dev/null", REFUSED),
    ("26", ".", REFUSED),
    ("26", "src", REFUSED),
    ("26", "{W}", REFUSED),
    ("27", "a.txt/", REFUSED),
    ("27", "a.txt/x", REFUSED),
    ("28", "", REFUSED),
    ("28", "  ", REFUSED),
    ("29", "a.txt\0.png", REFUSED),
    ("30", "a\nb", REFUSED),
    ("30", "a\x1b[2J", REFUSED),
    ("30", "a\u2028b", REFUSED),
    ("31", "n" * 256, REFUSED),
    ("31", "é" * 128, REFUSED),
    ("31", "n/" * 2048 + "x", REFUSED),
    ("32", "~/x", REFUSED),
    ("32", "~root/x", REFUSED),
    ("32", "$HOME/x", REFUSED),
    ("32", "src/${HOME}/x", REFUSED),
    ("33", "file:///x", REFUSED),
    ("33", "https://example.org/x", REFUSED),
    ("33", "C:\\x", REFUSED),
    ("33", "C:/x", REFUSED),
    ("33", "..\\x", REFUSED),
    ("33", "\\\\host\\x", REFUSED),
    ("34", "..foo", "W/..foo"),
    ("34", "...", "W/..."),
    ("34", "$id.tsx", "W/$id.tsx"),
    ("35", ".git/config", HELD),
    ("35", ".git/hooks/x", HELD),
    ("35", "sub/.git/config", HELD),
    ("36", ".GIT/config", HELD),
    ("36", ".Git/hooks/x", HELD),
    ("37", ".g\u200cit/config", HELD),
    ("37", "\uff0egit/config", HELD),
    ("38", "GIT~1/config", HELD),
    ("38", ".git./config", HELD),
    ("38", ".git /config", HELD),
    ("38", "x::$DATA", HELD),
    ("39", ".git", HELD),
    ("40", ".kova/permissions.json", HELD),
    ("40", ".mcp.json", HELD),
    ("41", ".envrc", HELD),
    ("41", ".vscode/tasks.json", HELD),
    ("41", ".husky/pre-commit", HELD),
    ("41", ".npmrc", HELD),
    ("41", ".gitattributes", HELD),
    ("41", ".gitmodules", HELD),
    ("41", ".pre-commit-config.yaml", HELD),
    ("41", ".github/workflows/ci.yml", HELD),
    ("42", "package.json", "W/package.json"),
    ("42", "Makefile", "W/Makefile"),
    ("42", "conftest.py", "W/conftest.py"),
    ("42", "build.rs", "W/build.rs"),
    ("47", "deep/new/f", "W/deep/new/f"),
]


@pytest.mark.parametrize(
    ("case", "text", "expected"), WRITES, ids=[f"{case}-{text[:20]!a}" for case, text, _ in WRITES]
)
def test_a_write_ends_inside_or_nowhere(world: World, case: str, text: str, expected: str) -> None:
    before = everything(world.top)
    came_of_it = world.write(text.replace("{W}", str(world.workspace)))
    changed = {name: data for name, data in everything(world.top).items() if before.get(name) != data}
    assert came_of_it == expected
    assert changed == ({expected: b"new"} if expected.startswith("W/") else {})


READS = [
    ("1", "a.txt", "in W/a.txt"),
    ("2", "src/../a.txt", "in W/a.txt"),
    ("3", "../out/o.txt", REFUSED),
    ("5", "{W}/src/b.txt", "in W/src/b.txt"),
    ("6", "{W}/../out/o.txt", REFUSED),
    ("7", "{W}-evil/f", ELSEWHERE),
    ("10", "file-out", REFUSED),
    ("11", "dir-out/o.txt", REFUSED),
    ("12", "dangling", REFUSED),
    ("14", "inner", "in W/src/b.txt"),
    ("14", "inner-dir/b.txt", "in W/src/b.txt"),
    ("15", "absolute-in", REFUSED),
    ("16", "loop-a", REFUSED),
    ("17", "src/up/o.txt", REFUSED),
    ("18", "deep-out/../o.txt", REFUSED),
    ("20", "root/etc/hostname", REFUSED),
    ("21", "/proc/self/environ", REFUSED),
    ("26", "src", REFUSED),
    ("27", "a.txt/", REFUSED),
]


@pytest.mark.parametrize(("case", "text", "expected"), READS, ids=[f"{case}-{text!a}" for case, text, _ in READS])
def test_a_read_stays_inside(world: World, case: str, text: str, expected: str) -> None:
    assert world.read(text.replace("{W}", str(world.workspace))) == expected


def test_a_refused_link_names_what_it_leads_to(world: World) -> None:
    target = world.roots.locate("dir-out/o.txt", world.ground, writes=False)
    with pytest.raises(ToolError, match=f"what it leads to is {world.top}/out/o.txt: name that"):
        read_file(world.roots, target)


def _hard_link(world: World, path: Path) -> None:
    os.link(world.top / "out/o.txt", path)


def _fifo(world: World, path: Path) -> None:
    os.mkfifo(path)


def _socket(world: World, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(path.parent, os.O_RDONLY)
        server.bind(f"/dev/fd/{here}/{path.name}")
        os.close(here)


def _setuid(world: World, path: Path) -> None:
    path.write_text("x")
    path.chmod(0o4755)


def _read_only(world: World, path: Path) -> None:
    path.write_text("x")
    path.chmod(0o444)


def _large(world: World, path: Path) -> None:
    path.write_bytes(b"")
    os.truncate(path, 64 * 1024 * 1024)


ODD = [
    ("23", _hard_link, "hard links"),
    ("24", _fifo, "is a FIFO"),
    ("25", _socket, "no ordinary file"),
    ("53", _setuid, "setuid"),
    ("55", _read_only, "read-only"),
    ("56", _large, "at most 8388608"),
]


@pytest.mark.parametrize(("case", "make", "why"), ODD, ids=[case for case, *_ in ODD])
def test_an_odd_file_is_not_replaced(world: World, case: str, make: Callable[[World, Path], None], why: str) -> None:
    odd = world.workspace / "odd"
    make(world, odd)
    target = world.roots.locate("odd", world.ground, writes=True)
    with pytest.raises(ToolError, match=why):
        replace_file(world.roots, target, b"new", before=None, tag="1.1")


def test_another_users_file_is_not_replaced(world: World) -> None:  # case 54
    path = "/etc/passwd"
    if os.geteuid() == 0:
        other = world.workspace / "a.txt"
        os.chown(other, 12345, -1)
        path = str(other)
    target = world.roots.locate(path, world.ground, writes=True)
    with pytest.raises(ToolError, match="belongs to user"):
        existing(world.roots, target)
