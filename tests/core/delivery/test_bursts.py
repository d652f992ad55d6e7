"""Many results in the same moment: each receiver is spoken to no faster than it allows, and none is lost."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from kova_auto.core.delivery.pacing import PACES, full, take
from kova_auto.core.delivery.target import FormatName
from tests.core.delivery.answers import NOW


def gone_at(name: FormatName, count: int) -> list[datetime]:
    """Return when each of some results goes that are there at once; one endpoint sends one at a time, in order."""
    pace = PACES[name]
    bucket, now, gone = full(pace, NOW), NOW, list[datetime]()
    while len(gone) < count:
        bucket, until = take(bucket, pace, now, urgent=False, message=f"msg_{len(gone)}")
        if until is None:
            gone.append(now)
        else:
            now = until
    return gone


@pytest.mark.parametrize(
    ("name", "count", "most", "within_s"),
    [
        (FormatName.DISCORD, 10, 5, 2),
        (FormatName.DISCORD, 100, 30, 60),
        (FormatName.GOOGLE_CHAT, 30, 60, 60),
        (FormatName.TEAMS, 30, 4, 1),
        (FormatName.TELEGRAM, 60, 20, 60),
    ],
)
def test_no_stretch_holds_more_than_its_receiver_takes(
    name: FormatName, count: int, most: int, within_s: float
) -> None:
    gone = gone_at(name, count)

    assert gone == sorted(gone)
    for start in gone:
        in_stretch = sum(start <= at < start + timedelta(seconds=within_s) for at in gone)
        assert in_stretch <= most + PACES[name].burst * (within_s >= 60)
