"""A run that breaks again and again comes to an end, and its worker goes on with others."""

from __future__ import annotations

import asyncio

from kova_auto.core.event import StopRequested
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.engine.dispatch import Advanced
from kova_auto.engine.giving_up import TRIES
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

REPLIES = (says("Hm.", call("change"), call("look")), says("Done."))
FULL = a_job(automation="full")
HOW = "it could not be brought to its end in good order: internal error: PermissionError"


async def _advance_until_done(stage: Stage) -> int:
    """Return how often one worker has to be called."""
    engine = stage.engine(*REPLIES)
    for times in range(1, 10):
        if await engine.advance(RUN) is Advanced.DONE:
            return times
    message = "the run never ends"
    raise AssertionError(message)


async def test_a_run_whose_very_end_breaks_is_ended_from_its_facts() -> None:
    stage = Stage()
    stage.hands.broken = stage.hands.stuck = frozenset({"change"})
    await stage.opened(job=FULL)

    assert await _advance_until_done(stage) == TRIES + 1
    assert await stage.ended() == (Outcome.FAILED, f"internal error: ZeroDivisionError; {HOW}")
    assert await stage.statuses() == [ResultStatus.UNKNOWN, ResultStatus.CANCELLED]


async def test_a_cancelled_run_whose_end_breaks_is_still_a_cancelled_one() -> None:
    stage = Stage()
    stage.hands.waits = stage.hands.stuck = frozenset({"change"})
    await stage.opened(job=FULL)
    engine = stage.engine(*REPLIES)
    driving = asyncio.create_task(engine.advance(RUN))
    await stage.hands.working.wait()
    stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
    await stage.journal.append(await stage.journal.load(RUN), stop)
    stage.bells.asked(RUN)

    assert [await driving, *[await engine.advance(RUN) for _ in range(TRIES)]] == [Advanced.BUSY] * TRIES + [
        Advanced.DONE
    ]
    assert await stage.ended() == (Outcome.CANCELLED, f"enough; {HOW}")


async def test_an_end_that_breaks_only_once_is_brought_about_in_good_order() -> None:
    stage = Stage()
    stage.hands.broken = stage.hands.stuck = frozenset({"change"})
    await stage.opened(job=FULL)
    engine = stage.engine(*REPLIES)
    assert [await engine.advance(RUN), await engine.advance(RUN)] == [Advanced.BUSY, Advanced.BUSY]

    stage.hands.stuck = frozenset()
    assert await engine.advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.FAILED, "internal error: ZeroDivisionError")
    assert stage.hands.recovered == ["1.1 change"]
