"""What the lock lets in: everything by its hash, and nothing that runs by itself when Python starts."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

LOCK = ROOT / ".ci" / "requirements.txt"
RUN_AT_START = {"sitecustomize.py", "usercustomize.py"}


def locked(path: Path) -> dict[str, int]:
    """Return how many hashes each locked package has."""
    entries = re.split(r"^(?=[A-Za-z0-9])", path.read_text(), flags=re.MULTILINE)[1:]
    return {re.split(r"[=\[ ]", entry, maxsplit=1)[0]: entry.count("--hash=sha256:") for entry in entries}


def installed(names: set[str]) -> list[Distribution]:
    found = []
    for name in sorted(names):
        try:
            found.append(distribution(name))
        except PackageNotFoundError:
            continue  # Of another machine, or only for building.
    return found


def runs_at_start(path: Path) -> bool:
    """Say whether Python executes something of a file whenever it starts, whatever program it is started for."""
    if path.suffix == ".pth":
        return any(line.startswith(("import ", "import\t")) for line in path.read_text().splitlines())
    return path.name in RUN_AT_START


@pytest.mark.parametrize("name", ["requirements.txt", "peers.txt"])
def test_every_locked_package_has_its_hashes(name: str) -> None:
    found = locked(LOCK.with_name(name))
    assert len(found) > 10
    assert [package for package, hashes in found.items() if not hashes] == []


def test_no_locked_package_runs_by_itself() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split(r"[^A-Za-z0-9_.-]", wanted, maxsplit=1)[0] for wanted in project["dependencies"]}
    names = set(locked(LOCK))
    assert needed <= names
    found = installed(names)
    assert len(found) >= len(needed)
    files = [Path(str(file.locate())) for package in found for file in package.files or ()]
    assert len(files) > 1000
    assert [file.name for file in files if runs_at_start(file)] == []


@pytest.mark.parametrize(
    ("name", "text", "runs"),
    [
        ("paths.pth", "/srv/app\n# import os\n", False),
        ("evil.pth", "/srv/app\nimport os; os.system('true')\n", True),
        ("sitecustomize.py", "", True),
        ("module.py", "import os\n", False),
    ],
)
def test_what_runs_by_itself_is_known(tmp_path: Path, name: str, text: str, runs: object) -> None:
    (tmp_path / name).write_text(text)
    assert runs_at_start(tmp_path / name) is runs
