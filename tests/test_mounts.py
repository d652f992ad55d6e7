"""Where disks of this machine are: told by the kernel's table alone, whatever lies there."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from kova_auto.mounts import TABLE, Mounts, look

LINES = {
    "/": "ext4",
    "/home": "btrfs",
    "/home/far/mail": "fuse.sshfs",
    "/nfs": "nfs4",
    "/nfs/scratch": "tmpfs",
    "/a\\040b": "nfs",
}


def table(place: Path, **kinds: str) -> Path:
    """Write a table as the kernel does: a path with a space, and one place where something lies on top."""
    mounted = [*LINES.items(), ("/top", "nfs"), ("/top", "xfs"), *((f"/{name}", kind) for name, kind in kinds.items())]
    lines = [f"{at} 1 254:0 / {where} rw,relatime shared:1 - {kind} src rw" for at, (where, kind) in enumerate(mounted)]
    path = place / "mountinfo"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("directory", "near"),
    [
        ("/srv/app", True),
        ("/home/me/app", True),
        ("/homely", True),
        ("/nfs/app", False),
        ("/nfs/scratch/app", True),
        ("/home/far/mail", False),
        ("/home/far/mail/box", False),
        ("/a b/c", False),
        ("/top/app", True),
    ],
)
def test_a_directory_is_near_by_what_it_is_mounted_from(directory: str, near: bool, tmp_path: Path) -> None:
    assert Mounts(table(tmp_path)).are_near(directory) is near


@pytest.mark.parametrize("directory", ["/", "/home", "/home/far"])
def test_what_holds_something_far_is_not_near(directory: str, tmp_path: Path) -> None:
    assert Mounts(table(tmp_path)).are_near(directory) is False


def test_all_that_are_asked_for_are_to_be_near(tmp_path: Path) -> None:
    mounts = Mounts(table(tmp_path))

    assert mounts.are_near("/srv", "/home/me") is True
    assert mounts.are_near("/srv", "/nfs/app") is False


def test_a_system_of_a_kind_that_nobody_knows_is_not_near(tmp_path: Path) -> None:
    assert Mounts(table(tmp_path, srv="newfs")).are_near("/srv/app") is False


def test_without_a_table_nothing_is_near(tmp_path: Path) -> None:
    assert Mounts(tmp_path / "nothing").are_near("/") is False


@pytest.mark.skipif(sys.platform != "linux", reason="the table is Linux's")
def test_the_kernels_own_trees_are_not_near() -> None:
    assert Mounts(TABLE).are_near("/proc/self") is False


async def test_what_is_far_is_looked_up_on_another_thread() -> None:
    assert await look(threading.current_thread, "/proc") is not threading.current_thread()


async def test_what_is_near_is_looked_up_here(tmp_path: Path) -> None:
    here = threading.current_thread()

    assert (await look(threading.current_thread, str(tmp_path)) is here) is Mounts().are_near(str(tmp_path))
