"""The sixty cases of the path boundary, by number: each is here, and each runs with both methods of opening.

Cases that are one path are rows of `test_path_boundary.WRITES`; the others are situations, made here. What only a Mac
or a volume that folds case could show (57, 58) is asserted where the decision is made.

Source: reference on shells, 9.2.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import chdir
from pathlib import Path, PurePath

import pytest

from kova_auto.core.approval.floor import lies_in
from kova_auto.core.errors import ToolError
from kova_auto.core.ids import blob_hash
from kova_auto.settings.text import absolute
from kova_auto.tools.boundary import DIRECTORY, open_root
from kova_auto.tools.files import MAX_WRITE_BYTES, _swap, replace_file, temp_prefix
from tests.tools.boundary_world import ELSEWHERE, METHODS, REFUSED, World, a_world, everything
from tests.tools.test_path_boundary import ODD, WRITES
from tests.tools.tool_scenes import a_ground


@pytest.fixture(params=METHODS, ids=lambda method: method.__name__)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = a_world(tmp_path.resolve(), request.param)
    yield made
    made.roots.close()


def odd(number: str) -> Callable[[World], object]:
    """Return a write over one of the odd files."""
    make = next(make for case, make, _ in ODD if case == number)

    def write(world: World) -> str:
        make(world, world.workspace / "odd")
        return world.write("odd")

    return write


def swapped_directory(world: World) -> str:
    target = world.roots.locate("src/new.txt", world.ground, writes=True)
    (world.workspace / "src").rename(world.workspace / "away")
    (world.workspace / "src").symlink_to(world.top / "out")
    return replaced(world, target=target)


def planted_parent(world: World) -> str:
    target = world.roots.locate("fresh/sub/f", world.ground, writes=True)
    (world.workspace / "fresh").symlink_to(world.top / "out")
    return replaced(world, target=target)


def replaced(world: World, *, target: object = None, before: bytes | None = None) -> str:
    found = target or world.roots.locate("a.txt", world.ground, writes=True)
    try:
        replace_file(world.roots, found, b"new", before=blob_hash(before) if before else None, tag="1.1")  # type: ignore[arg-type]
    except ToolError:
        return REFUSED
    return "written"


def replaced_root(world: World) -> object:
    world.write("first.txt")
    world.workspace.rename(world.top / "moved")
    world.workspace.mkdir()
    world.write("second.txt")
    return (world.top / "moved/second.txt").read_bytes(), list(world.workspace.iterdir())


def from_elsewhere(world: World) -> str:
    with chdir(world.top / "out"):
        return world.write("a.txt")


def mounted_below(world: World) -> bool:
    """Open what is mounted below a root: it belongs to the root, as only an administrator can mount."""
    root = open_root("/dev", world.roots._resolve)
    try:
        fd = root.open(("shm",), DIRECTORY)
        crossed = os.fstat(fd).st_dev != root.identity[0]
        os.close(fd)
    finally:
        root.close()
    return crossed or not os.path.ismount("/dev/shm")


def guessed_temporary_name(world: World) -> object:
    name = f"{temp_prefix('1.1')}guessed"
    (world.workspace / name).symlink_to("../out/o.txt")
    directory = os.open(world.workspace, DIRECTORY)
    try:
        with pytest.raises(FileExistsError):
            _swap(directory, "a.txt", b"new", temp=name, mode=None, like=None)
    finally:
        os.close(directory)
    return world.write("a.txt"), (world.top / "out/o.txt").read_text()


def with_root(world: World, *roots: Path) -> World:
    return World(world.top, world.roots, a_ground(world.workspace, write_roots=roots))


def extra_root(world: World) -> str:
    return with_root(world, world.top / "out").write(f"{world.top}/out/x")


def repointed_root(world: World) -> str:
    wider = with_root(world, world.top / "out")
    wider.write(f"{world.top}/out/x")
    (world.top / "out").rename(world.top / "old")
    (world.top / "out").symlink_to(world.top / "W-evil")
    return wider.write(f"{world.top}/out/f")


def missing_root(world: World) -> str:
    return with_root(world, world.top / "none/at/all").write(f"{world.top}/none/at/all/x")


def foreign_file(world: World) -> str:
    if os.geteuid() != 0:
        return with_root(world, Path("/etc")).write("/etc/passwd")
    os.chown(world.workspace / "a.txt", 12345, -1)
    return world.write("a.txt")


def too_much(world: World) -> str:
    return world.write("a.txt", b"x" * (MAX_WRITE_BYTES + 1))


def linked_workspace(world: World) -> object:
    """Name a root through a link, as `/tmp` is one on macOS: the root is canonical once, a target never."""
    (world.top / "link").symlink_to("W")
    root = absolute(str(world.top / "link"), world.top)
    inside = World(world.top, world.roots, a_ground(root))
    return inside.write("new.txt"), inside.write(f"{world.top}/link/new.txt")


def another_case(world: World) -> object:
    """Write a name that a volume which folds case would take for `a.txt`: allowed; the floor compares names folded."""
    return world.write("A.TXT"), lies_in(PurePath("/W/A.TXT"), [PurePath("/w/a.txt")])


def two_writers(world: World) -> object:
    first, second = b"a" * 100_000, b"b" * 100_000
    world.write("f", first)
    world.write("f", second)
    return (world.workspace / "f").read_bytes() == second, list(world.workspace.glob(f"{temp_prefix('1.1')}*"))


SITUATIONS: dict[int, tuple[Callable[[World], object], object]] = {
    23: (odd("23"), REFUSED),
    24: (odd("24"), REFUSED),
    25: (odd("25"), REFUSED),
    43: (swapped_directory, REFUSED),
    44: (replaced_root, (b"new", [])),
    45: (from_elsewhere, "W/a.txt"),
    46: (mounted_below, True),
    48: (planted_parent, REFUSED),
    49: (guessed_temporary_name, ("W/a.txt", "in out/o.txt")),
    50: (extra_root, "out/x"),
    51: (repointed_root, REFUSED),
    52: (missing_root, ELSEWHERE),
    53: (odd("53"), REFUSED),
    54: (foreign_file, REFUSED),
    55: (odd("55"), REFUSED),
    56: (too_much, REFUSED),
    57: (linked_workspace, ("W/new.txt", REFUSED)),
    58: (another_case, ("W/A.TXT", True)),
    59: (lambda world: replaced(world, before=b"what was read"), REFUSED),
    60: (two_writers, (True, [])),
}


@pytest.mark.parametrize("number", range(1, 61))
def test_the_case_ends_as_the_reference_says(world: World, number: int) -> None:
    rows = [(text, expected) for case, text, expected in WRITES if case == str(number)]
    if number in SITUATIONS:
        situation, wanted = SITUATIONS[number]
        outside = everything(world.top / "out")
        assert not rows
        assert situation(world) == wanted
        moved = world.top / "old"
        assert outside.items() <= everything(moved if moved.exists() else world.top / "out").items()
        return
    assert rows
    for text, expected in rows:
        assert (text, world.write(text.replace("{W}", str(world.workspace)))) == (text, expected)


def test_every_case_is_made_once() -> None:
    assert sorted({int(case) for case, *_ in WRITES} | SITUATIONS.keys()) == list(range(1, 61))
    assert {int(case) for case, *_ in WRITES}.isdisjoint(SITUATIONS)
