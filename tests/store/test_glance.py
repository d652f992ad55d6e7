"""What is seen at a glance is what the store says, and looking changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kova_auto.core.errors import JournalError
from kova_auto.core.event import RunFinished
from kova_auto.core.fault import Fault
from kova_auto.core.ids import JobName
from kova_auto.core.job import Outcome
from kova_auto.core.ledger import ScheduleVersion
from kova_auto.core.pausing import JobMark, Pause, pauses
from kova_auto.store.glance import pauses_in, schedules_in
from kova_auto.store.store import Store, open_store
from tests.support import a_request, at


async def ended(
    store: Store, run_id: str, clock: str, pauses: str = "", fault: Fault | None = None, **request: object
) -> None:
    """Keep a run that has ended."""
    state, _ = await store.journal.open(a_request(run_id, **request))  # type: ignore[arg-type]  # the request's own fields
    await store.journal.append(state, RunFinished(at=at(clock), outcome=Outcome.FAILED, pauses=pauses, fault=fault))


async def a_rested_store(path: Path) -> Store:
    """Return a store in which a job rests for each reason that there is."""
    store = open_store(path, create=True)
    await store.ledger.mark(JobMark(job=JobName("by-hand"), at=at("06:30:00.250000"), paused=True, by="ada"))
    await store.ledger.mark(JobMark(job=JobName("resumed"), at=at("07:00:00"), paused=False, by="ada"))
    await ended(store, "resumed@1", "06:59:00", "the key was refused")
    await ended(store, "by-run@1", "06:10:00", "the key was refused")
    await ended(store, "by-run@2", "06:10:00", "the quota is used up")
    await ended(store, "by-run@3", "06:20:00", staged=True)
    await ended(store, "by-run@4", "06:30:00", fault=Fault.AUTH)
    await ended(store, "well-again@1", "06:10:00", "the key was refused")
    await ended(store, "well-again@2", "06:11:00")
    return store


async def test_a_glance_sees_what_the_store_says_while_that_is_open_and_when_it_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a journal?#.db"
    store = await a_rested_store(path)
    said = pauses(await store.ledger.marks(), await store.views.pausing())
    while_open = pauses_in(path)
    await store.close()

    assert said == {
        "by-hand": Pause(job=JobName("by-hand"), at=at("06:30:00.250000"), by="ada"),
        "by-run": Pause(job=JobName("by-run"), at=at("06:10:00"), by="run by-run@2", reason="the quota is used up"),
    }
    assert (while_open, pauses_in(path)) == (said, said)


async def test_a_journal_that_was_looked_into_is_opened_as_before(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await (await a_rested_store(path)).close()
    pauses_in(path)

    store = open_store(path, create=False)
    differences = await store.compare_views()
    await store.close()
    assert differences == []


def test_where_there_is_no_journal_none_is_made(tmp_path: Path) -> None:
    assert pauses_in(tmp_path / "journal.db") == {}
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_journal_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "journal.db").write_text("no database, but long enough for its header to be looked at " * 20)

    with pytest.raises(JournalError, match=r"journal\.db could not be read: file is not a database"):
        pauses_in(tmp_path / "journal.db")


async def test_the_schedule_that_each_job_had_last_is_seen_at_a_glance(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    assert schedules_in(path) == {}
    store = open_store(path, create=True)
    first = ScheduleVersion(job=JobName("nightly"), begun_at=at("06:00:00"), schedule="a", body='{"cron": "@daily"}')
    second = first.model_copy(update={"begun_at": at("06:30:00.250000"), "schedule": "b", "body": "{}"})
    await store.ledger.begin([first])
    await store.ledger.begin([second])
    while_open = schedules_in(path)
    await store.close()

    assert while_open == schedules_in(path) == {JobName("nightly"): second}
