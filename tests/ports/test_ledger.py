"""What every ledger promises: one suite for SQLite, PostgreSQL and the double."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kova_auto.core.errors import UnknownRunError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.ledger import Ledger, Occurrence, OccurrenceStatus, ScheduleVersion
from kova_auto.core.pausing import JobMark
from kova_auto.core.ports import Journal
from kova_auto.core.run import opened
from tests.support import a_request, at

NIGHTLY = JobName("nightly")
HASH = "every-hour"


def row(clock: str, status: OccurrenceStatus = OccurrenceStatus.PENDING, **changes: object) -> Occurrence:
    """Return one row of the job's ledger."""
    fields = {"job": NIGHTLY, "schedule": HASH, "nominal_at": at(clock), "due_at": at(clock), "status": status}
    return Occurrence.model_validate({**fields, **changes})


def run_of(clock: str) -> RunRequested:
    """Return the opening of the run for an instant."""
    return a_request(f"nightly@{clock}", nominal_at=at(clock), due_at=at(clock))


async def claim(ledger: Ledger, was: str | None, cursor: str, *rows: Occurrence, runs: bool = True) -> bool:
    """Claim rows, with a run for each."""
    return await ledger.claim(
        NIGHTLY,
        HASH,
        was=at(was) if was else None,
        cursor=at(cursor),
        rows=rows,
        runs=[run_of(f"{each.nominal_at:%H:%M:%S}") for each in rows] if runs else [],
    )


async def test_a_schedule_that_was_never_seen_has_no_cursor(ledger: Ledger) -> None:
    assert await ledger.cursor(NIGHTLY, HASH) is None


async def test_a_claim_moves_the_cursor_writes_the_row_and_opens_the_run(ledger: Ledger, journal: Journal) -> None:
    assert await claim(ledger, None, "06:00:00", row("06:00:00"))
    assert await claim(ledger, "06:00:00", "07:00:00", row("07:00:00"))

    assert await ledger.cursor(NIGHTLY, HASH) == at("07:00:00")
    assert await ledger.occurrences(NIGHTLY) == [row("07:00:00"), row("06:00:00")]
    assert await journal.load(RunId("nightly@07:00:00")) == opened(run_of("07:00:00"))


async def test_of_sixteen_claims_at_once_one_is_made(ledger: Ledger, journal: Journal) -> None:
    first = await asyncio.gather(*(claim(ledger, None, "06:00:00", row("06:00:00")) for _ in range(16)))
    second = await asyncio.gather(*(claim(ledger, "06:00:00", "07:00:00", row("07:00:00")) for _ in range(16)))

    assert (first.count(True), second.count(True)) == (1, 1)
    assert await ledger.occurrences() == [row("07:00:00"), row("06:00:00")]
    assert len(await journal.events(RunId("nightly@06:00:00"))) == 1


@pytest.mark.parametrize("was", [None, "05:00:00", "07:00:00"])
async def test_a_claim_from_elsewhere_changes_nothing(ledger: Ledger, journal: Journal, was: str | None) -> None:
    await claim(ledger, None, "06:00:00", row("06:00:00"))

    assert not await claim(ledger, was, "08:00:00", row("08:00:00"))
    assert await ledger.cursor(NIGHTLY, HASH) == at("06:00:00")
    assert await ledger.occurrences() == [row("06:00:00")]
    with pytest.raises(UnknownRunError):
        await journal.load(RunId("nightly@08:00:00"))


async def test_a_claim_of_an_instant_that_has_its_row_changes_nothing(ledger: Ledger, journal: Journal) -> None:
    await claim(ledger, None, "06:00:00", row("06:00:00"))

    assert not await claim(ledger, "06:00:00", "08:00:00", row("07:00:00"), row("06:00:00", why="again"))
    assert await ledger.cursor(NIGHTLY, HASH) == at("06:00:00")
    assert await ledger.occurrences() == [row("06:00:00")]
    with pytest.raises(UnknownRunError):
        await journal.load(RunId("nightly@07:00:00"))


async def test_an_edited_schedule_has_its_own_cursor_and_shares_the_rows(ledger: Ledger) -> None:
    await claim(ledger, None, "06:00:00", row("06:00:00"))

    same = await ledger.claim(NIGHTLY, "edited", was=None, cursor=at("06:00:00"), rows=[row("06:00:00")])
    fresh = await ledger.claim(NIGHTLY, "edited", was=None, cursor=at("06:30:00"), rows=[row("06:30:00")])

    assert (same, fresh) == (False, True)
    assert await ledger.cursor(NIGHTLY, HASH) == at("06:00:00")
    assert await ledger.cursor(NIGHTLY, "edited") == at("06:30:00")


