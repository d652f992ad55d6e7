"""What is written with taking a run, and where it is left out."""

from __future__ import annotations

from datetime import timedelta
from functools import reduce

import pytest

from kova_auto.core.event import ContextAssembled, Event, ModelCallStarted, RunAcquired, StopRequested
from kova_auto.core.job import Outcome
from kova_auto.core.message import TextPart
from kova_auto.core.ports import Journal
from kova_auto.core.run import RunState, apply
from tests.support import a_request, at

LEASE = timedelta(seconds=30)
FIRST = (
    ContextAssembled(at=at("06:00:01"), system="", prompt=(TextPart(text="Go."),), tools=()),
    ModelCallStarted(at=at("06:00:01"), iteration=1, model="test/model", request_hash="hash"),
)


async def test_who_takes_a_run_writes_its_first_facts_with_that(journal: Journal) -> None:
    request = a_request()
    seen, _ = await journal.open(request)

    state = await journal.acquire(request.run_id, worker="one", now=at("06:00:01"), lease=LEASE, known=seen, then=FIRST)

    taken_at = RunAcquired(at=at("06:00:01"), epoch=1, worker="one")
    assert await journal.events(request.run_id, after=1) == list(enumerate([taken_at, *FIRST], 2))
    assert await journal.load(request.run_id) == state


async def test_first_facts_are_left_out_where_somebody_has_written_meanwhile(journal: Journal) -> None:
    request = a_request()
    seen, _ = await journal.open(request)
    stop = StopRequested(at=at("06:00:01"), outcome=Outcome.CANCELLED, reason="", by="ada")
    await journal.append(seen, stop)

    await journal.acquire(request.run_id, worker="one", now=at("06:00:02"), lease=LEASE, known=seen, then=FIRST)

    kinds = [event.kind for _, event in await journal.events(request.run_id)]
    assert kinds == ["run_requested", "stop_requested", "run_acquired"]


async def test_first_facts_are_left_out_where_a_lease_was_broken(journal: Journal) -> None:
    await journal.open(request := a_request())
    lost = await journal.acquire(request.run_id, worker="one", now=at("06:00:01"), lease=LEASE)
    assert isinstance(lost, RunState)

    await journal.acquire(lost.run_id, worker="two", now=at("06:05:00"), lease=LEASE, known=lost, then=FIRST)

    assert [event.kind for _, event in await journal.events(lost.run_id, after=2)] == ["run_acquired"]


@pytest.mark.parametrize("folded", range(4))
async def test_what_is_folded_of_first_facts_already_changes_nothing(journal: Journal, folded: int) -> None:
    request = a_request()
    seen, _ = await journal.open(request)
    facts: list[Event] = [RunAcquired(at=at("06:00:01"), epoch=1, worker="one"), *FIRST]
    reached = reduce(apply, facts[:folded], seen)

    state = await journal.acquire(
        request.run_id, worker="one", now=at("06:00:01"), lease=LEASE, known=seen, then=FIRST, reached=reached
    )

    assert state == reduce(apply, facts, seen) == await journal.load(request.run_id)


async def test_what_is_folded_of_first_facts_is_dropped_where_somebody_has_written_meanwhile(journal: Journal) -> None:
    request = a_request()
    seen, _ = await journal.open(request)
    facts: list[Event] = [RunAcquired(at=at("06:00:01"), epoch=1, worker="one"), *FIRST]
    stop = StopRequested(at=at("06:00:01"), outcome=Outcome.CANCELLED, reason="", by="ada")
    await journal.append(seen, stop)

    state = await journal.acquire(
        request.run_id,
        worker="one",
        now=at("06:00:01"),
        lease=LEASE,
        known=seen,
        then=FIRST,
        reached=reduce(apply, facts, seen),
    )

    assert isinstance(state, RunState)
    assert (state.stop, state.context) == (stop, None)
    assert state == await journal.load(request.run_id)


@pytest.mark.parametrize("folded", range(4))
async def test_what_a_writer_has_folded_already_changes_nothing(journal: Journal, folded: int) -> None:
    await journal.open(request := a_request())
    taken = await journal.acquire(request.run_id, worker="one", now=at("06:00:01"), lease=LEASE)
    assert isinstance(taken, RunState)
    facts: list[Event] = [*FIRST, StopRequested(at=at("06:00:02"), outcome=Outcome.CANCELLED, reason="", by="ada")]
    reached = reduce(apply, facts[:folded], taken)

    *first, last = facts
    state = await journal.append(taken, last, first=first, epoch=1, reached=reached)

    assert state == reduce(apply, facts, taken) == await journal.load(request.run_id)


async def test_what_a_writer_has_folded_is_folded_anew_where_somebody_has_written_meanwhile(journal: Journal) -> None:
    await journal.open(request := a_request())
    taken = await journal.acquire(request.run_id, worker="one", now=at("06:00:01"), lease=LEASE)
    assert isinstance(taken, RunState)
    stop = StopRequested(at=at("06:00:01"), outcome=Outcome.CANCELLED, reason="", by="ada")
    await journal.append(taken, stop)

    state = await journal.append(taken, FIRST[1], first=FIRST[:1], epoch=1, reached=apply(taken, FIRST[0]))

    assert state.stop == stop
    assert state == await journal.load(request.run_id)
