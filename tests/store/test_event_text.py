"""What is written down of a fact, and what is said of facts that cannot be read."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from kova_auto.core.errors import JournalError, UnknownEventError
from kova_auto.core.event import RunAcquired, RunFinished, StopRequested, dump
from kova_auto.core.ids import JobName
from kova_auto.core.job import Outcome
from kova_auto.core.run import RunState, apply, opened
from kova_auto.store.store import Store, open_store
from kova_auto.store.tables import EVENT
from tests.support import a_job, a_request, at

SECRET = "hunter2"


@pytest.fixture
async def guarded(place: str) -> AsyncIterator[Store]:
    """Open a store that never writes the secret down."""
    store = open_store(place, create=True, guard=lambda text: text.replace(SECRET, "***").replace(":4711,", ":?,"))
    yield store
    await store.close()


async def bodies(store: Store) -> list[str]:
    """Return every event as it is written."""
    statement = select(EVENT.c.body).order_by(EVENT.c.run_id, EVENT.c.seq)
    return await store.database.read(lambda connection: list(connection.scalars(statement)))


async def test_what_the_guard_takes_out_is_neither_written_nor_remembered(guarded: Store) -> None:
    request = a_request(inputs={"password": SECRET})
    clean = a_request(inputs={"password": "***"})
    stop = StopRequested(at=at("06:00:01"), outcome=Outcome.CANCELLED, reason=f"it printed {SECRET}", by="ada")

    state, _ = await guarded.journal.open(request)
    after = await guarded.journal.append(state, stop, reached=apply(state, stop))

    assert state == opened(clean)
    assert after.stop == stop.model_copy(update={"reason": "it printed ***"})
    assert await guarded.journal.load(state.run_id) == after
    assert [SECRET in body for body in await bodies(guarded)] == [False, False]


async def test_first_facts_pass_the_guard_whatever_was_folded_of_them(guarded: Store) -> None:
    seen, _ = await guarded.journal.open(request := a_request())
    taken = RunAcquired(at=at("06:00:01"), epoch=1, worker="one")
    stop = StopRequested(at=at("06:00:01"), outcome=Outcome.CANCELLED, reason=f"it printed {SECRET}", by="ada")

    after = await guarded.journal.acquire(
        request.run_id,
        worker="one",
        now=taken.at,
        lease=timedelta(seconds=30),
        known=seen,
        then=[stop],
        reached=apply(apply(seen, taken), stop),
    )

    assert isinstance(after, RunState)
    assert after.stop == stop.model_copy(update={"reason": "it printed ***"})
    assert await guarded.journal.load(after.run_id) == after
    assert SECRET not in "".join(await bodies(guarded))


async def test_the_runs_of_a_claim_pass_the_guard_too(guarded: Store) -> None:
    request = a_request(inputs={"password": SECRET})

    assert await guarded.ledger.claim(JobName("nightly"), "hash", was=None, cursor=at("06:00:00"), runs=[request])
    assert [SECRET in body for body in await bodies(guarded)] == [False]


async def test_a_guard_that_breaks_the_text_is_told_without_the_text(guarded: Store) -> None:
    request = a_request(job=a_job(limits={"tokens": 4711}))

    with pytest.raises(JournalError, match="run_requested was not written") as refused:
        await guarded.journal.open(request)
    assert "4711" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert await guarded.views.runs() == []


async def test_the_columns_of_an_event_repeat_its_body(store: Store) -> None:
    request = a_request()
    await store.journal.open(request)

    rows = await store.database.read(lambda connection: [tuple(row) for row in connection.execute(select(EVENT))])

    assert rows == [(request.run_id, 1, "run_requested", request.v, request.at, dump(request))]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"kind":"run_finished"', '"kind":"run_teleported"', "run_teleported.* upgrade kova-auto"),
        ('"v":1,', '"v":999,', "'run_finished' in version 999, this program reads up to"),
        ('"outcome":"failed"', '"outcome":17', "is no event"),
        ('{"v"', '{{"v"', "is no event"),
    ],
)
async def test_a_fact_of_a_newer_version_is_refused_with_its_place(
    store: Store, old: str, new: str, complaint: str
) -> None:
    state = await a_finished_run(store)
    text = dump(state.finished).replace(old, new) if state.finished else ""
    change = update(EVENT).where(EVENT.c.seq == 2).values(body=text)
    await store.database.write(lambda connection: connection.execute(change).rowcount)

    with pytest.raises(UnknownEventError, match=rf"run nightly@\w+, fact 2: .*{complaint}"):
        await store.journal.load(state.run_id)


async def a_finished_run(store: Store) -> RunState:
    """Open a run and end it."""
    state, _ = await store.journal.open(a_request())
    return await store.journal.append(state, RunFinished(at=at("06:00:01"), outcome=Outcome.FAILED))


async def test_a_gap_in_a_run_is_reported(store: Store) -> None:
    state = await a_finished_run(store)
    gap = update(EVENT).where(EVENT.c.seq == 2).values(seq=3)
    await store.database.write(lambda connection: connection.execute(gap).rowcount)

    with pytest.raises(JournalError, match="has a gap: fact 2 is missing"):
        await store.journal.load(state.run_id)


async def test_an_instant_comes_back_in_utc(store: Store) -> None:
    local = at("06:00:00").astimezone().replace(microsecond=123456)
    await store.journal.open(a_request(at=local))

    (row,) = await store.views.runs()

    assert row.requested_at == local
    assert row.requested_at.utcoffset() == at("06:00:00").utcoffset()
