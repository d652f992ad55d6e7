"""The boundary while the world changes: roots, races, and what the floor holds."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import pytest

from kova_auto.core.errors import ToolError
from kova_auto.core.ids import blob_hash
from kova_auto.tools.boundary import FILE, Resolver, open_root
from kova_auto.tools.files import Content, existing, read_file, replace_file
from kova_auto.tools.roots import Ground, Roots
from tests.tools.boundary_world import ELSEWHERE, HELD, METHODS, REFUSED, World, a_world
from tests.tools.tool_scenes import a_ground, some_roots


@pytest.fixture(params=METHODS, ids=lambda method: method.__name__)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = a_world(tmp_path.resolve(), request.param)
    yield made
    made.roots.close()


def test_a_root_that_is_renamed_and_replaced_stays_the_one_that_was_opened(world: World) -> None:  # case 44
    assert world.write("first.txt") == "W/first.txt"
    world.workspace.rename(world.top / "moved")
    world.workspace.mkdir()
    assert world.write("second.txt") == "W/second.txt"
    assert (world.top / "moved/second.txt").read_bytes() == b"new"
    assert list(world.workspace.iterdir()) == []


def test_the_directory_the_service_stands_in_does_not_matter(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(world.top / "out")  # case 45
    assert world.write("a.txt") == "W/a.txt"
    assert (world.workspace / "a.txt").read_bytes() == b"new"


def test_a_parent_that_became_a_link_is_not_passed(world: World) -> None:  # case 48
    target = world.roots.locate("fresh/sub/f", world.ground, writes=True)
    (world.workspace / "fresh").symlink_to(world.top / "out")
    with pytest.raises(ToolError, match="symbolic link"):
        replace_file(world.roots, target, b"new", before=None, tag="1.1")
    assert sorted(path.name for path in (world.top / "out").iterdir()) == ["deep", "o.txt"]


def test_a_link_that_took_the_files_name_is_not_written_through(world: World) -> None:
    target = world.roots.locate("a.txt", world.ground, writes=True)
    found = existing(world.roots, target)
    assert found == Content(str(world.workspace / "a.txt"), b"in W/a.txt", 0o644, os.geteuid(), os.getegid())
    (world.workspace / "a.txt").unlink()
    (world.workspace / "a.txt").symlink_to("../out/o.txt")
    with pytest.raises(ToolError, match="symbolic link"):
        replace_file(world.roots, target, b"new", before=found.hash, tag="1.1")
    assert (world.top / "out/o.txt").read_text() == "in out/o.txt"


def test_a_file_that_changed_meanwhile_is_not_replaced(world: World) -> None:  # case 59
    target = world.roots.locate("a.txt", world.ground, writes=True)
    with pytest.raises(ToolError, match="changed by somebody else"):
        replace_file(world.roots, target, b"new", before=blob_hash(b"other"), tag="1.1")
    assert (world.workspace / "a.txt").read_text() == "in W/a.txt"


def test_a_write_keeps_the_permission_bits(world: World) -> None:
    (world.workspace / "a.txt").chmod(0o750)
    assert world.write("a.txt") == "W/a.txt"
    assert (world.workspace / "a.txt").stat().st_mode & 0o7777 == 0o750


def test_a_write_leaves_nothing_beside_the_file(world: World) -> None:
    assert world.write("deep/f") == "W/deep/f"
    assert [path.name for path in (world.workspace / "deep").iterdir()] == ["f"]


def test_an_extra_root_is_used_by_its_own_descriptor(world: World) -> None:  # case 50
    ground = a_ground(world.workspace, write_roots=(world.top / "out",), read_roots=(world.top / "W-evil",))
    wider = World(world.top, world.roots, ground)
    assert wider.write(f"{world.top}/out/x") == "out/x"
    assert wider.read(f"{world.top}/W-evil/f") == "in W-evil/f"
    assert wider.write(f"{world.top}/W-evil/f") == ELSEWHERE


def test_an_extra_root_that_is_replaced_counts_no_more(world: World) -> None:  # case 51
    ground = a_ground(world.workspace, write_roots=(world.top / "out",))
    wider = World(world.top, world.roots, ground)
    assert wider.write(f"{world.top}/out/x") == "out/x"
    (world.top / "out").rename(world.top / "old")
    (world.top / "out").symlink_to(world.top / "W-evil")
    assert wider.write(f"{world.top}/out/f") == REFUSED
    assert (world.top / "W-evil/f").read_text() == "in W-evil/f"


def test_an_extra_root_that_is_missing_widens_nothing(world: World) -> None:  # case 52
    ground = a_ground(world.workspace, write_roots=(world.top / "none/at/all",))
    assert World(world.top, world.roots, ground).write(f"{world.top}/none/at/all/x") == ELSEWHERE


def test_a_root_below_a_link_is_none(world: World) -> None:  # case 51
    ground = a_ground(world.workspace, write_roots=(world.workspace / "dir-out/deep",))
    assert World(world.top, world.roots, ground).write(f"{world.top}/out/deep/x") == ELSEWHERE


def test_a_released_run_holds_nothing_open(world: World) -> None:
    def opened() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    before = opened()
    world.write("a.txt")
    assert opened() == before + 1
    world.roots.release(world.ground.run_id)
    world.roots.release(world.ground.run_id)
    assert opened() == before


@pytest.fixture
def quick_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a directory in memory where there is one: thousands of writes are each written through."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as name:
        yield Path(name).resolve()


def _exchange(one: Path, other: Path) -> None:
    """Swap two names at once, so that neither is ever missing."""
    here, exchange = -100, 2
    if ctypes.CDLL(None, use_errno=True).renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange):
        raise OSError(ctypes.get_errno(), "the two names cannot be exchanged")


@pytest.mark.parametrize("resolve", METHODS)
def test_no_file_escapes_while_its_directory_is_swapped_for_a_link(quick_disk: Path, resolve: Resolver) -> None:
    top = quick_disk  # case 43
    (top / "W/d").mkdir(parents=True)
    (top / "out").mkdir()
    (top / "W/link").symlink_to(top / "out")
    roots, ground, done = some_roots(resolve=resolve), a_ground(top / "W"), Event()

    def swap() -> None:
        while not done.is_set():
            _exchange(top / "W/d", top / "W/link")

    swapper = Thread(target=swap)
    swapper.start()
    came = [_written(roots, ground, number) for number in range(2000)]
    done.set()
    swapper.join()
    roots.close()
    assert list((top / "out").iterdir()) == []
    assert came.count(True) > 0
    assert came.count(False) > 0


def test_a_file_that_two_runs_write_is_never_torn(quick_disk: Path) -> None:  # case 60
    (quick_disk / "W").mkdir()
    roots, ground, seen = some_roots(), a_ground(quick_disk / "W"), set()

    def write(sign: bytes) -> None:
        for _ in range(100):
            target = roots.locate("f", ground, writes=True)
            with suppress(ToolError):  # the other one was faster
                found = existing(roots, target)
                replace_file(roots, target, sign * 100_000, before=found.hash if found else None, tag="1.1")

    writers = [Thread(target=write, args=(sign,)) for sign in (b"a", b"b")]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        with suppress(ToolError):  # there is none yet
            seen.add(read_file(roots, roots.locate("f", ground, writes=False)).data)
    roots.close()
    assert seen
    assert seen <= {b"a" * 100_000, b"b" * 100_000}


def _written(roots: Roots, ground: Ground, number: int) -> bool:
    try:
        target = roots.locate("d/f", ground, writes=True)
        found = existing(roots, target)
        replace_file(roots, target, b"%d" % number, before=found.hash if found else None, tag="1.1")
    except ToolError:
        return False
    return True


def test_a_secret_beneath_the_workspace_is_held_whatever_it_is_called(tmp_path: Path) -> None:
    home = tmp_path.resolve()
    (home / ".ssh").mkdir()
    (home / ".ssh/id").write_text("key")
    (home / "notes").symlink_to(".ssh/id")
    roots = some_roots(secret=(home / ".ssh",))
    world = World(home, roots, a_ground(home))
    assert [world.read(text) for text in (".ssh/id", "notes", f"{home}/.ssh/id", ".SSH/id")] == [HELD] * 4
    assert world.write(".ssh/id") == HELD
    with pytest.raises(ToolError, match="place of secrets"):
        read_file(roots, roots.locate("notes", world.ground, writes=False))
    roots.close()


def test_a_copy_of_the_workspace_in_our_own_data_is_not_held(tmp_path: Path) -> None:
    data = tmp_path.resolve()
    (data / "copies/run").mkdir(parents=True)
    (data / "journal.db").write_text("facts")
    roots = some_roots(secret=(data,), control=(data,))
    world = World(data, roots, a_ground(data / "copies/run"))
    assert world.write("a.txt") == "copies/run/a.txt"
    assert world.read(f"{data}/journal.db") == HELD
    roots.close()


def test_a_named_control_place_is_held(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / "jobs").mkdir()
    roots = some_roots(control=(top / "jobs",))
    world = World(top, roots, a_ground(top))
    assert world.write("jobs/evil.toml") == HELD
    assert World(top, roots, a_ground(top / "jobs")).write("evil.toml") == HELD
    with pytest.raises(ToolError, match="control file"):
        existing(roots, roots.locate("jobs/evil.toml", world.ground, writes=True))
    roots.close()


@pytest.mark.parametrize("resolve", METHODS)
def test_opening_never_waits_for_a_fifo(tmp_path: Path, resolve: Resolver) -> None:
    os.mkfifo(tmp_path / "fifo")
    root = open_root(str(tmp_path.resolve()), resolve)
    os.close(root.open(["fifo"], FILE))
    root.close()


def test_job_files_are_held_and_what_lies_beside_them_is_not(tmp_path: Path) -> None:
    top = tmp_path.resolve()
    (top / "jobs").mkdir()
    roots = some_roots(job_dirs=(top / "jobs", top))
    world = World(top, roots, a_ground(top))
    tried = ("jobs/evil.toml", "jobs/EVIL.TOML", "evil.toml", "jobs/report.md", "src/pyproject.toml")
    assert [world.write(text) for text in tried] == [HELD, HELD, HELD, "jobs/report.md", "src/pyproject.toml"]
    roots.close()


def test_a_workspace_lacks_only_what_is_surely_not_there(world: World) -> None:
    (world.workspace / "link").symlink_to("gone")
    (world.workspace / "shut").mkdir()

    assert world.roots.lacks(("a.md", "b.md"), world.ground)
    assert not world.roots.lacks(("a.md", "link"), world.ground)
    assert not world.roots.lacks(("shut",), world.ground)
    assert not world.roots.lacks(("x" * 300,), world.ground)


def test_a_workspace_that_is_gone_lacks_nothing(world: World) -> None:
    world.workspace.rename(world.top / "moved")

    assert not world.roots.lacks(("a.md",), world.ground)
