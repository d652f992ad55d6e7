"""What is to be filled in is worked off in its order, each instant once, beside the job's other runs as was said."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field

import pytest

from kova_auto.core.backfill import Backfill, BackfillOverlap, BackfillStatus, next_up
from kova_auto.core.errors import ConfigError
from kova_auto.core.event import RunFinished, RunRequested
from kova_auto.core.ids import JobName, RunId, requested_run_id
from kova_auto.core.job import Outcome
from kova_auto.scheduling.filling import LATER_S, SOON_S, Filler
from tests.doubles.backfills import MemoryBackfills
from tests.doubles.journal import MemoryJournal
from tests.support import a_request, at

NIGHTLY = JobName("nightly")


def item(clock: str, overlap: str = "queue", *, asked: str = "12:00:00", job: str = "nightly") -> Backfill:
    return Backfill(
        job=JobName(job),
        nominal_at=at(clock),
        asked_at=at(asked),
        path=f"/jobs/{job}.toml",
        by="ada",
        overlap=BackfillOverlap(overlap),
        at_once=2,
    )


@dataclass
class Shop:
    """Hold what is to be filled in, a journal, and who fills in."""

    backfills: MemoryBackfills = field(default_factory=MemoryBackfills)
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    rung: int = 0
    broken: str = ""
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def filler(self) -> Filler:
        return Filler(self.backfills, self.journal, self.journal, self.opening, self.ring)

    async def opening(self, one: Backfill) -> RunRequested:
        if self.broken:
            raise ConfigError(self.broken)
        key = requested_run_id(one.job, one.asked_at, one.key)
        return a_request(key, at=at("12:00:00"), nominal_at=one.nominal_at, due_at=one.nominal_at)

    def ring(self) -> None:
        self.rung += 1
        self.heard.set()

    async def runs(self) -> list[str]:
        return [row.run_id.rpartition("-")[2][9:13] for row in reversed(await self.journal.runs())]

    async def finish(self) -> None:
        for row in await self.journal.runs(unfinished=True):
            state = await self.journal.load(row.run_id)
            await self.journal.append(state, RunFinished(at=at("12:00:01"), outcome=Outcome.FAILED, reason="no"))


@pytest.fixture
def shop() -> Shop:
    return Shop()


async def test_instants_are_filled_in_one_after_the_other_oldest_first(shop: Shop) -> None:
    await shop.backfills.ask([item("08:00:00"), item("06:00:00"), item("07:00:00")])
    seen = []
    for _ in range(4):
        await shop.filler.look()
        seen.append(await shop.runs())
        await shop.filler.look()
        assert await shop.runs() == seen[-1]
        await shop.finish()

    assert seen == [["0600"], ["0600", "0700"], ["0600", "0700", "0800"], ["0600", "0700", "0800"]]
    assert shop.rung == 3
    assert await shop.backfills.waiting() == []


async def test_each_run_has_its_own_id_and_is_told_the_instant_as_its_date(shop: Shop) -> None:
    await shop.backfills.ask([item("06:00:00")])
    await shop.filler.look()
    await shop.finish()
    await shop.backfills.ask([item("06:00:00", asked="13:00:00")])
    await shop.filler.look()

    rows = await shop.journal.runs()
    assert len({row.run_id for row in rows}) == 2
    assert {row.nominal_at for row in rows} == {at("06:00:00")}
    assert await shop.journal.load(RunId("nightly+20261201T120000Z-20261201T060000Z"))


async def test_jobs_do_not_wait_for_each_other(shop: Shop) -> None:
    await shop.backfills.ask([item("06:00:00"), item("07:00:00"), item("06:30:00", job="weekly")])

    assert await shop.filler.look() == SOON_S
    assert sorted(await shop.runs()) == ["0600", "0630"]


async def test_a_run_of_the_schedule_is_waited_for_too(shop: Shop) -> None:
    await shop.journal.open(a_request("nightly@1"))
    await shop.backfills.ask([item("06:00:00")])

    assert await shop.filler.look() == SOON_S
    assert await shop.runs() == [""]


async def test_with_allow_as_many_go_on_as_the_job_lets(shop: Shop) -> None:
    await shop.backfills.ask([item(f"0{hour}:00:00", "allow") for hour in (6, 7, 8)])
    await shop.filler.look()
    assert sorted(await shop.runs()) == ["0600", "0700"]

    await shop.finish()
    await shop.filler.look()
    assert sorted(await shop.runs()) == ["0600", "0700", "0800"]


async def test_with_skip_what_meets_a_run_is_left_out(shop: Shop) -> None:
    await shop.backfills.ask([item("06:00:00", "skip"), item("07:00:00", "skip")])
    await shop.filler.look()

    assert await shop.runs() == ["0600"]
    assert [(one.status, one.why) for one in shop.backfills.items.values()] == [
        (BackfillStatus.OPENED, ""),
        (BackfillStatus.SKIPPED, "overlap"),
    ]


async def test_what_cannot_be_opened_waits_and_says_why_once(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.broken = "the job has spent what it may on this day"
    await shop.backfills.ask([item("06:00:00"), item("07:00:00")])
    with caplog.at_level(logging.WARNING):
        assert [await shop.filler.look() for _ in range(3)] == [LATER_S] * 3
    assert len(caplog.records) == 1
    assert [one.why for one in await shop.backfills.waiting()] == [shop.broken, ""]

    shop.broken = ""
    await shop.filler.look()
    assert await shop.runs() == ["0600"]


async def test_who_was_killed_between_the_run_and_its_record_opens_no_second_one(shop: Shop) -> None:
    await shop.backfills.ask([item("06:00:00")])
    await shop.journal.open(await shop.opening(item("06:00:00")))
    await shop.finish()
    await shop.filler.look()

    assert len(await shop.journal.runs()) == 1
    assert await shop.backfills.waiting() == []


async def test_what_was_dropped_is_not_filled_in(shop: Shop) -> None:
    await shop.backfills.ask([item("06:00:00"), item("07:00:00")])
    assert await shop.backfills.drop(NIGHTLY) == 2

    await shop.filler.look()
    assert await shop.runs() == []


async def test_a_filler_works_whenever_its_bell_rings_and_ends_when_told(shop: Shop) -> None:
    bell, stop = asyncio.Event(), asyncio.Event()
    await shop.backfills.ask([item("06:00:00")])
    serving = asyncio.create_task(shop.filler.serve(bell, stop))
    async with asyncio.timeout(60):
        await shop.heard.wait()
        stop.set()
        bell.set()
        await serving

    assert await shop.runs() == ["0600"]


@pytest.mark.parametrize(
    ("overlaps", "running", "chosen", "skipped"),
    [
        ("queue", 0, 0, 0),
        ("queue", 1, None, 0),
        ("allow", 1, 0, 0),
        ("allow", 2, None, 0),
        ("skip", 1, None, 1),
        ("skip skip", 1, None, 2),
        ("skip queue", 1, None, 1),
        ("skip allow", 1, 1, 1),
        ("", 0, None, 0),
    ],
)
def test_whose_turn_it_is(overlaps: str, running: int, chosen: int | None, skipped: int) -> None:
    items = [item(f"0{hour}:00:00", overlap) for hour, overlap in enumerate(overlaps.split(), 1)]
    found, left_out = next_up(items, running)

    assert (None if found is None else items.index(found), len(left_out)) == (chosen, skipped)
