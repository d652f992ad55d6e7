"""What one agent turn makes us do, by counts: they hold where time does not, and say which change made turns dearer.

A turn is the one of `test_turn_overhead.py`. Where a ceiling is passed on purpose, it is raised with what passes it.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest

from kova_auto.mounts import mounts
from kova_auto.threads import Awaited
from tests.benchmarks.peers.service import Service

WARM, TURNS = 4, 6
MOST_AWAITED = {True: 4, False: 8}
"""Of other threads: four transactions where the disk is slow, four looks at files unless these are on a near one."""
MOST_CALLS = {"openai-chat": 3700, "anthropic-messages": 3850, "openai-responses": 3900}
"""A few per cent above what they were; to go on with a coroutine is a call, too."""


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the Python functions that are called by name, on every thread that begins meanwhile, too."""
    found: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            found[frame.f_code.co_qualname] += 1

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        yield found
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def so_far(found: Counter[str]) -> Counter[str]:
    """Return a copy, made at one stroke: what copies a counter in Python would be counted on its way."""
    return Counter(dict(found))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.mark.parametrize("protocol", list(MOST_CALLS))
async def test_a_turn_calls_and_awaits_no_more_than_it_did(port: int, protocol: str, place: Path) -> None:
    turns: list[Counter[str]] = []
    with counted() as found:
        async with Service(place, port, protocol) as service:
            for _ in range(WARM + TURNS):
                before = so_far(found)
                await service.turn()
                turns.append(so_far(found) - before)
    measured = turns[WARM:]  # Of these the cheapest: how a stream is cut into packets is not ours.

    is_near = mounts().are_near(str(place))
    cheapest = min(measured, key=Counter.total)
    assert 1000 < cheapest.total() <= MOST_CALLS[protocol], cheapest.most_common(40)
    assert found[Awaited.settle.__qualname__] >= 1
    assert min(turn[Awaited.settle.__qualname__] for turn in measured) <= MOST_AWAITED[is_near]
