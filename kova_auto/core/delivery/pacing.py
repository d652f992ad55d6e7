"""Decide when a receiver may be sent one more message, so that many at once do not make it refuse them all.

One bucket for each credential: what several endpoints share, they spend together. Part of it is kept for what somebody
waits for, so that no request for an approval stands behind results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from kova_auto.core.delivery.retry import JITTER, jittered_s
from kova_auto.core.delivery.target import Target

_HAIR: Final = 1e-6  # of a message: what rounding takes away


@dataclass(frozen=True, slots=True)
class Pace:
    """Say how fast a receiver may be spoken to.

    Attributes:
        burst: So many messages at once, after a quiet time.
        every_s: Seconds for each further one.
        reserved: Of the burst, for what somebody waits for.
        together: Many results that wait are told in one message.
    """

    burst: int
    every_s: float
    reserved: int = 1
    together: bool = True


PACES: Final[Mapping[str, Pace]] = MappingProxyType({
    "slack": Pace(5, 1.0),  # documented: one a second for each hook, short bursts allowed
    "discord": Pace(4, 2.0),  # documented: 30 a minute for each hook; seen: 5 in 2 s
    "teams": Pace(4, 1.0),  # documented: 4 requests a second; each is a card that people read
    "mattermost": Pace(5, 1.0),
    "google-chat": Pace(3, 1.0),  # documented: one write a second for each space
    "feishu": Pace(4, 1.0),  # documented: 100 a minute and 5 a second for each bot
    "dingtalk": Pace(4, 3.2),  # documented: 20 a minute, then nothing for ten minutes
    "wecom": Pace(4, 3.2),  # documented: 20 a minute
    "telegram": Pace(4, 3.2),  # documented: 20 a minute in a group
    "ntfy": Pace(10, 5.0),  # seen: a burst of 60, then one in 5 s
    "pagerduty": Pace(20, 0.5, together=False),  # documented: 120 a minute for each key
    "bark": Pace(5, 1.0),
    "healthchecks": Pace(5, 12.0, together=False),  # documented: of more than 5 pings a minute some may be dropped
    "email": Pace(5, 2.0),
    "apprise": Pace(5, 2.0),
})  # fmt: skip
"""Of those formats that have people or a known limit behind them; any other takes what comes."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Hold how many messages may go at once, as of an instant."""

    left: float
    at: datetime


def credential_of(target: Target) -> str:
    """Return what tells credentials apart: the token at its host, or the address where that is the credential."""
    host = urlsplit(target.url).netloc
    return hashlib.sha256(f"{host}\n{target.token or target.url}".encode()).hexdigest()


def full(pace: Pace, now: datetime) -> Bucket:
    """Return the bucket of a receiver that was not spoken to lately."""
    return Bucket(pace.burst, now)


def take(bucket: Bucket, pace: Pace, now: datetime, *, urgent: bool, message: str) -> tuple[Bucket, datetime | None]:
    """Return the bucket after one more message, and None; where that must wait, the bucket as it is, and until when.

    Args:
        bucket: Before it.
        pace: Of the receiver.
        now: UTC; a clock that was set back fills nothing.
        urgent: Somebody waits for it.
        message: Its id, which decides by how much a wait is shorter or longer than others.
    """
    passed_s = max((now - bucket.at).total_seconds(), 0.0)
    left = min(pace.burst, bucket.left + passed_s / pace.every_s)
    kept = 0 if urgent else pace.reserved
    if left - kept >= 1 - _HAIR:
        return Bucket(max(left - 1, 0.0), now), None
    # Longer, never shorter: what comes a moment too early would wait again, and again.
    more_s = jittered_s(message, 0, pace.every_s) - pace.every_s * (1 - JITTER)
    return Bucket(left, now), now + timedelta(seconds=(1 + kept - left) * pace.every_s + more_s)
