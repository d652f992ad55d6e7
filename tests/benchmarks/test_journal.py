"""Journaled appends per second, beside raw sqlite3 at the same setting: run with `pytest -n0 -s -m bench`.

Each append is a fact of a run that reads files: fence checked, view updated, results of 1.5 KB. The raw baseline does a
fenced UPDATE and an INSERT of the same size in one transaction each, on one connection.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from pathlib import Path
from time import perf_counter

import pytest

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.event import (
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ContextAssembled,
    Event,
    ModelCallStarted,
)
from kova_auto.core.message import TextPart
from kova_auto.core.ports import Journal
from kova_auto.core.run import RunState
from kova_auto.store.store import open_store
from tests.support import a_request, at, call, ok, replied, ruled, says

pytestmark = pytest.mark.bench

RESULT = "x" * 1500
NOW = at("06:00:00")


def facts(iterations: int) -> Iterator[Event]:
    """Yield the facts of one run's work: two reads in each iteration."""
    yield ContextAssembled(at=NOW, system="Be brief.", prompt=(TextPart(text="Look."),), tools=())
    for iteration in range(1, iterations + 1):
        yield ModelCallStarted(at=NOW, iteration=iteration, model="test/model", request_hash="hash")
        reply = replied(iteration, says("Let me see.", call("read", path="a"), call("read", path="b")))
        yield reply
        for each in reply.calls:
            yield CallAdjudicated(at=NOW, call_id=each.id, verdict=ruled(Ruling.ALLOW))
            yield CallStarted(at=NOW, call_id=each.id)
            yield CallFinished(at=NOW, call_id=each.id, result=ok(RESULT))


async def run(journal: Journal, index: int, events: list[Event]) -> list[float]:
    """Append the facts of one run one after another, and return how long each took, in seconds."""
    request = a_request(f"nightly@{index}")
    await journal.open(request)
    state = await journal.acquire(request.run_id, worker="bench", now=NOW, lease=timedelta(hours=1))
    assert isinstance(state, RunState)
    taken = []
    for event in events:
        begun = perf_counter()
        state = await journal.append(state, event, epoch=1)
        taken.append(perf_counter() - begun)
    return taken


def raw_rate(place: Path, appends: int) -> float:
    """Return how many fenced appends raw sqlite3 makes in a second, one transaction each."""
    driver = sqlite3.connect(place, isolation_level=None)
    driver.execute("PRAGMA journal_mode = WAL")
    driver.execute("PRAGMA synchronous = FULL")
    driver.execute("CREATE TABLE run (run_id TEXT PRIMARY KEY, head INTEGER, epoch INTEGER)")
    driver.execute("CREATE TABLE event (run_id TEXT, seq INTEGER, body TEXT, PRIMARY KEY (run_id, seq))")
    driver.execute("INSERT INTO run VALUES ('raw', 0, 1)")
    begun = perf_counter()
    for seq in range(1, appends + 1):
        driver.execute("BEGIN IMMEDIATE")
        driver.execute("UPDATE run SET head = ? WHERE run_id = 'raw' AND head = ? AND epoch = 1", (seq, seq - 1))
        driver.execute("INSERT INTO event VALUES ('raw', ?, ?)", (seq, RESULT))
        driver.execute("COMMIT")
    rate = appends / (perf_counter() - begun)
    driver.close()
    return rate


@pytest.mark.parametrize(("runs", "iterations"), [(1, 50), (16, 25), (64, 10)])
async def test_appends_per_second(tmp_path: Path, runs: int, iterations: int) -> None:
    store = open_store(tmp_path / "journal.db", create=True)
    events = list(facts(iterations))
    await run(store.journal, -1, events)  # Statements are compiled once.

    begun = perf_counter()
    each = await asyncio.gather(*(run(store.journal, index, events) for index in range(runs)))
    taken = sorted(chain.from_iterable(each))
    rate = len(taken) / (perf_counter() - begun)
    raw = await asyncio.to_thread(raw_rate, tmp_path / "raw.db", 3000)

    p50, p99 = (taken[int(len(taken) * share)] * 1000 for share in (0.5, 0.99))
    print(
        f"\n{runs:3} runs: {rate:6.0f} appends/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms; "
        f"raw sqlite3 {raw:.0f}/s, ratio {rate / raw:.2f}"
    )
    assert await store.compare_views() == []
    await store.close()
