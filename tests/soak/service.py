"""A service that does runs of every kind, and weighs its process after each batch of them: PATH BATCHES RUNS."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from pathlib import Path

from kova_auto.app.house import House
from kova_auto.app.serving import serve
from kova_auto.core.delivery.signature import spell_secret
from kova_auto.core.owed import OPEN
from kova_auto.core.state import RunState
from kova_auto.engine.bells import Ear, heard
from tests.app.houses import UNCONFINED, Home
from tests.soak.weighing import Weight, weigh
from tests.support.chaos import Chaos, chaos

POLL_S = 0.1
WATCHES_S = 600

NOTIFY = '[[notify]]\nendpoint = "ci"\n'
SETTINGS = """
[endpoints.ci]
url = "{url}"
secret = {{ env = "HOOK" }}
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
"""
LOOKS = """
[[turns]]
text = "First I look."
[[turns.calls]]
id = "a"
tool = "read"
args = { file_path = "notes.txt" }
[[turns.calls]]
tool = "grep"
args = { pattern = "one", path = "." }
[[turns]]
text = "Then again."
[[turns.calls]]
tool = "glob"
args = { pattern = "*" }
[[turns.calls]]
tool = "todo"
args = { items = [{ subject = "look", status = "completed" }] }
[[turns]]
text = "Done: {{ results.a.line_count }} lines."
"""
MAKES = """
[[turns]]
text = "I clear up."
[[turns.calls]]
tool = "bash"
args = { command = "rm -f made.txt; seq 2000" }
[[turns]]
text = "I make."
[[turns.calls]]
tool = "write"
args = { file_path = "made.txt", content = "made" }
[[turns]]
text = "I edit."
[[turns.calls]]
tool = "edit"
args = { file_path = "made.txt", old_string = "made", new_string = "edited" }
[[turns]]
text = "Done."
"""
LEAVES = """
[[turns]]
text = "I leave something running."
[[turns.calls]]
tool = "bash"
args = { command = "sleep 600", run_in_background = true }
[[turns]]
text = "Done."
"""
REFUSED = """
[[turns]]
text = "I write."
[[turns.calls]]
tool = "write"
args = { file_path = "made.txt", content = "made" }
[[turns]]
text = "I was not allowed to."
"""
BREAKS_OFF = REFUSED.partition('[[turns]]\ntext = "I was')[0]
JOBS = {
    "looks": ("", LOOKS),
    "makes": (UNCONFINED, MAKES),
    "leaves": (UNCONFINED, LEAVES),
    "copies": ('isolation = "copy"\nautomation = "workspace-write"\n', LOOKS),
    "refused": ("", REFUSED),
    "breaks_off": ("", BREAKS_OFF),
}
ENDS = {
    "looks": "ok ok ok ok done",
    "makes": "ok ok ok done",
    "leaves": "ok done",
    "copies": "ok ok ok ok done",
    "refused": "denied done",
    "breaks_off": "denied failed",
}
"""What comes of each call of a job, and of its run."""
ROUND = ("looks", "makes", "looks", "copies", "looks", "leaves", "looks", "refused", "makes", "breaks_off")


@dataclass
class Service:
    """Hold a service that serves, and who is told."""

    home: Home
    house: House
    receiver: Chaos
    asked: int = 0

    async def does(self, runs: int) -> Weight:
        """Have so many runs done and told; return the weight of the process then."""
        for job in islice(cycle(ROUND), runs):
            await self.house.control.request(self.home.ask(job, key=f"{self.asked:05}"))
            self.asked += 1
        async with asyncio.timeout(WATCHES_S):
            with self.house.bells.hung(Ear.WORK) as bell:
                while await self._is_busy():
                    await heard(bell, POLL_S)
        return weigh()

    async def _is_busy(self) -> bool:
        views = self.house.store.views
        if self.house.engine.running or await views.runs(unfinished=True, limit=1):
            return True
        return any([await views.deliveries(status=status, limit=1) for status in OPEN])

    async def came_of(self) -> Counter[str]:
        """Return how often a run of a job ended so, its calls with these results."""
        rows = await self.house.store.views.runs(limit=self.asked + 1)
        states = [await self.house.store.journal.load(row.run_id) for row in rows]
        return Counter(f"{state.job.name}: {_results(state)}" for state in states)

    async def told(self) -> int:
        """Return how many results were delivered."""
        return len(await self.house.store.views.deliveries(status="delivered", limit=self.asked + 1))


@asynccontextmanager
async def served(path: Path) -> AsyncIterator[Service]:
    """Have a service with the jobs of this page."""
    async with chaos() as receiver:
        home = Home(path, {"HOOK": spell_secret(b"h" * 32)})
        home.settings(SETTINGS.format(url=receiver.url("/ci")))
        for name, (more, script) in JOBS.items():
            home.job(name, more + NOTIFY, script)
        (home.workspace / "notes.txt").write_text("one\ntwo\n")
        async with home.house() as house:
            stop = asyncio.Event()
            serving = asyncio.create_task(serve(house, stop))
            yield Service(home, house, receiver)
            stop.set()
            await serving


def _results(state: RunState) -> str:
    called = [str(call.result.status) for call in state.calls.values() if call.result]
    return " ".join([*called, str(state.finished.outcome if state.finished else "")])


def expected(runs: int) -> Counter[str]:
    """Return what comes of so many runs."""
    jobs = Counter(islice(cycle(ROUND), runs))
    return Counter({f"{job}: {ENDS[job]}": times for job, times in jobs.items()})


async def main(path: Path, batches: int, runs: int) -> None:
    """Write what the process weighs after each batch, and what came of all runs."""
    async with served(path) as service:
        weights = [await service.does(runs) for _ in range(batches)]
        came_of, heard_of = await service.came_of(), len(set(service.receiver.ids))
        told = await service.told()
    said = {"weights": [asdict(weight) for weight in weights], "came_of": came_of, "heard_of": heard_of, "told": told}
    print(json.dumps(said))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
