"""A home directory for the examples of a page."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def home() -> Iterator[Path]:
    """Give a home with a short path: the service's socket lies in it."""
    with tempfile.TemporaryDirectory(prefix="kova-home-") as home:
        yield Path(home).resolve()
