"""A success that was expected and did not come is noticed and told, once, and so is its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from kova_auto.core.delivery.alert import AlertRaised
from kova_auto.core.delivery.notice import ScheduleNotice
from kova_auto.core.errors import JournalBusyError
from kova_auto.core.event import RunRequested
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.ledger import Occurrence
from kova_auto.core.pausing import JobMark
from tests.doubles.journal import MemoryJournal
from tests.scheduling.desks import HOURLY, Desk, at_each
from tests.support import at

EXPECTED = HOURLY + 'policy.expect_within = "15m"\n'


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    directory = tmp_path / "jobs"
    directory.mkdir()
    desk = Desk(directory)
    desk.write(EXPECTED)
    return desk


async def late(desk: Desk) -> list[tuple[str, datetime | None]]:
    """Return which rows are late since when."""
    rows = reversed(await desk.journal.occurrences())
    return [(f"{row.nominal_at:%H:%M}", row.late_at) for row in rows]


@pytest.mark.parametrize("outcome", [None, Outcome.FAILED])
async def test_a_run_that_has_not_succeeded_in_time_is_late_and_that_is_said_once(
    desk: Desk, caplog: pytest.LogCaptureFixture, outcome: Outcome | None
) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    if outcome:
        await desk.finish("07:00:00", outcome=outcome)
    desk.clock.instant = at("07:10:00")
    assert await scheduler.tick() == at("07:15:00")
    await at_each(desk, scheduler, "07:15:00", "07:15:30", "07:30:00")

    assert await late(desk) == [("07:00", at("07:15:00"))]
    (line,) = [line for line in caplog.messages if "late" in line]
    assert line.startswith(
        "nightly is late: no success came by 2026-12-01T07:15:00+00:00 for 2026-12-01T07:00:00+00:00"
    )


async def test_a_run_that_succeeds_in_time_is_not_late_however_late_one_looks(desk: Desk) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    desk.clock.instant = at("07:14:59")
    await desk.finish("07:00:00")
    await at_each(desk, desk.scheduler(), "07:40:00")

    assert await late(desk) == [("07:00", None)]
    assert await desk.journal.expected() == []


async def test_an_instant_that_no_run_could_meet_is_late_too_but_not_one_that_was_let_go(desk: Desk) -> None:
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "08:00:00", "08:20:00")
    await desk.mark("08:30:00", paused=True)
    await at_each(desk, scheduler, "09:00:00", "09:30:00")

    assert await late(desk) == [("07:00", at("08:00:00")), ("08:00", at("08:20:00")), ("09:00", None)]


async def told(desk: Desk) -> list[str]:
    """Return what endpoints are owed of schedules, oldest first."""
    rows = [row for row in reversed(await desk.journal.deliveries()) if row.cause == "alert"]
    return sorted(f"{row.owed_at:%H:%M} {row.endpoint} {row.run_id.removeprefix('nightly@20261201T')}" for row in rows)


async def notices(desk: Desk, alert_id: str) -> list[ScheduleNotice]:
    """Return what is told by an alert."""
    raised = [fact.notice for fact in await desk.journal.alert(RunId(alert_id)) if isinstance(fact, AlertRaised)]
    return [notice for notice in raised if isinstance(notice, ScheduleNotice)]


NOTIFIES = '[[notify]]\nendpoint = "ci"\nwhen = ["failed"]\n[[notify]]\nendpoint = "ops"\nwhen = "recovery"\n'


async def test_every_endpoint_is_told_once_that_a_run_is_late_whatever_outcomes_it_is_told_of(desk: Desk) -> None:
    desk.write(EXPECTED + NOTIFIES)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00")
    rung = desk.rung
    await at_each(desk, scheduler, "07:15:00", "07:15:30", "07:30:00")

    assert await told(desk) == ["07:15 ci 070000Z/late", "07:15 ops 070000Z/late"]
    (notice,) = await notices(desk, "nightly@20261201T070000Z/late")
    assert (notice.run_id, notice.became, notice.late_s) == ("nightly@20261201T070000Z", "its run is queued", 0.0)
    assert desk.rung == rung + 1


@pytest.mark.parametrize("kind", ["skip", "outside the window"])
async def test_an_instant_without_a_run_is_told_of_too(desk: Desk, kind: str) -> None:
    policy = 'policy.missed = "skip"\n' if kind == "skip" else 'policy.missed_window = "1m"\n'
    desk.write(EXPECTED + policy + NOTIFIES)
    await at_each(desk, desk.scheduler(), "06:30:00")
    await at_each(desk, desk.scheduler(), "07:20:00")

    assert await told(desk) == ["07:20 ci 070000Z/late", "07:20 ops 070000Z/late"]
    (notice,) = await notices(desk, "nightly@20261201T070000Z/late")
    assert (notice.run_id, notice.late_s) == ("", 300.0)
    assert notice.became in {"missed: policy.missed = skip", "missed: outside_window"}


async def test_a_success_that_comes_after_all_is_told_once_and_by_how_much_it_was_late(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    desk.write(EXPECTED + NOTIFIES)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "07:15:00", "07:20:00")
    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "07:20:01", "07:21:00", "08:00:00")
    await desk.finish("08:00:00")
    await at_each(desk, scheduler, "08:00:30", "08:20:00")

    assert (await told(desk))[2:] == ["07:20 ci 070000Z/recovered", "07:20 ops 070000Z/recovered"]
    (notice,) = await notices(desk, "nightly@20261201T070000Z/recovered")
    assert (notice.noticed_at, notice.late_s, notice.run_id) == (at("07:20:00"), 300.0, "nightly@20261201T070000Z")
    (row, _) = reversed(await desk.journal.occurrences())
    assert (row.late_at, row.recovered_at) == (at("07:15:00"), at("07:20:00"))
    assert "nightly has recovered, late by 5 min 0 s: run nightly@20261201T070000Z; told to ci, ops" in caplog.messages


async def test_one_success_ends_all_that_was_late_before_it_and_is_told_once(desk: Desk) -> None:
    desk.write(EXPECTED + NOTIFIES)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "07:20:00", "08:00:00", "08:20:00", "09:00:00", "09:10:00")
    await desk.finish("07:00:00")
    await at_each(desk, scheduler, "09:10:01")

    assert [line for line in await told(desk) if "ci" in line] == [
        "07:20 ci 070000Z/late",
        "08:20 ci 080000Z/late",
        "09:10 ci 070000Z/recovered",
    ]
    (notice,) = await notices(desk, "nightly@20261201T070000Z/recovered")
    assert (notice.count, notice.late_s) == (2, 115 * 60.0)
    assert await desk.journal.overdue() == []


async def test_a_run_that_fails_again_has_recovered_nothing(desk: Desk) -> None:
    desk.write(EXPECTED + NOTIFIES)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "07:15:00")
    await desk.finish("07:00:00", outcome=Outcome.FAILED)
    await at_each(desk, scheduler, "07:30:00", "08:00:00")

    assert len(await told(desk)) == 2
    assert [row.nominal_at for row in await desk.journal.overdue()] == [at("07:00:00")]


async def test_what_has_come_while_no_service_looked_is_told_at_the_next_start(desk: Desk) -> None:
    desk.write(EXPECTED + NOTIFIES)
    await at_each(desk, desk.scheduler(), "06:30:00", "07:00:00", "07:15:00")
    desk.clock.instant = at("07:40:00")
    await desk.finish("07:00:00")
    await at_each(desk, desk.scheduler(), "07:50:00")

    assert "07:40 ci 070000Z/recovered" in await told(desk)


async def test_a_recovery_that_could_not_be_written_is_written_by_the_next_pass(desk: Desk) -> None:
    desk.write(EXPECTED + NOTIFIES)
    desk.journal = BusySettling()
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "07:15:00")
    await desk.finish("07:00:00")
    desk.journal.is_busy = True
    await at_each(desk, scheduler, "07:20:00")
    assert len(await told(desk)) == 2

    desk.journal.is_busy = False
    await at_each(desk, scheduler, "07:25:00")
    assert len(await told(desk)) == 4


async def test_nobody_is_told_of_a_job_whose_file_is_broken_until_it_is_known_who_is_to_be(desk: Desk) -> None:
    desk.write(EXPECTED + NOTIFIES)
    await at_each(desk, desk.scheduler(), "06:30:00", "07:00:00")
    desk.write("what is this?\n")
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "07:20:00")
    assert (await told(desk), await late(desk)) == ([], [("07:00", None)])

    desk.write(EXPECTED + NOTIFIES)
    await at_each(desk, scheduler, "07:25:00")
    assert len(await told(desk)) == 2


async def test_a_row_that_waits_and_is_late_is_told_of_once_though_its_run_begins_afterwards(desk: Desk) -> None:
    desk.write(EXPECTED + 'policy.overlap = "queue"\n' + NOTIFIES)
    scheduler = desk.scheduler()
    await at_each(desk, scheduler, "06:30:00", "07:00:00", "07:20:00", "08:00:00", "08:20:00", "08:30:00")
    await desk.finish("07:00:00", outcome=Outcome.FAILED)
    await at_each(desk, scheduler, "08:40:00", "08:50:00")

    assert [line for line in await told(desk) if "ci" in line] == ["07:20 ci 070000Z/late", "08:20 ci 080000Z/late"]
    assert await late(desk) == [("07:00", at("07:20:00")), ("08:00", at("08:20:00"))]
    assert await desk.rows() == ["07:00 ran", "08:00 ran"]


async def test_two_services_tell_it_once(desk: Desk) -> None:
    desk.write(EXPECTED + NOTIFIES)
    one, two = desk.scheduler(), desk.scheduler()
    await at_each(desk, one, "06:30:00", "07:00:00")
    desk.clock.instant = at("07:15:00")
    await asyncio.gather(one.tick(), two.tick())

    assert len(await told(desk)) == 2


class BusySettling(MemoryJournal):
    """Settle nothing for as long as that is said."""

    is_busy = False

    async def settle(
        self,
        instead_of: Sequence[Occurrence],
        rows: Sequence[Occurrence],
        runs: Sequence[RunRequested] = (),
        mark: JobMark | None = None,
        alerts: Sequence[AlertRaised] = (),
    ) -> bool:
        if self.is_busy:
            message = "settle: no answer"
            raise JournalBusyError(message)
        return await super().settle(instead_of, rows, runs, mark, alerts)
