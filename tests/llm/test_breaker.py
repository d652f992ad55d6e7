"""Calls that wait their turn while a provider rests."""

from __future__ import annotations

import asyncio

import pytest

from kova_auto.core.errors import ModelError, ModelRefusedError, ModelUnavailableError
from kova_auto.core.fault import Fault
from kova_auto.llm.breaker import Breaker
from tests.llm.fake_time import FakeTime, settled


class Provider:
    """Answer as told, and count who asked."""

    def __init__(self, time: FakeTime) -> None:
        self.time, self.breaker = time, Breaker("acme", time.timer)
        self.asked = 0
        self.answers: list[asyncio.Future[None]] = []

    async def call(self) -> None:
        async with self.breaker.turn() as turn:
            self.asked += 1
            answer = asyncio.get_running_loop().create_future()
            self.answers.append(answer)
            await answer
            turn.answered()

    async def begins(self, count: int = 1) -> list[asyncio.Task[None]]:
        tasks = [asyncio.ensure_future(self.call()) for _ in range(count)]
        await settled()
        return tasks

    async def answers_last(self, exc: ModelError | None = None) -> None:
        if exc is None:
            self.answers[-1].set_result(None)
        else:
            self.answers[-1].set_exception(exc)
        await settled()

    async def fails(self, exc: ModelError) -> None:
        (task,) = await self.begins()
        await self.answers_last(exc)
        assert task.exception() is exc

    async def succeeds(self) -> None:
        (task,) = await self.begins()
        await self.answers_last()
        assert task.result() is None


def busy(retry_after_s: float | None = None, fault: Fault = Fault.RATE_LIMITED) -> ModelUnavailableError:
    return ModelUnavailableError("busy", fault=fault, retry_after_s=retry_after_s)


def lost() -> ModelUnavailableError:
    return ModelUnavailableError("lost", fault=Fault.NETWORK)


@pytest.fixture
def provider() -> Provider:
    return Provider(FakeTime())


async def test_a_busy_provider_is_left_alone_for_as_long_as_it_asked(provider: Provider) -> None:
    await provider.fails(busy(30))
    (task,) = await provider.begins()
    await provider.time.passes(29)
    assert provider.asked == 1
    await provider.time.passes(1)
    assert provider.asked == 2
    await provider.answers_last()
    assert task.done()


@pytest.mark.parametrize("fault", [Fault.RATE_LIMITED, Fault.OVERLOADED])
async def test_a_long_rest_is_not_waited_for_and_nothing_is_asked(provider: Provider, fault: Fault) -> None:
    await provider.fails(busy(10_800, fault))
    await provider.time.passes(800)
    (task,) = await provider.begins()
    error = task.exception()
    assert isinstance(error, ModelUnavailableError)
    assert (error.fault, error.retry_after_s, provider.asked) == (fault, 10_000, 1)
    assert str(error) == f"acme is not to be asked for another 10000 s: {fault}"


async def test_a_provider_that_asks_for_ever_is_looked_at_again_after_a_day(provider: Provider) -> None:
    await provider.fails(busy(1e9))
    await provider.time.passes(86_400)
    await provider.succeeds()
    await provider.succeeds()


async def test_a_busy_answer_without_a_time_rests_nobody(provider: Provider) -> None:
    await provider.fails(busy())
    await provider.succeeds()


async def test_five_failures_in_a_row_rest_everybody(provider: Provider) -> None:
    for _ in range(4):
        await provider.fails(lost())
    await provider.succeeds()
    for _ in range(5):
        await provider.fails(lost())
    await provider.begins()
    assert provider.asked == 10
    await provider.time.passes(5)
    assert provider.asked == 11


async def test_refusals_are_no_failures_of_the_provider(provider: Provider) -> None:
    for _ in range(9):
        await provider.fails(ModelRefusedError("no", fault=Fault.INVALID))
    await provider.succeeds()


async def test_one_goes_first_and_fifty_follow_when_it_was_answered(provider: Provider) -> None:
    await provider.fails(busy(10))
    await provider.begins(51)
    await provider.time.passes(10)
    assert provider.asked == 2
    await provider.answers_last()
    assert provider.asked == 52


async def test_content_is_answer_enough_for_those_who_wait(provider: Provider) -> None:
    await provider.fails(busy(10))
    await provider.time.passes(10)
    async with provider.breaker.turn() as first:
        await provider.begins(3)
        assert provider.asked == 1
        first.answered()
        await settled()
        assert provider.asked == 4


async def test_a_first_one_that_fails_begins_a_longer_rest(provider: Provider) -> None:
    for _ in range(5):
        await provider.fails(lost())
    for rest in (5, 10, 20, 40, 60, 60):
        await provider.time.passes(rest - 1)
        asked = provider.asked
        (task,) = await provider.begins()
        assert provider.asked == asked
        await provider.time.passes(1)
        assert provider.asked == asked + 1
        await provider.answers_last(lost())
        assert task.done()


async def test_a_first_one_that_fails_lets_nobody_follow(provider: Provider) -> None:
    await provider.fails(busy(10))
    tasks = await provider.begins(10)
    await provider.time.passes(10)
    await provider.answers_last(busy(200))
    failures = [task.exception() for task in tasks]
    assert [error.retry_after_s for error in failures if isinstance(error, ModelError)] == [200] * 10
    assert provider.asked == 2


async def test_a_first_one_that_goes_away_makes_room_for_the_next(provider: Provider) -> None:
    await provider.fails(busy(10))
    tasks = await provider.begins(2)
    await provider.time.passes(10)
    assert provider.asked == 2
    tasks[0].cancel()
    await settled()
    assert (tasks[0].cancelled(), provider.asked) == (True, 3)


async def test_whoever_waits_can_be_cancelled_at_once(provider: Provider) -> None:
    await provider.fails(busy(10))
    (task,) = await provider.begins()
    task.cancel()
    await settled()
    assert (task.cancelled(), provider.asked) == (True, 1)


async def test_nobody_waits_for_ever_for_the_first_one(provider: Provider) -> None:
    await provider.fails(busy(10))
    _, waiting = await provider.begins(2)
    await provider.time.passes(10)
    await provider.time.passes(50)
    error = waiting.exception()
    assert isinstance(error, ModelUnavailableError)
    assert (error.fault, error.retry_after_s) == (Fault.RATE_LIMITED, None)
    assert str(error) == "acme is being tried by another call: rate_limited"


async def test_a_first_one_that_ends_late_does_not_end_a_newer_rest(provider: Provider) -> None:
    await provider.fails(busy(10))
    await provider.time.passes(10)
    async with provider.breaker.turn() as first:
        first.answered()
        await provider.fails(busy(100))
    (task,) = await provider.begins()
    assert isinstance(task.exception(), ModelUnavailableError)
    assert provider.asked == 2


async def test_the_event_loops_own_time_is_used_where_nobody_gave_another() -> None:
    breaker = Breaker("acme")
    with pytest.raises(ModelUnavailableError):
        async with breaker.turn():
            raise busy(0.001)
    async with breaker.turn() as turn:
        assert turn.goes_first
