"""One process owns a data directory, and the kernel knows when it is gone."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from kova_auto.core.errors import JournalError
from kova_auto.store.owner import OwnedBy, Owner, acquire_owner
from tests.support import ROOT

HOLDER = """
import pathlib, sys
from kova_auto.store.owner import acquire_owner
owner = acquire_owner(pathlib.Path(sys.argv[1]), kind="serve")
print("owns", flush=True)
sys.stdin.read()
"""


def acquired(data_dir: Path) -> Owner:
    """Take a directory that nobody has."""
    owner = acquire_owner(data_dir, kind="run")
    assert isinstance(owner, Owner)
    return owner


def test_the_first_to_come_owns_the_directory(tmp_path: Path) -> None:
    data_dir = tmp_path / "new" / "data"

    with_it = acquire_owner(data_dir, kind="serve")
    without = acquire_owner(data_dir, kind="run")

    assert isinstance(with_it, Owner)
    assert without == OwnedBy(os.getpid(), "serve")
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o700
    with_it.release()


def test_what_is_let_go_can_be_taken(tmp_path: Path) -> None:
    with acquired(tmp_path) as owner:
        pass
    owner.release()

    acquired(tmp_path).release()


def test_a_killed_owner_leaves_nothing_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "owns\n"
        assert acquire_owner(tmp_path, kind="run") == OwnedBy(holder.pid, "serve")
        holder.kill()
        holder.communicate()

    acquired(tmp_path).release()


def test_a_program_that_the_owner_started_does_not_keep_the_directory(tmp_path: Path) -> None:
    owner, pipe = acquired(tmp_path), subprocess.PIPE
    with subprocess.Popen(["cat"], stdin=pipe, stdout=pipe, text=True, bufsize=1, close_fds=False) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write("it runs\n")
        assert program.stdout.readline() == "it runs\n"
        owner.release()
        acquired(tmp_path).release()


def test_a_lock_file_that_says_nothing_is_still_a_lock(tmp_path: Path) -> None:
    with acquired(tmp_path):
        (tmp_path / "owner.lock").write_text("")

        assert acquire_owner(tmp_path, kind="run") == OwnedBy(None, "")


def test_a_directory_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(JournalError, match="cannot be written: Not a directory"):
        acquire_owner(tmp_path / "file" / "data", kind="serve")
