"""A clock that a test moves by hand."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.support import at

MORNING = at("06:00:00")


@dataclass
class HandClock:
    """Stand still until a test moves it."""

    instant: datetime = MORNING
    awake_s: float = 0.0

    def now(self) -> datetime:
        return self.instant

    def steady_s(self) -> float:
        return self.awake_s

    def later(self, seconds: float) -> None:
        self.instant += timedelta(seconds=seconds)
        self.awake_s += seconds

    def jumps(self, seconds: float) -> None:
        """Be set, or sleep."""
        self.instant += timedelta(seconds=seconds)
