"""A copy or a worktree that a kill leaves half made, at any point, is made anew; and nothing of it stays behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.test_staging import git
from tests.support import ROOT


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("isolation", ["copy", "worktree"])
def test_whatever_a_kill_leaves_is_made_anew(tmp_path: Path, isolation: str, every: int) -> None:
    repository = tmp_path / "work"
    repository.mkdir()
    for number in range(5):
        (repository / f"f{number}").write_text(f"{number}")
    git(repository, "init", "--quiet", "--template=")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "First")

    command = [sys.executable, "-m", "tests.crash.half_made", str(tmp_path), str(repository), isolation, str(every)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=500)
    kills = [json.loads(line) for line in done.stdout.splitlines()]

    assert done.returncode == 0, done.stderr[-2000:]
    assert len(kills) > 12 // every
    assert [kill for kill in kills if kill[1]] == []
