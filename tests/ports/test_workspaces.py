"""A workspace is one run's at a time: one suite for SQLite, PostgreSQL and the double."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from kova_auto.core.event import ApprovalRequested, RunFinished, RunRetried, StopRequested
from kova_auto.core.holding import Hold
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.ports import Journal, Unavailable, Views
from kova_auto.core.run import RunState
from tests.ports.test_views import asks
from tests.support import a_job, a_request, at, ready

LEASE = timedelta(seconds=30)
END = RunFinished(at=at("06:00:05"), outcome=Outcome.DONE, answer="Done.")
FIRST, SECOND = RunId("first@1"), RunId("second@1")


async def opened(journal: Journal, run_id: RunId, workspace: str = "/srv/app", **job: object) -> None:
    """Open a run that may write."""
    named = a_job(run_id.partition("@")[0], **{"automation": "workspace-write", "workspace": workspace, **job})
    await journal.open(a_request(run_id, job=named))


async def taken(journal: Journal, run_id: RunId, clock: str = "06:00:01") -> RunState | Unavailable:
    """Try to take a run."""
    return await journal.acquire(run_id, worker="one", now=at(clock), lease=LEASE)


async def has(journal: Journal, run_id: RunId) -> RunState:
    """Take a run that can be had."""
    state = await taken(journal, run_id)
    assert isinstance(state, RunState)
    return state


async def test_a_second_writer_waits_and_is_ready_when_the_first_has_ended(journal: Journal, views: Views) -> None:
    await opened(journal, FIRST)
    await opened(journal, SECOND)
    first = await has(journal, FIRST)
    assert await views.holds() == [Hold(run_id=FIRST, job=JobName("first"), workspace="/srv/app")]

    assert await taken(journal, SECOND) is Unavailable.WORKSPACE
    assert await taken(journal, SECOND) is Unavailable.WORKSPACE
    kinds = [event.kind for _, event in await journal.events(SECOND)]
    assert kinds == ["run_requested", "workspace_awaited"]
    row = await views.run(SECOND)
    assert row
    assert (row.resting, row.waits_for) == (True, FIRST)
    await journal.release(FIRST, epoch=first.epoch)
    assert ready(await views.agenda(at("06:00:02"))) == [FIRST]

    await journal.append(first, END, epoch=first.epoch)
    assert await views.holds() == []
    assert ready(await views.agenda(at("06:00:06"))) == [SECOND]
    assert (await has(journal, SECOND)).awaited is None
    assert await views.holds() == [Hold(run_id=SECOND, job=JobName("second"), workspace="/srv/app")]


async def test_of_many_that_are_taken_at_once_one_has_the_workspace(journal: Journal, views: Views) -> None:
    names = [RunId(f"job{number:02}@1") for number in range(12)]
    for number, name in enumerate(names):
        await opened(journal, name, "/srv/app" if number % 3 else "/srv/app/web")

    answers = await asyncio.gather(*(taken(journal, name) for name in names))

    holders = [hold.run_id for hold in await views.holds()]
    nested = {name for number, name in enumerate(names) if number % 3 == 0}
    assert sum(isinstance(answer, RunState) for answer in answers) == len(holders) == 1
    assert answers.count(Unavailable.WORKSPACE) == 11
    assert len(nested) == 4


async def test_workspaces_apart_runs_that_read_and_runs_in_copies_are_free(journal: Journal, views: Views) -> None:
    await opened(journal, FIRST)
    await has(journal, FIRST)
    await opened(journal, SECOND, "/srv/application")
    await opened(journal, RunId("reads@1"), automation="read-only")
    job = a_job("copies", automation="full", isolation="copy")
    await journal.open(a_request("copies@1", job=job, workspace="/cache/copies/1/app"))

    for run_id in (SECOND, RunId("reads@1"), RunId("copies@1")):
        await has(journal, run_id)
    assert [hold.run_id for hold in await views.holds()] == [FIRST, SECOND]


async def test_a_run_that_waits_for_a_person_keeps_its_workspace(journal: Journal) -> None:
    await opened(journal, FIRST, approval={"when_needed": "suspend"})
    await opened(journal, SECOND)
    first = await has(journal, FIRST)
    for event in asks():
        first = await journal.append(first, event, epoch=first.epoch)
    assert isinstance(event, ApprovalRequested)
    await journal.release(FIRST, epoch=first.epoch)

    assert await taken(journal, SECOND) is Unavailable.WORKSPACE


async def test_a_run_whose_worker_died_keeps_its_workspace_and_is_taken_over(journal: Journal) -> None:
    await opened(journal, FIRST)
    await opened(journal, SECOND)
    await has(journal, FIRST)

    assert await taken(journal, SECOND, "07:00:00") is Unavailable.WORKSPACE
    again = await taken(journal, FIRST, "07:00:00")
    assert isinstance(again, RunState)
    assert again.holds


async def test_a_run_that_waits_can_be_ended_without_the_workspace(journal: Journal, views: Views) -> None:
    await opened(journal, FIRST)
    await opened(journal, SECOND)
    await has(journal, FIRST)
    await taken(journal, SECOND)
    stop = StopRequested(at=at("06:00:03"), outcome=Outcome.CANCELLED, reason="enough", by="ann")
    await journal.append(await journal.load(SECOND), stop)

    assert ready(await views.agenda(at("06:00:04"))) == [SECOND]
    second = await has(journal, SECOND)
    await journal.append(second, END, epoch=second.epoch)
    assert [hold.run_id for hold in await views.holds()] == [FIRST]


async def test_a_further_attempt_waits_like_any_run(journal: Journal) -> None:
    await opened(journal, FIRST)
    await opened(journal, SECOND)
    first = await has(journal, FIRST)
    first = await journal.append(first, END, epoch=first.epoch)
    await has(journal, SECOND)
    await journal.append(first, RunRetried(at=at("06:00:07"), attempt=2, by="ann"))

    assert await taken(journal, FIRST, "06:00:08") is Unavailable.WORKSPACE
