"""Decide when a delivery is tried again.

Nothing here is random: the same delivery waits the same time on the same attempt, in a test as after a restart.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Seconds before each attempt, the first included: ten attempts in about 32 hours.
SCHEDULE_S: tuple[float, ...] = (0, 5, 30, 120, 600, 1800, 7200, 18_000, 36_000, 50_400)
JITTER = 0.2
MAX_WAIT_S = 24 * 3600.0
MAX_WAIT_INTERACTIVE_S = 3600.0

_DIGITS = re.compile(r"[0-9]+")
_DATE = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? [A-Za-z0-9 :-]{16,24}( GMT)?")


def jittered_s(delivery_id: str, attempt: int, wait_s: float) -> float:
    """Return a wait that is up to a fifth shorter or longer, so that what failed together does not return together."""
    digest = hashlib.sha256(f"{delivery_id}\n{attempt}".encode()).digest()
    share = int.from_bytes(digest[:8], "big") / 2**64
    return wait_s * (1 - JITTER + 2 * JITTER * share)


def parse_retry_after(value: str, *, now: datetime) -> float | None:
    """Return how many seconds a `Retry-After` asks to wait: whole seconds or an HTTP date, 0 for the past.

    None for anything else: `1e9`, `-5`, `30s` and digits that are not ASCII are not guessed at.
    """
    text = value.strip(" \t")
    if _DIGITS.fullmatch(text):
        # Longer numbers than this are past every cap, and slow to read.
        return float(text.lstrip("0")[:12] or 0)
    if not _DATE.fullmatch(text):
        return None
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())


def longest_wait_s(*, interactive: bool) -> float:
    """Return how long a receiver may make us wait at most; a message that somebody waits for is worth less later."""
    return MAX_WAIT_INTERACTIVE_S if interactive else MAX_WAIT_S


def next_attempt_at(
    delivery_id: str,
    attempts: int,
    *,
    now: datetime,
    at_least_s: float = 0,
    schedule_s: Sequence[float] = SCHEDULE_S,
) -> datetime | None:
    """Return when a delivery is tried again, or None when its attempts are used up.

    Args:
        delivery_id: Decides the jitter, together with the attempt.
        attempts: Made so far, at least 1.
        now: When the last one ended, UTC.
        at_least_s: What the receiver asked for, already capped; never shortened by jitter.
        schedule_s: Seconds before each attempt; the first is always made, so an empty list means one attempt.
    """
    if attempts >= len(schedule_s):
        return None
    wait_s = jittered_s(delivery_id, attempts + 1, schedule_s[attempts])
    return now + timedelta(seconds=max(wait_s, at_least_s))
