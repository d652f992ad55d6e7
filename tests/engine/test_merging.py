"""Generators of entries that are merged: each waits for what it announces, and none outlives the whole."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import pytest

from kova_auto.core.event import CallFinished, CallStarted
from kova_auto.core.ids import CallId, call_id
from kova_auto.core.message import ResultStatus, told
from kova_auto.engine.entry import Entries, Entry
from kova_auto.engine.merging import Begun, merged
from tests.support import at

NOW = at("06:00:00")


def begins(key: CallId) -> Entry:
    return Entry(CallStarted(at=NOW, call_id=key))


def ends(key: CallId, *, waits: bool = True) -> Entry:
    return Entry(CallFinished(at=NOW, call_id=key, result=told(ResultStatus.OK, key)), waits=waits)


@dataclass
class Strands:
    """Make generators, each of which begins, waits until it may end, and ends.

    Attributes:
        gates: What each waits for.
        log: What happened, in order.
        fails: What is raised in place of an end.
    """

    count: int
    gates: dict[CallId, asyncio.Event] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    fails: dict[CallId, Exception] = field(default_factory=dict)
    waits: Callable[[CallId], bool] = lambda _: True

    @property
    def keys(self) -> list[CallId]:
        return [call_id(1, index) for index in range(1, self.count + 1)]

    def all(self) -> Entries:
        return merged([self.strand(key) for key in self.keys])

    def free(self, *keys: CallId) -> None:
        for key in keys or self.keys:
            self.gates[key].set()

    async def strand(self, key: CallId, *, is_announced: bool = False) -> Entries:
        gate = self.gates[key] = asyncio.Event()
        try:
            if not is_announced:
                yield begins(key)
            self.log.append(f"{key} goes on")
            await gate.wait()
            if key in self.fails:
                raise self.fails[key]
            yield ends(key, waits=self.waits(key))
        finally:
            await asyncio.sleep(0)
            self.log.append(f"{key} is closed")


def said(entry: Entry) -> list[str]:
    return [f"{one.event.kind} {one.event.call_id}" for one in (entry, *entry.also) if hasattr(one.event, "call_id")]


async def test_what_is_there_at_one_moment_is_one_entry_and_the_last_says_so() -> None:
    strands = Strands(3)
    async with aclosing(strands.all()) as entries:
        first = await anext(entries)
        assert said(first) == [f"call_started {key}" for key in strands.keys]
        assert strands.log == []  # Nothing is written yet.

        going_on = asyncio.ensure_future(anext(entries))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        strands.free(CallId("1.2"))
        middle = await going_on
        assert (said(middle), middle.announces) == (["call_finished 1.2"], True)

        strands.free()
        last = await anext(entries)
        assert (said(last), last.announces) == (["call_finished 1.1", "call_finished 1.3"], False)
    assert strands.log[-3:] == ["1.2 is closed", "1.1 is closed", "1.3 is closed"]


async def test_what_may_wait_comes_before_what_may_not_so_that_all_is_written_at_once() -> None:
    strands = Strands(3, waits=lambda key: key != "1.1")
    async with aclosing(strands.all()) as entries:
        await anext(entries)
        strands.free()
        last = await anext(entries)
    assert said(last) == ["call_finished 1.2", "call_finished 1.3", "call_finished 1.1"]


async def test_one_that_fails_keeps_no_other_from_its_end() -> None:
    strands = Strands(3, fails={CallId("1.1"): ZeroDivisionError()})
    async with aclosing(strands.all()) as entries:
        await anext(entries)
        strands.free()
        others = await anext(entries)
        assert (said(others), others.announces) == (["call_finished 1.2", "call_finished 1.3"], True)
        with pytest.raises(ZeroDivisionError):
            await anext(entries)


async def test_the_one_that_fails_may_be_the_last() -> None:
    strands = Strands(2, fails={CallId("1.2"): ZeroDivisionError()})
    async with aclosing(strands.all()) as entries:
        await anext(entries)
        strands.free(CallId("1.1"))
        assert (await anext(entries)).announces
        strands.free()
        with pytest.raises(ZeroDivisionError):
            await anext(entries)
    assert strands.log[-1] == "1.2 is closed"


async def test_closing_it_closes_all() -> None:
    strands = Strands(3)
    before = asyncio.all_tasks()
    async with aclosing(strands.all()) as entries:
        await anext(entries)
    assert sorted(strands.log) == [f"{key} is closed" for key in strands.keys]
    assert asyncio.all_tasks() == before


async def test_cancelling_what_awaits_it_closes_all_however_often() -> None:
    strands = Strands(3)
    before = asyncio.all_tasks()

    async def follow() -> None:
        async with aclosing(strands.all()) as entries:
            async for _ in entries:
                pass

    following = asyncio.create_task(follow())
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(strands.log) == strands.count
    for _ in range(3):
        following.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await following
    assert sorted(strands.log[3:]) == [f"{key} is closed" for key in strands.keys]
    assert asyncio.all_tasks() == before


async def test_where_one_ends_the_next_begins_and_the_others_go_on() -> None:
    strands = Strands(3)
    first, second, third = strands.keys
    next_ones = iter([[], [(begins(third), strands.strand(third, is_announced=True))], []])
    heard: list[str] = []

    def then(entries: Sequence[Entry]) -> list[Begun]:
        heard.extend(one for entry in entries for one in said(entry))
        return next(next_ones)

    async with aclosing(merged([strands.strand(first), strands.strand(second)], then)) as entries:
        assert said(await anext(entries)) == ["call_started 1.1", "call_started 1.2"]
        going_on = asyncio.ensure_future(anext(entries))
        await asyncio.sleep(0)
        strands.free(second)
        freed = await going_on
        assert (said(freed), freed.announces) == (["call_finished 1.2", "call_started 1.3"], True)
        assert third not in strands.gates  # Nothing of it is done before that is written.
        going_on = asyncio.ensure_future(anext(entries))
        for _ in range(3):
            await asyncio.sleep(0)
        strands.free(third)
        assert said(await going_on) == ["call_finished 1.3"]
    assert heard == ["call_started 1.1", "call_started 1.2", "call_finished 1.2", "call_finished 1.3"]
    assert strands.log[-1] == "1.1 is closed"


async def test_once_one_has_failed_none_begins() -> None:
    strands = Strands(3, fails={CallId("1.1"): ZeroDivisionError()})
    first, second, third = strands.keys

    def then(entries: Sequence[Entry]) -> list[Begun]:
        has_ended = any(isinstance(entry.event, CallFinished) for entry in entries)
        return [(begins(third), strands.strand(third, is_announced=True))] if has_ended else []

    async with aclosing(merged([strands.strand(first), strands.strand(second)], then)) as entries:
        await anext(entries)
        strands.free(first, second)
        assert said(await anext(entries)) == ["call_finished 1.2"]
        with pytest.raises(ZeroDivisionError):
            await anext(entries)
    assert third not in strands.gates
