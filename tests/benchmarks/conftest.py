"""What benchmarks share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Serve a mock of a provider from another process."""
    command = [sys.executable, "-m", "tests.benchmarks.peers.mock_model"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline().split()[1])
        server.terminate()
