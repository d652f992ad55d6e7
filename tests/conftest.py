"""Fixtures for every test: only what must be closed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ("tests.postgres", "tests.tripwire")

# No example has a deadline, nor has finding one: on a busy machine any takes a while now and then. The slow tests try
# more of them.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("each time", PATIENT, max_examples=50)
settings.register_profile("thorough", PATIENT, max_examples=300)
settings.load_profile("each time")


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Have a directory whose path is short: services listen in it, and a socket's path has about 100 bytes at most."""
    with TemporaryDirectory(prefix="kova-", dir="/tmp", ignore_cleanup_errors=True) as path:
        yield Path(path).resolve()
