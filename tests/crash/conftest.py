"""One process that has everything imported, for all victims of this one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.crash.zygote import Zygote


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    argv = [sys.executable, "-m", "tests.crash.victim"]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield Zygote(process)
    if process.stdin:
        process.stdin.close()
    process.wait(timeout=60)
    if process.stdout:
        process.stdout.close()
