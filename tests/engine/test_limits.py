"""A ceiling ends what is under way, and then the run comes to its end whatever that takes."""

from __future__ import annotations

import asyncio

from kova_auto.core.event import StopRequested
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.state import RunState
from kova_auto.engine.bells import Ear
from kova_auto.engine.dispatch import Advanced
from tests.doubles.model import Endless
from tests.engine.worlds import RUN, Stage
from tests.support import a_job, call, says

A_MINUTE = a_job(limits={"timeout": "1m"})


class SlowlyMade(Stage):
    """Make what a run works in for fifty seconds, or without end."""

    endless = False

    async def _prepare(self, _: RunState) -> tuple[str, ...]:
        self.clock.later(50)
        if self.endless:
            await asyncio.Event().wait()
        return ()


async def test_a_tool_that_outlasts_the_limit_is_cut_off_and_the_run_ends() -> None:
    stage = Stage()
    stage.hands.waits = frozenset({"look"})
    await stage.opened(job=A_MINUTE)
    driving = asyncio.create_task(stage.advance(says("Hm.", call("look"))))
    await stage.hands.working.wait()
    stage.clock.later(61)
    stage.bells.asked(RUN)

    assert await driving is Advanced.DONE
    assert await stage.ended() == (Outcome.TIMED_OUT, "its limit of 1m running time is reached")
    assert await stage.statuses() == [ResultStatus.UNKNOWN]
    assert stage.hands.settled == [RUN]


async def test_a_model_that_never_stops_is_closed_at_the_limit() -> None:
    stage, model = Stage(), Endless()
    await stage.opened(job=A_MINUTE)
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await model.spoke.wait()
    stage.clock.later(61)
    stage.bells.asked(RUN)

    assert await driving is Advanced.DONE
    assert await stage.ended() == (Outcome.TIMED_OUT, "its limit of 1m running time is reached")
    assert model.closed


async def test_a_limit_of_which_nothing_is_left_starts_no_further_step() -> None:
    stage = Stage()
    await stage.opened(job=A_MINUTE)
    engine = stage.engine(says("Hm.", call("look"), call("look")))
    stage.hands.meanwhile = lambda: stage.clock.later(61)

    assert await engine.advance(RUN) is Advanced.DONE
    assert await stage.ended() == (Outcome.TIMED_OUT, "its limit of 1m running time is reached")
    assert stage.hands.done == ["1.1 look"]
    assert await stage.statuses() == [ResultStatus.OK, ResultStatus.CANCELLED]


async def test_a_stop_does_not_cut_off_the_end_that_it_asked_for() -> None:
    stage = Stage()
    stage.hands.waits = frozenset({"look"})
    await stage.opened()
    driving = asyncio.create_task(stage.advance(says("Hm.", call("look"))))
    await stage.hands.working.wait()
    stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
    await stage.journal.append(await stage.journal.load(RUN), stop)
    stage.hands.meanwhile = lambda: stage.bells.asked(RUN)
    stage.bells.asked(RUN)

    assert await driving is Advanced.DONE
    assert await stage.ended() == (Outcome.CANCELLED, "enough")
    assert stage.hands.settled == [RUN]


async def test_time_in_which_the_machine_slept_is_not_running_time() -> None:
    stage = Stage()
    await stage.opened(job=A_MINUTE)
    stage.hands.meanwhile = lambda: stage.clock.jumps(7200)

    assert await stage.advance(says("Hm.", call("look")), says("Done.")) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")
    assert "clock_moved" in await stage.kinds()
    assert (await stage.journal.load(RUN)).ran_s == 0.0


async def test_a_clock_that_is_set_back_gives_no_time() -> None:
    stage = Stage()
    stage.hands.waits = frozenset({"look"})
    await stage.opened(job=A_MINUTE)
    driving = asyncio.create_task(stage.advance(says("Hm.", call("look"))))
    await stage.hands.working.wait()
    for _ in range(2):
        stage.clock.later(31)
        stage.clock.jumps(-3600)
    stage.bells.asked(RUN)

    assert await driving is Advanced.DONE
    assert await stage.ended() == (Outcome.TIMED_OUT, "its limit of 1m running time is reached")
    assert (await stage.journal.load(RUN)).ran_s == 62.0


async def test_a_clock_that_drifts_a_little_is_taken_as_it_is() -> None:
    stage = Stage()
    await stage.opened(job=A_MINUTE)
    stage.hands.meanwhile = lambda: stage.clock.jumps(1)

    await stage.advance(says("Hm.", call("look")), says("Done."))
    assert "clock_moved" not in await stage.kinds()


async def test_the_limit_begins_once_what_the_run_works_in_is_made() -> None:
    stage = SlowlyMade()
    await stage.opened(job=A_MINUTE)
    stage.hands.meanwhile = lambda: stage.clock.later(50)

    assert await stage.advance(says("Hm.", call("look")), says("Done.")) is Advanced.DONE
    assert await stage.ended() == (Outcome.DONE, "")


async def test_what_is_never_made_is_given_up_at_the_limit_before_a_model_is_asked() -> None:
    stage = SlowlyMade()
    stage.endless = True
    await stage.opened(job=A_MINUTE)
    with stage.bells.hung(Ear.FOLLOW, RUN) as taken:
        driving = asyncio.create_task(stage.advance(says("Hm.")))
        await taken.wait()
    stage.clock.later(61)
    stage.bells.asked(RUN)

    assert await driving is Advanced.DONE
    assert await stage.ended() == (Outcome.TIMED_OUT, "its limit of 1m running time is reached")
    assert (await stage.journal.load(RUN)).model_calls == 0
