"""Of many calls that only look a bounded number run at the same time; where one ends, the next begins."""

from __future__ import annotations

import asyncio

import pytest

from kova_auto.core.event import CallAdjudicated, CallFinished, CallStarted, StopRequested
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.replay import Ending
from kova_auto.core.steps import TOGETHER
from kova_auto.engine.dispatch import Advanced
from tests.engine.looks import Looking, a_run, comes_to, reads, results
from tests.engine.replays import Again
from tests.engine.worlds import RUN


async def test_no_more_than_a_bounded_number_run_at_the_same_time() -> None:
    hands = Looking(crowd=TOGETHER)
    stage, model = await a_run(hands, *reads(*"abcdefghijk"))
    await stage.engine(model=model).advance(RUN)
    assert hands.most == TOGETHER
    assert results(model) == [f"this is {name}" for name in "abcdefghijk"]


async def test_where_one_ends_the_next_begins_whatever_the_others_are_at() -> None:
    names = "abcdefghijkl"
    hands = Looking(crowd=TOGETHER, gates={"a": asyncio.Event()})
    stage, model = await a_run(hands, *reads(*names))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await comes_to(hands, len(names) - 1)
    assert (sorted(hands.begun), hands.under_way) == (list(names), 1)

    hands.gates["a"].set()
    assert await driving is Advanced.DONE
    assert hands.most == TOGETHER
    assert results(model) == [f"this is {name}" for name in names]
    facts = [event for event in await stage.facts() if isinstance(event, CallStarted | CallFinished)]
    assert [event.kind for event in facts[:TOGETHER]] == ["call_started"] * TOGETHER
    under_way = [sum(1 if isinstance(event, CallStarted) else -1 for event in facts[:place]) for place in range(24)]
    assert max(under_way) == TOGETHER


async def test_once_a_page_has_come_none_begins_that_was_judged_before() -> None:
    hands = Looking(crowd=TOGETHER, taints={"b"}, gates={"a": asyncio.Event()})
    stage, model = await a_run(hands, *reads(*"abcdefghijkl"))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await comes_to(hands, TOGETHER - 1)
    assert sorted(hands.begun) == list("abcdefgh")

    hands.gates["a"].set()
    assert await driving is Advanced.DONE
    judged = [event.call_id for event in await stage.facts() if isinstance(event, CallAdjudicated)]
    assert judged[12:] == ["1.9", "1.10", "1.11", "1.12"]
    assert results(model) == [f"this is {name}" for name in "abcdefghijkl"]


async def test_of_many_the_next_worker_looks_again_only_at_those_that_were_under_way() -> None:
    names, late = "abcdefghijkl", "adjl"
    hands = Looking(crowd=TOGETHER, gates={name: asyncio.Event() for name in late})
    stage, model = await a_run(hands, *reads(*names))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await comes_to(hands, len(names) - len(late))
    driving.cancel()
    await asyncio.wait({driving})
    assert (hands.under_way, sorted(hands.left)) == (0, ["1.1", "1.10", "1.12", "1.4"])

    hands.gates.clear()
    assert await stage.engine(model=model, worker="two").advance(RUN) is Advanced.DONE
    assert (sorted(hands.begun[:12]), sorted(hands.begun[12:])) == (list(names), list(late))
    assert results(model) == [f"this is {name}" for name in names]


async def test_of_many_those_that_had_not_begun_are_not_executed_when_the_run_is_stopped() -> None:
    hands = Looking(crowd=TOGETHER, gates={name: asyncio.Event() for name in "abcdefgh"})
    stage, model = await a_run(hands, *reads(*"abcdefghijkl"))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await hands.crowded.wait()
    stop = StopRequested(at=stage.clock.now(), outcome=Outcome.CANCELLED, reason="enough", by="ann")
    await stage.journal.append(await stage.journal.load(RUN), stop)
    stage.bells.asked(RUN)

    assert await driving is Advanced.DONE
    assert sorted(hands.begun) == list("abcdefgh")
    assert await stage.statuses() == [*[ResultStatus.UNKNOWN] * 8, *[ResultStatus.CANCELLED] * 4]
    replay = await Again(stage).played()
    assert (replay.differs, replay.ended) == (False, Ending.FINISHED), replay.why


@pytest.mark.parametrize("page", ["", "b", "k"])
async def test_a_run_of_more_looks_is_replayed_as_it_was(page: str) -> None:
    hands = Looking(crowd=TOGETHER, taints={page}, gates={"a": asyncio.Event()})
    stage, model = await a_run(hands, *reads(*"abcdefghijkl"))
    driving = asyncio.create_task(stage.engine(model=model).advance(RUN))
    await comes_to(hands, TOGETHER - 1)
    hands.gates["a"].set()
    await driving

    replay = await Again(stage).played()
    assert (replay.differs, replay.ended) == (False, Ending.FINISHED), replay.why
    assert [found.verdict_now == found.verdict_then for found in replay.iterations[0].calls] == [True] * 12
