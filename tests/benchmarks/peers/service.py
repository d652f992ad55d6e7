"""One agent turn through the real service: opened in the journal, driven by the embedded engine, read from its view.

Nothing is switched off: SQLite as the settings open it, verdicts, ceilings, redaction of a configured key, streaming.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kova_auto.app.house import House, build
from kova_auto.core.ids import RunId
from kova_auto.core.job import Job
from kova_auto.engine.backends.embedded import Embedded
from kova_auto.engine.dispatch import Advanced
from kova_auto.scheduling.jobfiles import load_job
from kova_auto.settings.load import load_settings

PROMPT = "Read notes.txt and summarise it."
SLOTS = 1000
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
_JOB = f'prompt = "{PROMPT}"\nworkspace = "../work"\nmodel = "bench/m"\n'
_SETTINGS = """
data_dir = "{place}/data"
jobs_dir = "{place}/jobs"
max_concurrent_runs = {slots}
sqlite_synchronous = "{synchronous}"

[providers.bench]
protocol = "{protocol}"
base_url = "http://127.0.0.1:{port}/v1"
api_key = {{ env = "BENCH_KEY" }}
"""


class Service:
    """Hold one service whose single provider is a mock on loopback; use it as a context."""

    def __init__(self, place: Path, port: int, protocol: str, synchronous: str = "full") -> None:
        """Write what a user would: settings, a job, and the file that the model asks for."""
        self._place = place
        for name in ("work", "jobs"):
            (place / name).mkdir(parents=True)
        (place / "work" / "notes.txt").write_text("hello from the notes file\n")
        (place / "jobs" / "turn.toml").write_text(_JOB)
        settings = _SETTINGS.format(place=place, port=port, protocol=protocol, slots=SLOTS, synchronous=synchronous)
        (place / "kova-auto.toml").write_text(settings)
        self._turns = 0
        self._waiting: dict[RunId, asyncio.Future[Advanced]] = {}
        self._held = AsyncExitStack()
        self._house: House
        self._job: Job

    async def __aenter__(self) -> Service:
        """Build the service and let its runs go."""
        environ = {"HOME": str(self._place), "PATH": "/usr/bin:/bin", "BENCH_KEY": "sk-bench-0123456789abcdef"}
        self._house = house = await build(load_settings(self._place / "kova-auto.toml", environ), environ)
        self._held.push_async_callback(house.close)
        self._job = load_job(self._place / "jobs" / "turn.toml", timezone="UTC", endpoints=())
        stop = asyncio.Event()
        engine = Embedded(house.store.views, house.clock, house.bells)
        serving = asyncio.create_task(engine.serve(self._advance, slots=SLOTS, stop=stop))

        async def end() -> None:
            stop.set()
            await serving

        self._held.push_async_callback(end)
        return self

    async def __aexit__(self, *_: object) -> None:
        """End it and let go of the database."""
        await self._held.aclose()

    async def turn(self) -> str:
        """Open a run for the next instant of a schedule, wait for its end, and return its answer."""
        self._turns += 1
        opened = await self._house.opening.of_occurrence(self._job, _FIRST + timedelta(minutes=self._turns))
        ended = self._waiting[opened.run_id] = asyncio.get_running_loop().create_future()
        await self._house.store.journal.open(opened)
        self._house.bells.work()
        await ended
        row = await self._house.store.views.run(opened.run_id)
        if row is None or row.outcome != "done":
            msg = f"a turn went wrong: {row}"
            raise RuntimeError(msg)
        return row.answer_excerpt

    async def _advance(self, run_id: RunId) -> Advanced:
        advanced = await self._house.engine.advance(run_id)
        if (waiting := self._waiting.pop(run_id, None)) and not waiting.done():
            waiting.set_result(advanced)
        return advanced
