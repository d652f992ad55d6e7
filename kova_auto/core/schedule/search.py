"""Search a stream of instants of which only this can be asked: what comes next after a moment.

The newest instants of a long stretch are found by halving it, not by walking it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

TICK: Final = timedelta.resolution
Following = Callable[[datetime], datetime | None]
"""Returns the first instant strictly after another; None where there is none."""


def between(following: Following, after: datetime, until: datetime, limit: int) -> Iterator[datetime]:
    """Yield at most `limit` instants of the stretch from `after`, excluded, to `until`, included, oldest first."""
    for _ in range(limit):
        found = following(after)
        if found is None or found > until:
            return
        yield found
        after = found


def count(following: Following, after: datetime, until: datetime, cap: int) -> int:
    """Count the instants from `after`, excluded, to `until`, included; `cap` means "this many or more"."""
    return sum(1 for _ in between(following, after, until, cap))


def newest(following: Following, after: datetime, until: datetime) -> datetime | None:
    """Return the newest instant from `after`, excluded, to `until`, included."""
    known: datetime | None = None
    ceiling = until
    while (found := following(after)) is not None and found <= until:
        known = found
        middle = known + (ceiling - known) / 2
        beyond = following(middle)
        if beyond is None or beyond > until:
            after, ceiling = known, middle
        else:
            after = known = beyond
    return known


def newest_few(following: Following, after: datetime, until: datetime, limit: int) -> tuple[datetime, ...]:
    """Return the newest instants from `after`, excluded, to `until`, included: at most `limit`, oldest first."""
    before, many = until, 2 * limit
    while len(found := list(between(following, after, until, many + 1))) > many:
        middle = after + (before - after) / 2
        if count(following, middle, until, limit) < limit:
            before = middle
        else:
            after = middle
    return tuple(found[-limit:])
