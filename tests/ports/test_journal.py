"""What every journal promises: one suite for SQLite, PostgreSQL and the double."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.errors import FencedError, IllegalEventError, UnknownRunError
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    ContextAssembled,
    DeliveryRequeued,
    Event,
    ModelCallStarted,
    RunAcquired,
    RunFinished,
    RunRetried,
    StopRequested,
)
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import TextPart
from kova_auto.core.ports import Journal, Renewal, Unavailable
from kova_auto.core.run import RunState, opened
from tests.support import a_job, a_request, at, call, ok, replied, ruled, says

LEASE = timedelta(seconds=30)
FIRST = CallId("1.1")


async def taken(journal: Journal, worker: str = "one") -> RunState:
    """Open the usual run and take it."""
    request = a_request(job=a_job(notify=({"endpoint": "ci"},), approval={"when_needed": "suspend"}))
    await journal.open(request)
    state = await journal.acquire(request.run_id, worker=worker, now=at("06:00:01"), lease=LEASE)
    assert isinstance(state, RunState)
    return state


async def appended(journal: Journal, state: RunState, *events: Event) -> RunState:
    """Append facts one after another, as the holder of the run."""
    for event in events:
        state = await journal.append(state, event, epoch=state.epoch)
    return state


def a_started_call(ruling: Ruling = Ruling.ALLOW) -> list[Event]:
    """Return the facts up to the start of the first call; where a person is asked, up to the question."""
    upto: list[Event] = [
        ContextAssembled(at=at("06:00:01"), system="", prompt=(TextPart(text="Go."),), tools=()),
        ModelCallStarted(at=at("06:00:01"), iteration=1, model="test/model", request_hash="hash"),
        replied(1, says("Hm.", call("read", path="a"))),
        CallAdjudicated(at=at("06:00:03"), call_id=FIRST, verdict=ruled(ruling)),
    ]
    asks = ApprovalRequested(at=at("06:00:04"), call_id=FIRST, expires_at=at("18:00:00"))
    return [*upto, asks if ruling is Ruling.ASK else CallStarted(at=at("06:00:04"), call_id=FIRST)]


async def test_a_run_is_opened_once(journal: Journal) -> None:
    request = a_request()

    first = await journal.open(request)
    again = await journal.open(a_request(at=at("07:00:00")))

    assert first == (opened(request), True)
    assert again == (opened(request), False)


async def test_sixteen_openings_at_once_make_one_run(journal: Journal) -> None:
    requests = [a_request(policy_hash=f"policy {index}") for index in range(16)]

    answers = await asyncio.gather(*(journal.open(request) for request in requests))

    assert [new for _, new in answers].count(True) == 1
    assert len({state.request.policy_hash for state, _ in answers}) == 1


async def test_who_loads_a_run_that_is_opened_twice_finds_what_is_written(journal: Journal) -> None:
    (written, _), *_ = [await journal.open(a_request(policy_hash=words)) for words in ("first", "second")]
    _, loaded = await asyncio.gather(journal.open(a_request(policy_hash="third")), journal.load(written.run_id))

    assert loaded == await journal.load(written.run_id) == written
    assert written.request.policy_hash == "first"


async def test_what_was_appended_is_what_is_loaded(journal: Journal) -> None:
    state = await appended(journal, await taken(journal), *a_started_call())

    assert await journal.load(state.run_id) == state
    assert [(seq, event.kind) for seq, event in await journal.events(state.run_id, after=4)] == [
        (5, "model_replied"),
        (6, "call_adjudicated"),
        (7, "call_started"),
    ]


async def test_a_run_that_was_opened_here_is_loaded_as_it_is_written(journal: Journal) -> None:
    opening, _ = await journal.open(a_request())
    stop = StopRequested(at=at("06:00:00"), outcome=Outcome.CANCELLED, reason="enough", by="ada")
    stopping = await journal.append(opening, stop)

    assert [await journal.load(opening.run_id) for _ in range(2)] == [stopping, stopping]


async def test_an_unknown_run_is_neither_loaded_nor_appended_to_nor_taken(journal: Journal) -> None:
    nowhere = opened(a_request("nowhere@1"))
    stop = StopRequested(at=at("06:00:00"), outcome=Outcome.CANCELLED, reason="", by="ada")

    with pytest.raises(UnknownRunError, match="nowhere@1"):
        await journal.load(nowhere.run_id)
    with pytest.raises(UnknownRunError, match="nowhere@1"):
        await journal.append(nowhere, stop)
    with pytest.raises(UnknownRunError, match="nowhere@1"):
        await journal.acquire(nowhere.run_id, worker="one", now=at("06:00:00"), lease=LEASE)
    assert await journal.events(nowhere.run_id) == []
    assert await journal.renew(nowhere.run_id, epoch=1, now=at("06:00:00"), lease=LEASE) == Renewal(held=False, seq=0)


async def test_a_second_result_is_refused(journal: Journal) -> None:
    state = await appended(journal, await taken(journal), *a_started_call())
    first = CallFinished(at=at("06:00:05"), call_id=FIRST, result=ok("first"))
    second = CallFinished(at=at("06:00:06"), call_id=FIRST, result=ok("second"))
    await journal.append(state, first)

    with pytest.raises(IllegalEventError, match=r"call 1\.1 has its result"):
        await journal.append(state, second)
    assert (await journal.load(state.run_id)).calls[FIRST].result == ok("first")


async def test_of_many_decisions_at_once_one_counts(journal: Journal) -> None:
    state = await appended(journal, await taken(journal), *a_started_call(Ruling.ASK))
    decisions = [
        ApprovalDecided(at=at("06:01:00"), call_id=FIRST, decision=Decision.ONCE, by=f"person {index}")
        for index in range(16)
    ]

    answers = await asyncio.gather(*(journal.append(state, each) for each in decisions), return_exceptions=True)

    counted = [answer for answer in answers if isinstance(answer, RunState)]
    assert [type(answer) for answer in answers].count(IllegalEventError) == 15
    assert [await journal.load(state.run_id)] == counted


async def test_a_stale_state_folds_in_what_others_wrote(journal: Journal) -> None:
    state = await taken(journal)
    stop = StopRequested(at=at("06:00:02"), outcome=Outcome.CANCELLED, reason="enough", by="ada")
    await journal.append(state, stop)

    after = await appended(journal, state, a_started_call()[0])

    assert (after.seq, after.stop) == (4, stop)
    assert after == await journal.load(state.run_id)


async def test_a_fact_that_only_the_newest_state_allows_is_written(journal: Journal) -> None:
    stale = await taken(journal)
    await appended(journal, stale, *a_started_call(Ruling.ASK))

    after = await journal.append(
        stale, ApprovalDecided(at=at("06:01:00"), call_id=FIRST, decision=Decision.DENY, by="ada")
    )

    assert after.seq == 8
    assert after.calls[FIRST].decision is not None


async def test_sixteen_tasks_racing_from_one_state_lose_nothing(journal: Journal) -> None:
    finished = RunFinished(at=at("06:00:03"), outcome=Outcome.FAILED, reason="broken")
    state = await appended(journal, await taken(journal), finished)
    owed = next(iter(state.deliveries))

    async def press(person: int) -> None:
        for _ in range(10):
            await journal.append(state, DeliveryRequeued(at=at("06:00:04"), delivery_id=owed, by=f"person {person}"))

    await asyncio.gather(*map(press, range(16)))

    facts = await journal.events(state.run_id, after=state.seq)
    pressed = [event.by for _, event in facts if isinstance(event, DeliveryRequeued)]
    assert [seq for seq, _ in facts] == list(range(4, 164))
    assert {person: pressed.count(person) for person in set(pressed)} == {f"person {n}": 10 for n in range(16)}


async def test_taking_a_run_raises_its_epoch_and_writes_who_took_it(journal: Journal) -> None:
    state = await taken(journal, worker="one")

    assert state.epoch == 1
    assert await journal.events(state.run_id, after=1) == [
        (2, RunAcquired(at=at("06:00:01"), epoch=1, worker="one")),
    ]


async def test_a_run_is_held_until_its_lease_has_run_out(journal: Journal) -> None:
    run_id = (await taken(journal)).run_id

    early = await journal.acquire(run_id, worker="two", now=at("06:00:30"), lease=LEASE)
    late = await journal.acquire(run_id, worker="two", now=at("06:00:31"), lease=LEASE)

    assert early is Unavailable.HELD
    assert isinstance(late, RunState)
    assert (await journal.events(run_id, after=2))[0][1] == RunAcquired(
        at=at("06:00:31"), epoch=2, worker="two", lease_broken=True
    )


async def test_of_many_workers_one_takes_the_run(journal: Journal) -> None:
    request = a_request()
    await journal.open(request)

    answers = await asyncio.gather(
        *(journal.acquire(request.run_id, worker=f"w{n}", now=at("06:00:01"), lease=LEASE) for n in range(16))
    )

    assert [answer for answer in answers if isinstance(answer, Unavailable)] == [Unavailable.HELD] * 15
    assert len(await journal.events(request.run_id)) == 2


async def test_a_run_that_was_given_back_is_taken_at_once(journal: Journal) -> None:
    state = await taken(journal)
    await journal.release(state.run_id, epoch=1)

    await journal.acquire(state.run_id, worker="two", now=at("06:00:02"), lease=LEASE)

    assert (await journal.events(state.run_id, after=2))[0][1] == RunAcquired(
        at=at("06:00:02"), epoch=2, worker="two", lease_broken=False
    )


async def test_a_finished_run_is_not_taken(journal: Journal) -> None:
    state = await appended(journal, await taken(journal), RunFinished(at=at("06:00:03"), outcome=Outcome.FAILED))

    assert await journal.acquire(state.run_id, worker="two", now=at("07:00:00"), lease=LEASE) is Unavailable.FINISHED


async def test_a_lease_ends_with_its_run(journal: Journal) -> None:
    state = await appended(journal, await taken(journal), RunFinished(at=at("06:00:03"), outcome=Outcome.FAILED))
    await journal.append(state, RunRetried(at=at("06:00:04"), attempt=2, by="ada"))

    await journal.acquire(state.run_id, worker="two", now=at("06:00:05"), lease=LEASE)

    assert (await journal.events(state.run_id, after=4))[0][1] == RunAcquired(
        at=at("06:00:05"), epoch=2, worker="two", lease_broken=False
    )


async def test_what_came_since_a_run_was_last_seen_is_known_to_who_takes_it(journal: Journal) -> None:
    request = a_request()
    seen, _ = await journal.open(request)
    stop = StopRequested(at=at("06:00:02"), outcome=Outcome.CANCELLED, reason="", by="ada")
    await journal.append(seen, stop)

    state = await journal.acquire(request.run_id, worker="one", now=at("06:00:03"), lease=LEASE, known=seen)

    assert isinstance(state, RunState)
    assert (state.stop, state.seq, state.epoch) == (stop, 3, 1)


async def test_a_renewed_lease_holds_longer_and_tells_of_new_facts(journal: Journal) -> None:
    state = await taken(journal)
    await journal.append(state, StopRequested(at=at("06:00:02"), outcome=Outcome.CANCELLED, reason="", by="ada"))

    renewal = await journal.renew(state.run_id, epoch=1, now=at("06:00:20"), lease=LEASE)

    assert renewal == Renewal(held=True, seq=3)
    assert await journal.acquire(state.run_id, worker="two", now=at("06:00:49"), lease=LEASE) is Unavailable.HELD


async def test_a_worker_that_was_taken_over_can_write_nothing(journal: Journal) -> None:
    frozen = await taken(journal, worker="frozen")
    healthy = await journal.acquire(frozen.run_id, worker="healthy", now=at("06:05:00"), lease=LEASE)

    for event in (a_started_call()[0], RunFinished(at=at("06:05:01"), outcome=Outcome.DONE)):
        with pytest.raises(FencedError, match="epoch 2, this one has 1"):
            await journal.append(frozen, event, epoch=1)
    await journal.release(frozen.run_id, epoch=1)

    assert await journal.renew(frozen.run_id, epoch=1, now=at("06:05:01"), lease=LEASE) == Renewal(held=False, seq=3)
    assert await journal.load(frozen.run_id) == healthy
    assert await journal.acquire(frozen.run_id, worker="third", now=at("06:05:01"), lease=LEASE) is Unavailable.HELD


async def test_a_lease_that_was_given_back_is_not_renewed(journal: Journal) -> None:
    state = await taken(journal)
    await journal.release(state.run_id, epoch=1)

    assert await journal.renew(state.run_id, epoch=1, now=at("06:00:02"), lease=LEASE) == Renewal(held=False, seq=2)


async def test_an_epoch_that_does_not_exist_yet_writes_nothing(journal: Journal) -> None:
    state = await taken(journal)

    with pytest.raises(FencedError):
        await journal.append(state, a_started_call()[0], epoch=7)


async def test_a_refused_fact_does_not_undo_those_beside_it(journal: Journal) -> None:
    state = await taken(journal)
    others = [a_request(f"job{index}@1") for index in range(8)]
    illegal = CallStarted(at=at("06:00:02"), call_id=CallId("9.9"))

    answers = await asyncio.gather(
        *(work for other in others for work in (journal.open(other), journal.append(state, illegal))),
        return_exceptions=True,
    )

    assert [type(answer) for answer in answers[1::2]] == [IllegalEventError] * 8
    assert [await journal.load(RunId(f"job{index}@1")) for index in range(8)] == [opened(other) for other in others]


async def test_text_of_every_kind_comes_back_as_it_was(journal: Journal) -> None:
    text = "NUL \0, a line\u2028separator, 日本語, 🙂, \\u0000, 'quotes\"; DROP TABLE event"
    state = await appended(
        journal,
        await taken(journal),
        *a_started_call(),
        CallFinished(at=at("06:00:05"), call_id=FIRST, result=ok(text)),
    )

    finished = await appended(journal, state, RunFinished(at=at("06:00:06"), outcome=Outcome.DONE, answer=text))

    assert await journal.load(state.run_id) == finished
    assert finished.finished is not None
    assert finished.finished.answer == text


async def test_facts_are_written_together_or_not_at_all(journal: Journal) -> None:
    state = await taken(journal)
    *first, last = a_started_call()
    after = await journal.append(state, last, first=first, epoch=state.epoch)
    again = [event for _, event in await journal.events(state.run_id, state.seq)]

    assert again == [*first, last]
    assert await journal.load(state.run_id) == after
    with pytest.raises(IllegalEventError):
        await journal.append(
            after, last, first=[StopRequested(at=at("06:00:02"), outcome=Outcome.FAILED, reason="", by="")]
        )
    assert await journal.load(state.run_id) == after


async def test_facts_that_are_written_together_follow_what_others_wrote(journal: Journal) -> None:
    state = await taken(journal)
    stop = StopRequested(at=at("06:00:02"), outcome=Outcome.CANCELLED, reason="", by="ada")
    *first, last = a_started_call()
    await journal.append(state, stop)
    await journal.append(state, last, first=first, epoch=state.epoch)

    assert [event for _, event in await journal.events(state.run_id, state.seq)] == [stop, *first, last]
