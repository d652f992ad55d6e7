"""Who may advance a run: the holder of its lease, for as long as it can be kept."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.engine.dispatch import Advanced
from tests.doubles.flaky import FlakyJournal
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

REPLIES = (says("Hm.", call("change")), says("Done."))
SHORT = timedelta(milliseconds=6)
FOR_EVER = 10**9


async def _at_work(stage: Stage) -> asyncio.Task[Advanced]:
    stage.lease, stage.hands.waits = SHORT, frozenset({"change"})
    await stage.opened(job=a_job(automation="full"))
    driving = asyncio.create_task(stage.advance(*REPLIES))
    await stage.hands.working.wait()
    return driving


async def test_a_tool_is_cut_off_when_somebody_else_has_taken_the_run() -> None:
    stage = Stage(journal=FlakyJournal())
    driving = await _at_work(stage)
    stage.clock.later(1)
    await stage.journal.acquire(RUN, worker="two", now=stage.clock.now(), lease=timedelta(seconds=30))

    assert await driving is Advanced.SUPERSEDED
    assert (stage.hands.left, stage.hands.done) == (["1.1"], [])
    assert (await stage.journal.load(RUN)).epoch == 2


async def test_a_lease_is_extended_again_after_the_journal_did_not_answer() -> None:
    journal = FlakyJournal()
    stage = Stage(journal=journal)
    driving = await _at_work(stage)
    journal.faults["renew"] = 2
    await journal.wait_for("renew", 4)

    stage.hands.goes_on.set()
    assert await driving is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
    assert await stage.statuses() == [ResultStatus.OK]


async def test_a_worker_that_cannot_extend_its_lease_lets_go_when_it_is_over() -> None:
    journal = FlakyJournal()
    stage = Stage(journal=journal)
    driving = await _at_work(stage)
    journal.faults["renew"] = FOR_EVER
    await journal.wait_for("renew", 2)
    assert not driving.done()

    stage.clock.later(1)
    assert await driving is Advanced.BUSY
    assert (stage.hands.left, stage.hands.done) == (["1.1"], [])


async def test_a_lease_that_cannot_be_given_back_spoils_no_ended_run() -> None:
    journal = FlakyJournal()
    stage = Stage(journal=journal)
    await stage.opened(job=a_job(automation="full"))
    journal.faults["release"] = 1

    assert await stage.advance(*REPLIES) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
