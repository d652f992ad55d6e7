"""Notice that the clock was set, or that the machine or this process slept; what was missed meanwhile is as ever."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final

from kova_auto.core.ports import SteadyClock

LOG = logging.getLogger(__name__)
LEAST: Final = timedelta(seconds=2)


class Jumps:
    """Compare the time of day with a clock that nobody sets."""

    def __init__(self) -> None:
        """Begin with nothing to compare with."""
        self._last: tuple[datetime, float] | None = None

    def went_back(self, clock: SteadyClock) -> bool:
        """Say in the log how the clock has jumped since the last look; return whether it went back, or who knows."""
        now, steady_s = clock.now(), clock.steady_s()
        last, self._last = self._last, (now, steady_s)
        if last is None:
            return True
        jump = (now - last[0]) - timedelta(seconds=steady_s - last[1])
        if jump >= LEAST:
            LOG.warning("the clock is %s ahead: it was set, or this machine slept", _said(jump))
        elif -jump >= LEAST:
            LOG.warning("the clock was set back by %s; no instant is repeated", _said(-jump))
        return now < last[0] or -jump >= LEAST


def _said(jump: timedelta) -> str:
    return f"{jump.total_seconds():.0f} s"
