"""Weigh this process: what a service must not have more of after a thousand runs than after the first few."""

from __future__ import annotations

import gc
import threading
from dataclasses import dataclass
from pathlib import Path

from kova_auto.core.state import RunState

DESCRIPTORS = Path("/proc/self/fd")
STATUS = Path("/proc/self/status")
CAN_WEIGH = DESCRIPTORS.is_dir() and STATUS.is_file()


@dataclass(frozen=True)
class Weight:
    """Hold what a process had at a moment.

    Attributes:
        resident_mb: Of its memory.
        states: Runs of which it still knew everything.
    """

    resident_mb: float
    descriptors: int
    threads: int
    states: int


def weigh() -> Weight:
    """Weigh this process once what nobody refers to is gone."""
    gc.collect()
    states = sum(isinstance(one, RunState) for one in gc.get_objects())
    return Weight(_resident_mb(), descriptors(), threading.active_count(), states)


def descriptors() -> int:
    """Return how many files this process has open."""
    return len(list(DESCRIPTORS.iterdir()))


def _resident_mb() -> float:
    lines = STATUS.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024
