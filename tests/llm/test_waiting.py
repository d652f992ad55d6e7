"""One timer for all the waits of a call: it ends the wait that takes too long, and nothing else."""

from __future__ import annotations

import asyncio
from contextlib import closing, suppress

import pytest

from kova_auto.core.provider import Timeouts
from kova_auto.llm.waiting import Waiting


def short(**seconds: float) -> Waiting:
    """Return clocks that have an hour each, but for those that are named."""
    return Waiting(Timeouts(**{"first_token_s": 3600, "idle_s": 3600, **seconds}))


async def never() -> None:
    """Wait for what does not come."""
    await asyncio.Event().wait()


async def soon() -> str:
    """Give something after others had their turn."""
    await asyncio.sleep(0)
    return "piece"


async def test_what_comes_in_time_is_given() -> None:
    with closing(short()) as clock:
        assert [await clock.wait(soon()) for _ in range(3)] == ["piece"] * 3


async def test_waiting_too_long_for_the_first_piece_says_so() -> None:
    with closing(short(first_token_s=0.01)) as clock:
        with pytest.raises(TimeoutError):
            await clock.wait(never())

        assert clock.complaint == "sent nothing new for 0.01 s"


async def test_the_time_between_pieces_may_be_shorter_than_that_before_the_first() -> None:
    with closing(short(idle_s=0.01)) as clock:
        await clock.wait(soon())
        clock.progressed()
        with pytest.raises(TimeoutError):
            await clock.wait(never())


async def test_a_timer_that_was_set_for_an_earlier_wait_ends_no_later_one() -> None:
    with closing(short(first_token_s=0.3, idle_s=3600)) as clock:
        await clock.wait(soon())
        clock.progressed()
        waiting = asyncio.ensure_future(clock.wait(never()))
        done, _ = await asyncio.wait({waiting}, timeout=0.4)

        assert not done
        waiting.cancel()
        await asyncio.wait({waiting})


async def test_the_whole_may_take_no_longer_than_its_own_clock_allows() -> None:
    with closing(short(total_s=0.01)) as clock:
        with pytest.raises(TimeoutError):
            await clock.wait(never())

        assert clock.complaint == "did not finish its answer within 0.01 s"


async def test_being_cancelled_is_no_timeout() -> None:
    with closing(short()) as clock:
        waiting = asyncio.ensure_future(clock.wait(never()))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait({waiting})

        assert waiting.cancelled()


async def test_who_waited_in_vain_can_wait_again() -> None:
    with closing(short(first_token_s=0.01)) as clock:
        with pytest.raises(TimeoutError):
            await clock.wait(never())
        clock.progressed()

        assert await clock.wait(soon()) == "piece"
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0


async def test_what_is_done_in_spite_of_the_timer_counts() -> None:
    async def stubborn() -> str:
        with suppress(asyncio.CancelledError):
            await never()
        return "all the same"

    with closing(short(first_token_s=0.01)) as clock:
        assert await clock.wait(stubborn()) == "all the same"
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
