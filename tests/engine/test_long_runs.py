"""A run that is many times as long as its window: what was to be done at the start is done at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from pathlib import Path

import pytest

from kova_auto.core.job import Outcome
from tests.engine.long_runs import WINDOW, LongRun, random_kills
from tests.engine.tellers import Counter

ITERATIONS = 300
PROMPT = f"Please count to {ITERATIONS}, one look at a time."
ANSWER = f"{ITERATIONS}: zebra, notes/tally.txt"

Begin = Callable[[Counter], LongRun]


@pytest.fixture
async def begin(tmp_path: Path) -> AsyncIterator[Begin]:
    runs: list[LongRun] = []

    def _begin(model: Counter) -> LongRun:
        runs.append(LongRun(tmp_path / f"{len(runs)}.db", model))
        return runs[-1]

    yield _begin
    for run in runs:
        await run.close()


async def holds(run: LongRun, model: Counter) -> None:
    """Hold what a long run promises, whoever died in the middle of it."""
    state = await run.state()
    assert state.finished is not None
    assert (state.finished.outcome, state.finished.answer, state.finished.reason) == (Outcome.DONE, ANSWER, "")
    assert state.iteration == ITERATIONS + 1
    assert len({*run.stage.hands.done}) == ITERATIONS
    assert model.wrong == []
    compactions = await run.compactions()
    assert len(compactions) >= 10
    assert all(one.tokens_after <= 0.8 * one.tokens_before for one in compactions)
    assert max(*model.sizes, *model.summed) <= model.longest <= WINDOW
    assert [one.through for one in compactions] == sorted({one.through for one in compactions})


async def test_a_run_of_300_iterations_in_a_window_of_16k_finishes_what_it_was_given_at_the_start(begin: Begin) -> None:
    model = Counter(window=WINDOW)
    run = begin(model)
    await run.open(PROMPT)
    await run.live()

    await holds(run, model)
    compactions = await run.compactions()
    shrunk = [later / earlier for earlier, later in pairwise(model.sizes) if later < earlier]
    assert len(shrunk) == len(compactions) == len(model.summed)
    assert max(shrunk) <= 0.8
    lost = [one.restored for one in compactions]
    assert any(lost)
    assert not all(lost)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 5))])
async def test_killed_at_fifty_random_points_it_ends_the_same(begin: Begin, seed: int) -> None:
    model = Counter(window=WINDOW)
    run = begin(model)
    await run.open(PROMPT)
    await run.live(random_kills(seed, 50))

    assert run.deaths == 50
    await holds(run, model)


@pytest.mark.parametrize("forgets", [1, 10**9], ids=["sums up well", "always forgets"])
@pytest.mark.parametrize("window", [1_500, 2_500, 4_000, 32_000])
async def test_however_small_the_window_and_whoever_sums_up_the_objective_is_reached(
    begin: Begin, window: int, forgets: int
) -> None:
    model = Counter(window=window, forgets=forgets)
    run = begin(model)
    run.window = window
    await run.open("Please count to 60, one look at a time.")
    await run.live()

    state = await run.state()
    assert state.finished is not None
    assert (state.finished.outcome, state.finished.answer) == (Outcome.DONE, "60: zebra, notes/tally.txt")
    assert (model.wrong, len(model.sizes)) == ([], 61)
    assert model.longest <= window