async def test_two_jobs_share_an_instant(ledger: Ledger) -> None:
    weekly = row("06:00:00", job="weekly")

    assert await ledger.claim(JobName("weekly"), HASH, was=None, cursor=at("06:00:00"), rows=[weekly])
    assert await claim(ledger, None, "06:00:00", row("06:00:00"))
    assert await ledger.occurrences() == [row("06:00:00"), weekly]
    assert await ledger.occurrences(JobName("weekly")) == [weekly]


async def test_a_run_that_is_open_already_is_left_as_it_is(ledger: Ledger, journal: Journal) -> None:
    there = a_request("nightly@06:00:00", policy_hash="earlier")
    await journal.open(there)

    assert await claim(ledger, None, "06:00:00", row("06:00:00"))
    assert await journal.load(there.run_id) == opened(there)


async def test_a_claim_may_only_move_the_cursor(ledger: Ledger) -> None:
    assert await claim(ledger, None, "06:00:00")
    assert await ledger.cursor(NIGHTLY, HASH) == at("06:00:00")
    assert await ledger.occurrences() == []


async def test_a_row_that_waited_is_put_right_and_its_run_opened(ledger: Ledger, journal: Journal) -> None:
    await claim(ledger, None, "07:00:00", row("06:00:00"), row("07:00:00"), runs=False)
    ran = row("06:00:00", OccurrenceStatus.RAN, run_id="nightly@06:00:00", settled_at=at("06:00:05"))

    assert await ledger.settle([row("06:00:00")], [ran], [run_of("06:00:00")])

    assert await ledger.occurrences() == [row("07:00:00"), ran]
    assert (await ledger.pending(), await ledger.ran(NIGHTLY)) == ([row("07:00:00")], 1)
    assert await journal.load(RunId("nightly@06:00:00")) == opened(run_of("06:00:00"))


async def test_of_sixteen_that_settle_a_row_at_once_one_does(ledger: Ledger, journal: Journal) -> None:
    await claim(ledger, None, "06:00:00", row("06:00:00"), runs=False)
    ran = row("06:00:00", OccurrenceStatus.RAN, run_id="nightly@06:00:00")

    settled = await asyncio.gather(*(ledger.settle([row("06:00:00")], [ran], [run_of("06:00:00")]) for _ in range(16)))

    assert settled.count(True) == 1
    assert await ledger.occurrences() == [ran]
    assert len(await journal.events(RunId("nightly@06:00:00"))) == 1


async def test_settling_what_is_no_longer_so_changes_nothing(ledger: Ledger, journal: Journal) -> None:
    replaced = row("06:00:00", OccurrenceStatus.SKIPPED, why="replaced")
    await claim(ledger, None, "06:00:00", replaced, runs=False)

    ran = row("06:00:00", OccurrenceStatus.RAN, run_id="nightly@06:00:00")
    assert not await ledger.settle(
        [row("06:00:00")], [ran], [run_of("06:00:00")], mark("nightly", "06:00:00", paused=True)
    )
    assert not await ledger.settle([row("05:00:00")], [ran])
    assert not await ledger.settle([], [ran])

    assert (await ledger.occurrences(), await ledger.marks()) == ([replaced], [])
    with pytest.raises(UnknownRunError):
        await journal.load(RunId("nightly@06:00:00"))


async def test_settling_may_set_a_mark(ledger: Ledger) -> None:
    await claim(ledger, None, "06:00:00", row("06:00:00"), runs=False)
    gone_on = mark("nightly", "06:30:00", paused=False)
    missed = row("06:00:00", OccurrenceStatus.MISSED, why="expired")

    assert await ledger.settle([row("06:00:00")], [missed], mark=gone_on)
    assert (await ledger.occurrences(), await ledger.marks()) == ([missed], [gone_on])


async def test_a_claim_may_put_a_row_in_the_place_of_another(ledger: Ledger) -> None:
    await claim(ledger, None, "06:00:00", row("06:00:00"), runs=False)
    replaced = row("06:00:00", OccurrenceStatus.SKIPPED, why="replaced")
    claiming = {"was": at("06:00:00"), "cursor": at("07:00:00"), "rows": [replaced, row("07:00:00")]}

    assert not await ledger.claim(NIGHTLY, HASH, **claiming)  # type: ignore[arg-type]
    assert not await ledger.claim(NIGHTLY, HASH, **claiming, instead_of=[replaced])  # type: ignore[arg-type]
    assert await ledger.claim(NIGHTLY, HASH, **claiming, instead_of=[row("06:00:00")])  # type: ignore[arg-type]
    assert await ledger.occurrences() == [row("07:00:00"), replaced]


