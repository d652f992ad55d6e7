"""Fixtures for every test: only what must be closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest_plugins = ("tests.postgres", "tests.tripwire")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Have a directory whose path is short: services listen in it, and a socket's path has about 100 bytes at most."""
    with TemporaryDirectory(prefix="kova-", dir="/tmp", ignore_cleanup_errors=True) as path:
        yield Path(path).resolve()
