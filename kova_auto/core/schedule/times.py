"""Which times of day a schedule covers, to the second."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time

from kova_auto.core.schedule.mask import Mask, first_from, lowest


@dataclass(frozen=True, slots=True)
class Times:
    """Hold the hours, minutes and seconds of a schedule; none of them is empty."""

    hours: Mask
    minutes: Mask
    seconds: Mask

    def first(self) -> time:
        """Return the earliest covered time of a day."""
        return time(lowest(self.hours), lowest(self.minutes), lowest(self.seconds))

    def on_or_after(self, hour: int, minute: int, second: int) -> time | None:
        """Return the first covered time of the same day that is not before this one, or None."""
        if self.hours >> hour & 1:
            if self.minutes >> minute & 1:
                found = first_from(self.seconds, second)
                if found is not None:
                    return time(hour, minute, found)
            found = first_from(self.minutes, minute + 1)
            if found is not None:
                return time(hour, found, lowest(self.seconds))
        found = first_from(self.hours, hour + 1)
        return None if found is None else time(found, lowest(self.minutes), lowest(self.seconds))
