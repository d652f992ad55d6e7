"""A journal that does not answer costs time, and nothing that was done or paid for."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import Event, StopRequested
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.engine.dispatch import Advanced
from tests.doubles.flaky import FlakyJournal
from tests.doubles.model import ScriptedModel
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

REPLIES = (says("Hm.", call("run", command="ls")), says("Done."))
SHORT = timedelta(milliseconds=30)
FOR_EVER = 10**9
KINDS = (
    "context_assembled",
    "model_call_started",
    "model_replied",
    "call_adjudicated",
    "call_started",
    "process_started",
    "call_finished",
    "run_finished",
)


async def _stage() -> tuple[Stage, FlakyJournal]:
    journal = FlakyJournal()
    stage = Stage(journal=journal, lease=SHORT)
    await stage.opened(job=a_job(automation="full"))
    await journal.acquire(RUN, worker="before", now=stage.clock.now(), lease=SHORT)
    await journal.release(RUN, epoch=1)  # Who has it for the first time writes the first facts as it takes it.
    return stage, journal


@pytest.mark.parametrize("kind", KINDS)
async def test_a_fact_is_written_as_soon_as_the_journal_answers(kind: str) -> None:
    stage, journal = await _stage()
    journal.faults[kind] = 3
    model = ScriptedModel(*REPLIES)

    assert await stage.engine(model=model).advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
    assert (stage.hands.done, len(model.requests)) == (["1.1 run"], 2)
    assert await stage.statuses() == [ResultStatus.OK]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_fact_whose_writer_was_not_told_so_is_written_once(kind: str) -> None:
    stage, journal = await _stage()
    journal.unheard[kind] = 1

    assert await stage.advance(*REPLIES) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
    assert stage.hands.done == ["1.1 run"]
    written = Counter(await stage.kinds())
    assert {known for known, times in written.items() if times > 1} <= {
        "run_acquired",
        "model_call_started",
        "model_replied",
        "process_started",
    }


async def test_a_tool_at_work_is_not_disturbed_by_a_journal_that_does_not_answer() -> None:
    stage, journal = await _stage()
    stage.hands.waits = frozenset({"run"})
    driving = asyncio.create_task(stage.advance(*REPLIES))
    await stage.hands.working.wait()
    journal.faults["events"] = 2
    stage.bells.asked(RUN)
    await journal.wait_for("events", 3)
    stage.hands.goes_on.set()

    assert await driving is Advanced.DONE
    assert (stage.hands.done, stage.hands.left) == (["1.1 run"], [])


async def test_a_result_that_cannot_be_written_is_told_as_unknown_by_the_next_try() -> None:
    stage, journal = await _stage()
    journal.faults.update({"call_finished": FOR_EVER, "renew": FOR_EVER})
    stage.hands.meanwhile = lambda: stage.clock.later(1)

    assert await stage.advance(*REPLIES) is Advanced.BUSY
    journal.faults.clear()
    assert await stage.advance(*REPLIES) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
    assert await stage.statuses() == [ResultStatus.UNKNOWN]
    assert stage.hands.done == ["1.1 run"]


async def test_a_service_that_stops_does_not_wait_for_the_journal() -> None:
    stage, journal = await _stage()
    stage.lease = timedelta(hours=1)
    journal.faults["call_finished"] = FOR_EVER
    engine = stage.engine(*REPLIES)
    driving = asyncio.create_task(engine.advance(RUN))
    await journal.wait_for("call_finished", 1)
    engine.stopping.gently.set()
    engine.stopping.now.set()

    assert await driving is Advanced.BUSY


@pytest.mark.parametrize("kind", KINDS[:-1])
async def test_a_stop_that_comes_just_before_a_fact_ends_the_run_in_good_order(kind: str) -> None:
    stage, journal = await _stage()
    journal.overtakes[kind] = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")

    assert await stage.advance(*REPLIES) is Advanced.DONE
    assert await stage.ended() == (Outcome.CANCELLED, "enough")
    assert stage.hands.settled == [RUN]


async def test_a_fact_that_can_never_follow_ends_the_run_as_failed() -> None:
    stage, journal = await _stage()

    def refuse(run_id: RunId, event: Event) -> None:
        if event.kind == "context_assembled":
            message = "it cannot follow"
            raise IllegalEventError(message)

    journal.before_append = refuse
    engine = stage.engine(*REPLIES)

    assert await engine.advance(RUN) is Advanced.BUSY
    assert await engine.advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.FAILED, "internal error: it cannot follow")
