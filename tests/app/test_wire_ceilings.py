"""What many calls, many runs and many jobs cost and carry, against a server that counts them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from kova_auto.app.control import Listener
from kova_auto.app.house import House
from kova_auto.app.serving import _book, _scheduler, deliver_one
from kova_auto.core.delivery.signature import parse_secret, spell_secret
from kova_auto.core.event import ModelCallStarted
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.delivery.receiver import Receiver
from kova_auto.engine.backends.embedded import Embedded
from kova_auto.engine.dispatch import Advanced
from kova_auto.scheduling.jobfiles import load_job
from tests.app.houses import Home
from tests.app.wire_runs import TONGUES, driven, written
from tests.doubles.clock import HandClock
from tests.llm.chat_stream import DONE, calls, delta, fragment, sse, usage
from tests.llm.fault_server import Answer, serving, streams
from tests.support import at

CHAT = TONGUES["openai-chat"]
SECRET = spell_secret(bytes(range(32)))
JOBS = [f"job-{number:02}" for number in range(20)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def goes_on(number: int) -> Answer:
    """Ask for one more file; with 5,000 tokens read and 1,000 written, for 0.08 USD."""
    asked = fragment(json.dumps({"file_path": f"{number}.txt"}), index=0, id=f"call_{number}", name="read")
    return streams(
        sse(delta(content=f"I look at {number}."), calls(asked), delta("tool_calls"), usage(5000, 1000), DONE)
    )


@pytest.mark.parametrize(("ceiling", "asked"), [(0.10, 1), (0.50, 6)])
async def test_a_model_that_never_stops_is_stopped_before_its_money_is_spent(
    home: Home, ceiling: float, asked: int
) -> None:
    clock = HandClock()
    async with serving(*map(goes_on, range(20))) as server, Receiver((parse_secret(SECRET),), clock.now) as receiver:
        limits = f"[limits]\ncost_usd = {ceiling}\n"
        written(home, server.port, "openai-chat", limits, "{ input = 4.0, output = 60.0 }")
        async with home.house(clock) as house:
            listener = Listener(name="listen", url=receiver.url, secret=SECRET)
            row = await house.control.request(home.ask("asks", listener=listener))
            await driven(house, clock, row.run_id)
            await deliver_one(house, row.run_id, patience=timedelta(seconds=20))
            (received,) = await receiver.wait_for(1)
            state = await house.store.journal.load(row.run_id)
            events = [event for _, event in await house.store.journal.events(row.run_id)]

    assert (state.finished is not None, len(server.requests)) == (True, asked)
    assert state.usage.cost_usd == pytest.approx(0.08 * asked)
    assert [event.hurries for event in events if isinstance(event, ModelCallStarted)][-1] is (asked > 1)
    data = json.loads(received.body)["data"]
    assert (data["outcome"], data["partial"]) == ("budget_exceeded", True)
    assert data["answer"] == f"I look at {asked - 1}."
    assert f"limits.cost_usd = {ceiling:g}" in data["reason"]


async def test_the_hundredth_run_of_a_job_is_told_what_the_first_was(home: Home) -> None:
    clock = HandClock()
    async with serving(streams(CHAT.says("Well."))) as server:
        written(home, server.port, "openai-chat", 'schedule.cron = "* * * * *"\n')
        job = load_job(home.jobs / "asks.toml")
        async with home.house(clock) as house:
            for _ in range(100):
                opened = await house.opening.of_occurrence(job, clock.now())
                await house.store.journal.open(opened)
                assert await house.engine.advance(opened.run_id) is Advanced.DONE
                clock.later(60)

    sizes = [len(json.dumps(request.body)) for request in server.requests]
    assert len(sizes) == 100
    assert sizes[99] == pytest.approx(sizes[0], rel=0.05)
    assert {len(request.body["messages"]) for request in server.requests} == {2}


@dataclass
class Few:
    """Be a provider that takes three calls at once and refuses a fourth; it answers nobody before it is `open`.

    Attributes:
        most: How many there were at once.
    """

    port: int = 0
    open: asyncio.Event = field(default_factory=asyncio.Event)
    now: int = 0
    most: int = 0
    answered: int = 0
    refused: int = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0]))
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now > 3:
            self.refused += 1
            self._say(writer, "429 Too Many Requests", "application/json", b"{}")
        else:
            await self.open.wait()
            self.answered += 1
            self._say(writer, "200 OK", "text/event-stream", CHAT.says("Well."))
        self.now -= 1
        await writer.drain()
        writer.close()

    def _say(self, writer: asyncio.StreamWriter, status: str, kind: str, body: bytes) -> None:
        lines = (f"HTTP/1.1 {status}", f"content-type: {kind}", f"content-length: {len(body)}", "connection: close")
        writer.write("\r\n".join((*lines, "", "")).encode() + body)


@asynccontextmanager
async def few() -> AsyncIterator[Few]:
    provider = Few()
    listener = await asyncio.start_server(provider.answer, "127.0.0.1", 0)
    provider.port = listener.sockets[0].getsockname()[1]
    try:
        yield provider
    finally:
        listener.close()


async def everybody_asks(house: House, provider: Few) -> None:
    """Wait until every run has announced its call and three of them have come through, then a good while longer."""
    rows = await house.store.views.runs()
    for _ in range(5):
        asking = False
        while not provider.refused and not (asking and provider.now == 3):
            asking = all([(await house.store.journal.load(row.run_id)).calling for row in rows])
    provider.open.set()


async def test_twenty_jobs_of_one_minute_share_a_provider_that_takes_three(home: Home) -> None:
    clock, stop = HandClock(at("05:59:00")), asyncio.Event()
    begun: list[RunId] = []
    async with few() as provider:
        for name in reversed(JOBS):
            home.job(name, 'model = "here/m-1"\nschedule.cron = "0 * * * *"\n', script=None)
        home.settings(f'[providers.here]\nbase_url = "http://127.0.0.1:{provider.port}/v1"\nmax_concurrent = 3\n')
        async with home.house(clock) as house:
            scheduler = _scheduler(house, _book(house))
            await scheduler.tick()
            clock.later(60)
            await scheduler.tick()

            async def advance(run_id: RunId) -> Advanced:
                begun.append(run_id)
                advanced = await house.engine.advance(run_id)
                if advanced is not Advanced.DONE or not await house.store.views.runs(unfinished=True):
                    stop.set()
                return advanced

            engine = Embedded(house.store.views, clock, house.bells)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(engine.serve(advance, slots=len(JOBS), stop=stop))
                tasks.create_task(everybody_asks(house, provider))
            rows = await house.store.views.runs()

    assert [row.outcome for row in rows] == [Outcome.DONE] * len(JOBS)
    assert begun == [f"{name}@20261201T060000Z" for name in JOBS]
    assert (provider.answered, provider.refused, provider.most) == (20, 0, 3)
