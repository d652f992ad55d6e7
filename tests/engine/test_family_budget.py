"""A family has one budget: whoever asks its model next has counted what the others have used."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from random import Random

import pytest

from kova_auto.core.errors import ModelUnavailableError
from kova_auto.core.event import FamilyCounted, ModelCallStarted
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ModelChunk, ModelReply, ModelRequest, ReplyDone, Usage
from kova_auto.core.ports import Journal
from kova_auto.core.recording import recording_of
from kova_auto.core.stop_reason import StopReason
from tests.doubles.model import call, says
from tests.engine.replays import Again
from tests.engine.worlds import Stage
from tests.ports.families import PARENT, a_parent, answers, asking, write
from tests.support import at

INPUT, MOST = 700, 3_000


@dataclass
class Greedy:
    """Use all that it is allowed, and never come to an end; replies of several runs overlap."""

    chance: Random
    under_way: int = 0
    at_once: int = 0
    bounds: list[int | None] = field(default_factory=list)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        self.under_way += 1
        self.at_once = max(self.at_once, self.under_way)
        self.bounds.append(request.max_output_tokens)
        for _ in range(self.chance.randint(1, 40)):
            await asyncio.sleep(0)
        self.under_way -= 1
        used = Usage(input_tokens=INPUT, output_tokens=min(request.max_output_tokens or MOST, MOST), cost_usd=0.001)
        looks = call("look", path=f"{len(self.bounds)}")
        yield ReplyDone(
            reply=ModelReply(text="On.", calls=(looks,), stop=StopReason.TOOL_CALLS, usage=used, model="test/model")
        )


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("ceiling", [20_000, 60_000])
async def test_eight_children_at_once_keep_under_their_parents_ceiling(seed: int, ceiling: int) -> None:
    stage, model = Stage(), Greedy(Random(seed))
    parent = await a_parent(stage.journal, 8, limits={"tokens": ceiling, "iterations": 1_000})
    children: list[RunId] = [child.run_id for child in parent.children.values()]
    engine = stage.engine(model=model)
    await asyncio.gather(*map(engine.advance, children))
    states = [await stage.journal.load(run_id) for run_id in children]
    used = sum(state.usage.counted for state in states) + parent.usage.counted

    assert all(state.finished and state.finished.outcome is Outcome.BUDGET_EXCEEDED for state in states)
    assert model.at_once > 1
    assert ceiling / 2 < used <= ceiling + 9 * (INPUT + 512)


@dataclass
class Heavy:
    """Send a large context each time, which no cache holds, and say little."""

    tokens: int
    asked: int = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        del request
        self.asked += 1
        used = Usage(input_tokens=self.tokens, output_tokens=100, cost_usd=0.001)
        looks = call("look", path=f"{self.asked}")
        yield ReplyDone(
            reply=ModelReply(text="On.", calls=(looks,), stop=StopReason.TOOL_CALLS, usage=used, model="test/model")
        )


async def test_a_member_with_a_large_context_goes_on_while_the_others_need_little() -> None:
    stage, model = Stage(), Heavy(20_000)
    parent = await a_parent(stage.journal, 4, limits={"tokens": 100_000, "iterations": 1_000})
    first, *_ = (child.run_id for child in parent.children.values())
    await stage.engine(model=model).advance(first)
    state = await stage.journal.load(first)

    assert state.finished
    assert state.finished.outcome is Outcome.BUDGET_EXCEEDED
    assert model.asked == 4  # A fifth would need more than the fifth part of the ceiling that is left then.


@dataclass
class Meanwhile:
    """Answer once the sibling of whoever asks has begun a call that may take most of what there is; fail before."""

    journal: Journal
    sibling: RunId
    fails: bool = False
    asked: int = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        del request
        self.asked += 1
        if self.asked == 1:
            counted = FamilyCounted(at=at("06:00:04"), tokens=20, cost_usd=0.0, members=3)
            large = asking(2, "06:00:04").model_copy(update={"max_output_tokens": 9_600})
            await write(self.journal, await answers(self.journal, self.sibling), counted, large)
            if self.fails:
                msg = "busy"
                raise ModelUnavailableError(msg)
        yield ReplyDone(reply=says("On.", call("look", path=f"{self.asked}")))


async def two_of_a_family(*, fails: bool = False) -> tuple[Stage, RunId, Meanwhile]:
    """Have one of two children ask, while the other sets most of the ceiling aside."""
    stage = Stage()
    parent = await a_parent(stage.journal, 2, limits={"tokens": 10_000})
    first, second = (child.run_id for child in parent.children.values())
    model = Meanwhile(stage.journal, second, fails)
    await stage.engine(model=model).advance(first)
    return stage, first, model


async def test_a_member_that_was_refused_is_refused_at_the_same_place_when_it_is_replayed() -> None:
    stage, first, model = await two_of_a_family()
    facts = [fact for _, fact in await stage.journal.events(first)]
    replay = await Again(stage).of(recording_of(facts))

    assert model.asked == 1
    assert (replay.outcome_then, replay.outcome_now) == (Outcome.BUDGET_EXCEEDED, Outcome.BUDGET_EXCEEDED)
    assert (len(replay.iterations), replay.unreached, replay.differs) == (1, 0, False)


async def test_whoever_asks_again_after_a_failure_counts_again() -> None:
    stage, first, model = await two_of_a_family(fails=True)
    stage.clock.later(60)
    await stage.engine(model=model).advance(first)
    state = await stage.journal.load(first)

    assert state.finished
    assert (state.finished.outcome, model.asked) == (Outcome.BUDGET_EXCEEDED, 1)


async def test_a_family_is_told_to_come_to_an_end_when_most_is_used() -> None:
    stage, model = Stage(), Greedy(Random(1))
    parent = await a_parent(stage.journal, 2, limits={"tokens": 60_000, "iterations": 1_000})
    first, second = (child.run_id for child in parent.children.values())
    engine = stage.engine(model=model)
    await engine.advance(first)
    before = await stage.journal.load(first)
    await engine.advance(second)
    facts = [fact for _, fact in await stage.journal.events(second) if isinstance(fact, ModelCallStarted)]

    assert before.finished
    assert before.hurried
    assert facts
    assert facts[0].hurries


async def test_what_children_have_used_is_seen_with_their_parent() -> None:
    stage, model = Stage(), Greedy(Random(0))
    parent = await a_parent(stage.journal, 2, limits={"tokens": 30_000, "iterations": 1_000})
    engine = stage.engine(model=model)
    for child in parent.children.values():
        await engine.advance(child.run_id)
    after, rows = await stage.journal.load(PARENT), await stage.journal.descendants(PARENT)
    row = await stage.journal.run(PARENT)

    assert row
    assert row.tokens == parent.usage.tokens + sum(one.tokens for one in rows)
    assert round((row.cost_usd or 0.0) - sum(one.cost_usd or 0.0 for one in rows), 6) == 0.001
    assert after.usage == parent.usage
    assert sum(row.input_tokens for row in await stage.journal.usage()) == 10 + INPUT * len(model.bounds)
