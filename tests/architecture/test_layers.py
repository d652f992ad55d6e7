"""Imports point down; the contracts stand in `pyproject.toml`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.architecture.sources import ROOT


def test_every_import_contract_is_kept() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, check=False, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "Contracts: 4 kept, 0 broken." in done.stdout
