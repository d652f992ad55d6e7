"""What a run changed in a workspace of its own is shown as a diff that git reads."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from kova_auto.tools.isolation.showing import show
from kova_auto.tools.isolation.tree import SMALL_BYTES
from tests.tools.isolation.grounds import Grounds, put


@pytest.fixture
def grounds(tmp_path: Path) -> Grounds:
    return Grounds.begun(tmp_path, a_txt="one\ntwo\n", b_txt="b\n", c_txt="c\n", src__d_txt="d", run_sh="echo\n")


def test_a_diff_is_what_git_applies(grounds: Grounds) -> None:
    (grounds.own / "a.txt").write_text("one\n2\n")
    (grounds.own / "b.txt").unlink()
    put(grounds.own, "new/e.txt", "e\n")
    (grounds.own / "run.sh").chmod(0o755)
    (grounds.own / "src" / "link").symlink_to("d.txt")
    before = shutil.copytree(grounds.real, grounds.real.parent / "git", symlinks=True)
    command = ["git", "apply", "-"]
    subprocess.run(command, cwd=before, input=grounds.diff(), text=True, check=True, capture_output=True)
    grounds.applied()

    there = {str(path.relative_to(before)): path.is_symlink() or path.read_text() for path in before.rglob("*.*")}
    assert there == {
        str(path.relative_to(grounds.real)): path.is_symlink() or path.read_text() for path in grounds.real.rglob("*.*")
    }
    assert (before / "src" / "link").readlink() == Path("d.txt")
    assert (before / "run.sh").stat().st_mode & 0o100


def test_nothing_changed_is_nothing_shown(grounds: Grounds) -> None:
    assert grounds.diff() == ""


def test_binary_and_large_files_are_named(grounds: Grounds) -> None:
    (grounds.own / "a.txt").write_bytes(b"\0\1\2")
    (grounds.own / "b.txt").write_text("x" * (SMALL_BYTES + 1))

    assert grounds.diff().splitlines() == [
        "diff --git a/a.txt b/a.txt",
        "Binary files a/a.txt and b/a.txt differ",
        "diff --git a/b.txt b/b.txt",
        f"# b.txt: too large to be shown (2 and {SMALL_BYTES + 1:,} bytes)",
    ]


def test_a_change_of_the_mode_alone_is_a_change(grounds: Grounds) -> None:
    (grounds.own / "run.sh").chmod(0o755)
    mode = (grounds.real / "run.sh").stat().st_mode

    assert grounds.diff() == f"diff --git a/run.sh b/run.sh\nold mode {mode:o}\nnew mode 100755\n"


def test_of_very_many_files_the_rest_is_counted(grounds: Grounds) -> None:
    for number in range(10):
        put(grounds.own, f"n{number}", "n\n")

    shown = show(grounds.changes(), grounds.place, grounds.own, most=3)
    assert shown.count("diff --git") == 3
    assert shown.endswith("# and 7 more files\n")


def test_a_content_that_was_not_kept_is_said(grounds: Grounds) -> None:
    (grounds.own / "a.txt").write_text("other")
    shutil.rmtree(grounds.place.root / "first")

    assert "# a.txt: its content cannot be had\n" in grounds.diff()