async def test_what_waits_and_what_is_expected_is_found_oldest_first(ledger: Ledger) -> None:
    late = row("08:00:00", OccurrenceStatus.RAN, expect_at=at("08:10:00"), late_at=at("08:10:01"))
    soon = row("07:00:00", OccurrenceStatus.RAN, expect_at=at("07:10:00"))
    await claim(ledger, None, "08:00:00", late, row("07:30:00"), soon, row("06:00:00"), runs=False)

    assert await ledger.pending() == [row("06:00:00"), row("07:30:00")]
    assert await ledger.expected() == [soon]
    assert (soon.lateness, late.model_copy(update={"settled_at": at("08:01:00")}).lateness) == (
        None,
        timedelta(minutes=1),
    )


def version(clock: str, schedule: str = HASH, job: str = "nightly") -> ScheduleVersion:
    """Return which schedule a job has since then."""
    return ScheduleVersion(job=JobName(job), begun_at=at(clock), schedule=schedule, body="{}")


async def standing(ledger: Ledger) -> list[str]:
    """Return where schedules stand, in a few words."""
    return [f"{one.job} {one.schedule} {one.begun_at:%H:%M} {one.cursor:%H:%M}" for one in await ledger.standings()]


async def test_a_schedule_begins_once_and_its_cursor_goes_on(ledger: Ledger) -> None:
    await ledger.begin([])
    await ledger.begin([version("06:00:00"), version("06:00:00", job="weekly")])
    await claim(ledger, "06:00:00", "07:00:00")
    await ledger.begin([version("07:30:00")])

    assert await standing(ledger) == ["nightly every-hour 06:00 07:00", "weekly every-hour 06:00 06:00"]
    assert await ledger.versions(NIGHTLY) == [version("06:00:00")]


async def test_a_schedule_that_comes_back_begins_anew(ledger: Ledger) -> None:
    for each in (version("06:00:00"), version("06:30:00", ""), version("07:00:00"), version("08:00:00", "other")):
        await ledger.begin([each])
    assert await standing(ledger) == ["nightly other 08:00 08:00"]
    assert [each.schedule for each in await ledger.versions()] == [HASH, "", HASH, "other"]

    await ledger.begin([version("07:30:00")])  # The clock was set back.
    assert await standing(ledger) == ["nightly every-hour 07:30 07:30"]
    await ledger.begin([version("07:40:00", "")])
    assert await standing(ledger) == ["nightly  07:40 07:40"]


async def test_a_cursor_that_is_older_than_all_versions_is_kept(ledger: Ledger) -> None:
    await claim(ledger, None, "06:00:00")
    await ledger.begin([version("09:00:00")])

    assert await standing(ledger) == ["nightly every-hour 09:00 06:00"]


async def test_schedules_that_begin_in_two_services_at_once_begin_once(ledger: Ledger) -> None:
    await asyncio.gather(*(ledger.begin([version("06:00:00"), version("06:00:00", job="a")]) for _ in range(8)))

    assert len(await ledger.versions()) == 2


async def test_a_start_is_told_when_the_last_one_was(ledger: Ledger) -> None:
    assert [await ledger.started(at(clock)) for clock in ("06:00:00", "07:00:00", "06:30:00")] == [
        None,
        at("06:00:00"),
        at("07:00:00"),
    ]


async def test_a_stretch_of_misses_is_one_row(ledger: Ledger) -> None:
    stretch = row("06:00:00", OccurrenceStatus.MISSED, why="outside_window", until_at=at("09:00:00"), count=1_000_000)

    await claim(ledger, None, "09:00:00", stretch, runs=False)

    assert await ledger.occurrences(limit=1) == [stretch]


def mark(job: str, clock: str, *, paused: bool) -> JobMark:
    """Return what a person said about a job."""
    return JobMark(job=JobName(job), at=at(clock), paused=paused, by="ada", reason="the key is being changed")


async def test_of_a_jobs_marks_the_one_that_was_written_last_is_kept(ledger: Ledger) -> None:
    assert await ledger.marks() == []

    for each in (
        mark("weekly", "06:00:00", paused=True),
        mark("nightly", "07:00:00", paused=True),
        mark("nightly", "06:30:00", paused=False),  # The clock was set back.
    ):
        await ledger.mark(each)

    assert await ledger.marks() == [mark("nightly", "06:30:00", paused=False), mark("weekly", "06:00:00", paused=True)]
