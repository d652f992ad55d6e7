"""Read the system clock; every other module takes now as an argument or is handed a `Clock`."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """Tell the time of the machine."""

    def now(self) -> datetime:
        """Return the present instant, aware UTC."""
        return datetime.now(UTC)
