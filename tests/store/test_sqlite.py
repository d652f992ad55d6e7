"""What SQLite is asked for, and what is said where it cannot be had."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import stat
import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from kova_auto.core.errors import JournalBusyError, JournalError, SettingsError
from kova_auto.core.event import DeliveryRequeued, RunFinished
from kova_auto.core.ids import RunId
from kova_auto.core.job import Outcome
from kova_auto.store.database import Work
from kova_auto.store.sqlite import SqliteDatabase, Synchronous
from kova_auto.store.store import open_store
from tests.support import a_job, a_request, at


def pragma(name: str) -> Work[object]:
    """Return a piece of work that asks for a setting."""
    return lambda connection: connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()


def files_of(directory: Path) -> dict[str, int]:
    """Return what is in a directory, with its permissions."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()}


async def test_every_commit_is_on_the_disk_and_the_log_is_ahead(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db", create=True)
    wanted = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 30_000, "query_only": 0}

    assert {name: await store.database.write(pragma(name)) for name in wanted} == wanted
    assert {name: await store.database.read(pragma(name)) for name in wanted} == {**wanted, "query_only": 1}
    await store.close()


async def test_a_commit_that_is_not_to_wait_for_the_disk_does_not(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db", create=True, synchronous=Synchronous.NORMAL)

    assert await store.database.write(pragma("synchronous")) == 1
    assert await store.database.write(pragma("journal_mode")) == "wal"
    await store.close()


async def test_a_reader_cannot_write(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db", create=True)

    with pytest.raises(JournalError, match="cannot be opened for writing"):
        await store.database.read(lambda connection: connection.execute(text("DELETE FROM event")))
    await store.close()


async def test_only_its_owner_may_read_the_file(tmp_path: Path) -> None:
    place = tmp_path / "data" / "journal.db"
    store = open_store(place, create=True)
    await store.journal.open(a_request())

    assert files_of(tmp_path) == {"data": 0o700}
    assert files_of(place.parent) == {"journal.db": 0o600, "journal.db-wal": 0o600, "journal.db-shm": 0o600}
    await store.close()


async def test_closing_leaves_one_file_and_can_be_done_twice(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db", create=True)
    await store.journal.open(a_request())
    await store.close()
    await store.close()

    assert files_of(tmp_path) == {"journal.db": 0o600}
    with pytest.raises(JournalError, match="is closed"):
        await store.journal.open(a_request("other@1"))
    with pytest.raises(JournalError, match="is closed"):
        await store.views.runs()
    with pytest.raises(JournalError, match="is closed"):
        await store.views.run(RunId("other@1"))


async def test_what_waits_when_the_store_is_closed_is_written(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db", create=True)
    openings = [asyncio.create_task(store.journal.open(a_request(f"job{index}@1"))) for index in range(50)]
    await asyncio.sleep(0)
    await store.close()

    assert [new for _, new in await asyncio.gather(*openings)] == [True] * 50
    again = open_store(tmp_path / "journal.db", create=False)
    assert len(await again.views.runs(limit=100)) == 50
    await again.close()


async def test_a_cancelled_write_does_not_disturb_the_others(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db", create=True)
    openings = [asyncio.create_task(store.journal.open(a_request(f"job{index}@1"))) for index in range(8)]
    await asyncio.sleep(0)
    openings[3].cancel()

    answers = await asyncio.gather(*openings, return_exceptions=True)
    assert [isinstance(answer, asyncio.CancelledError) for answer in answers] == [index == 3 for index in range(8)]
    assert len(await store.views.runs()) == 8
    await store.close()


async def test_a_bug_in_one_write_reaches_its_caller_and_no_other(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db", create=True)

    def broken(connection: Connection) -> None:
        connection.execute(text("INSERT INTO blob VALUES ('half', 0, '')"))
        raise ZeroDivisionError

    answers = await asyncio.gather(
        store.journal.keep(b"before"),
        store.database.write(broken),
        store.journal.keep(b"after"),
        return_exceptions=True,
    )

    assert isinstance(answers[1], ZeroDivisionError)
    kept = await store.database.read(lambda connection: connection.execute(text("SELECT size FROM blob")).all())
    assert sorted(size for (size,) in kept) == [5, 6]
    await store.close()


async def test_a_statement_that_fails_in_the_database_fails_alone(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db", create=True)

    answers = await asyncio.gather(
        store.journal.keep(b"before"),
        store.database.write(lambda connection: connection.execute(text("INSERT INTO nowhere VALUES (1)")).rowcount),
        store.journal.keep(b"after"),
        return_exceptions=True,
    )

    assert [type(answer) for answer in answers] == [str, JournalError, str]
    await store.close()


async def test_eight_threads_racing_lose_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db", create=True)
    state, _ = await store.journal.open(a_request(job=a_job(notify=({"endpoint": "ci"},))))
    state = await store.journal.append(state, RunFinished(at=at("06:00:01"), outcome=Outcome.FAILED))
    owed = next(iter(state.deliveries))

    async def press() -> None:
        for _ in range(20):
            await store.journal.append(state, DeliveryRequeued(at=at("06:00:02"), delivery_id=owed, by="ada"))

    threads = [threading.Thread(target=lambda: asyncio.run(press())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)

    facts = await store.journal.events(state.run_id)
    assert [seq for seq, _ in facts] == list(range(1, 163))
    await store.close()


async def test_no_room_is_said_and_goes_away_with_room(tmp_path: Path) -> None:
    store = open_store(tmp_path / "journal.db", create=True)
    await store.database.write(pragma("max_page_count = 60"))

    answers = await asyncio.gather(
        store.journal.open(a_request("small@1")),
        store.journal.keep(b"x" * 1_000_000),
        store.journal.open(a_request("small@2")),
        return_exceptions=True,
    )
    assert isinstance(answers[1], JournalBusyError)
    assert "there is no room for the database" in str(answers[1])
    assert [row.run_id for row in await store.views.runs()] == ["small@2", "small@1"]

    await store.database.write(pragma("max_page_count = 100000"))
    await store.journal.keep(b"x" * 1_000_000)
    assert await store.compare_views() == []
    await store.close()


async def test_a_lock_of_another_process_is_waited_for_and_then_named(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "journal.db", create=True, patience_s=0)
    stranger = sqlite3.connect(tmp_path / "journal.db", isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")

    with pytest.raises(JournalBusyError, match="is locked by another process") as busy:
        await database.write(pragma("user_version"))
    assert busy.value.retryable
    stranger.execute("ROLLBACK")
    assert await database.write(pragma("user_version")) == 0
    stranger.close()
    database.close()


async def test_a_damaged_file_is_reported_and_left_as_it_is(tmp_path: Path) -> None:
    place = tmp_path / "journal.db"
    place.write_bytes(b"these are not the pages of a database" * 1000)
    before = place.read_bytes()

    with pytest.raises(JournalError, match="is damaged or is no SQLite file"):
        open_store(place, create=True)
    assert place.read_bytes() == before


async def test_damage_inside_is_reported_when_it_is_met(tmp_path: Path) -> None:
    place = tmp_path / "journal.db"
    store = open_store(place, create=True)
    state, _ = await store.journal.open(a_request())
    root = text("SELECT rootpage FROM sqlite_master WHERE name = 'event'")
    page = await store.database.read(lambda connection: connection.execute(root).scalar_one())
    await store.close()
    data = bytearray(place.read_bytes())
    data[4096 * (page - 1) : 4096 * page] = b"\xff" * 4096
    place.write_bytes(data)

    store = open_store(place, create=False)
    with pytest.raises(JournalError, match="is damaged"):
        await store.journal.load(state.run_id)
    await store.close()


async def test_somebody_elses_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "photos.db"
    stranger = sqlite3.connect(place)
    stranger.execute("CREATE TABLE photo (id INTEGER)")
    stranger.close()
    before = place.read_bytes()

    with pytest.raises(JournalError, match=r"is no journal of kova-auto: it holds other tables \(photo"):
        open_store(place, create=True)
    assert place.read_bytes() == before


async def test_a_journal_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(JournalError, match="cannot be made: Not a directory"):
        open_store(tmp_path / "file" / "data" / "journal.db", create=True)
    with pytest.raises(JournalError, match="cannot be opened"):
        open_store(tmp_path, create=True)


async def test_another_kind_of_database_is_a_mistake_in_the_settings() -> None:
    with pytest.raises(SettingsError, match=r"database: wanted a path or a postgresql:// URL, found .* mysql://"):
        open_store("mysql://root:secret@localhost/x", create=True)


async def test_the_version_of_sqlite_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="kova_auto.store"):
        await open_store(tmp_path / "journal.db", create=True).close()

    assert [record.getMessage() for record in caplog.records] == [
        f"the journal is {tmp_path / 'journal.db'} (SQLite {sqlite3.sqlite_version})"
    ]
