"""Read the system clock; every other module takes now as an argument or is handed a `Clock`."""

from __future__ import annotations

import time
from datetime import UTC, datetime


class SystemClock:
    """Tell the time of the machine."""

    def now(self) -> datetime:
        """Return the present instant, aware UTC."""
        return datetime.now(UTC)

    def steady_s(self) -> float:
        """Return seconds that no setting of the clock changes, and in which the machine was awake."""
        return time.monotonic()
