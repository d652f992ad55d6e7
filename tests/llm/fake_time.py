"""Time that passes only when told."""

from __future__ import annotations

import asyncio

from kova_auto.llm.breaker import Timer


class FakeTime:
    """Let those who sleep wake when their time has come."""

    def __init__(self) -> None:
        self.at = 1_000.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    @property
    def timer(self) -> Timer:
        return Timer(lambda: self.at, self.sleep)

    async def sleep(self, seconds: float) -> None:
        done = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.at + seconds, done))
        await done

    async def passes(self, seconds: float) -> None:
        self.at += seconds
        for wakes_at, done in self._sleepers:
            if wakes_at <= self.at and not done.done():
                done.set_result(None)
        await settled()


async def settled() -> None:
    """Let every task go as far as it can."""
    for _ in range(20):
        await asyncio.sleep(0)
