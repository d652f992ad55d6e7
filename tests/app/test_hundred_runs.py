"""A job's hundredth run is sent no more than its first: nothing piles up that nobody asked for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kova_auto.app.driving import drive_one
from kova_auto.core.context.digest import DIGEST_CHARS, EARLIER_RUNS
from kova_auto.core.estimate import CHARS, next_input
from kova_auto.core.ids import JobName, requested_run_id
from kova_auto.core.job import Outcome
from kova_auto.core.state import RunState
from tests.app.houses import Home
from tests.support import at

RUNS = 100
REPORT = "Seven of the tests are red, as they were yesterday; the oldest of them fails since the clock was changed. "
LOOKS = f"""
[[turns]]
text = "I look."
[[turns.calls]]
id = "notes"
tool = "read"
args = {{ file_path = "notes.txt" }}
[[turns]]
text = \"\"\"{{{{ results.notes.lines[0] }}}} {REPORT * 40}\"\"\"
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path.resolve())


async def hundred(home: Home, more: str) -> list[RunState]:
    """Run a job a hundred times, one after the other."""
    home.job("look", more, LOOKS)
    for path, text in {
        home.workspace / "notes.txt": "first line\n",
        home.workspace / "AGENTS.md": "Run the tests with make check.\n" * 20,
        home.workspace / ".kova/memory/MEMORY.md": "The tests live in tests/.\n" * 20,
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    states: list[RunState] = []
    async with home.house() as house:
        for number in range(RUNS):
            await house.control.request(home.ask("look", key=f"k{number}"))
            run = requested_run_id(JobName("look"), at("06:00:00"), f"k{number}")
            await drive_one(house, run, asyncio.Event())
            states.append(await house.store.journal.load(run))
    assert {state.finished.outcome for state in states if state.finished} == {Outcome.DONE}
    return states


def tokens(state: RunState) -> int:
    """Return what the run's last request and its answer came to."""
    return next_input(state)


async def test_run_a_hundred_is_sent_what_run_one_was(home: Home) -> None:
    states = await hundred(home, "")

    assert tokens(states[0]) > 2_000
    assert tokens(states[-1]) == pytest.approx(tokens(states[0]), rel=0.05)


async def test_with_a_memory_of_its_own_a_job_stays_in_bounded_space_however_often_it_has_run(home: Home) -> None:
    states = await hundred(home, '[context]\nmemory = ["workspace", "job"]\n')

    assert tokens(states[0]) < tokens(states[1])
    assert tokens(states[-1]) == pytest.approx(tokens(states[EARLIER_RUNS]), rel=0.05)
    assert tokens(states[-1]) < tokens(states[0]) + DIGEST_CHARS / CHARS + 50
    assert states[-1].context
    assert "Seven of the tests are red" in states[-1].context.system
