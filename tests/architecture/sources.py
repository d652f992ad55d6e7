"""The repository as it lies there: what the tests of its structure look at."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


@cache
def tracked() -> tuple[Path, ...]:
    """Return every file that git keeps, as far as it is there."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    paths = (ROOT / name for name in listed.split("\0") if name)
    return tuple(path for path in paths if path.is_file())


def modules(*below: str) -> list[Path]:
    """Return the Python files below these directories of the repository, tracked or not."""
    found = (path for directory in below for path in (ROOT / directory).rglob("*.py"))
    return sorted(path for path in found if not _others(path))


def _others(path: Path) -> bool:
    """Say whether a file belongs to somebody else: to what is installed beside the tests."""
    return any(part.startswith(".venv") or part == "node_modules" for part in path.relative_to(ROOT).parts)


def place(path: Path) -> str:
    """Return where a file lies in the repository."""
    return path.relative_to(ROOT).as_posix()
