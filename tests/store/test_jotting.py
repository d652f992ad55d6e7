"""Few rows are written on the loop that asks, where that holds nothing up."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from kova_auto.core.errors import JournalError
from kova_auto.store.database import Work
from kova_auto.store.restraint import REST, SLOW_S, WEIGHT, Restraint
from kova_auto.store.sqlite import SqliteDatabase
from kova_auto.store.writer import OFTEN

PATIENCE_S = 30.0
ADD = text("INSERT INTO blob VALUES (:key, 1, 'x')")
KEPT = text("SELECT hash FROM blob ORDER BY rowid")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


class Quick(Restraint):
    """Take the disk for quick, whatever else this machine does."""

    __slots__ = ()

    def wrote(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        super().wrote(loop, 0.0)


@pytest.fixture
def database(place: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(place, create=True, patience_s=PATIENCE_S)
    database._writer._restraint = Quick()
    yield database
    database.close()


def adding(key: str) -> Work[int]:
    """Return work that writes one row and says on which thread."""

    def work(connection: Connection) -> int:
        connection.execute(ADD, {"key": key})
        return threading.get_ident()

    return work


async def kept(database: SqliteDatabase) -> list[str]:
    return list(await database.read(lambda connection: connection.execute(KEPT).scalars().all()))


async def next_round() -> None:
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_a_loop_writes_by_itself_and_what_it_wrote_is_committed(database: SqliteDatabase, place: Path) -> None:
    assert await database.jot(adding("one")) == threading.get_ident()

    with closing(sqlite3.connect(place)) as other:
        assert other.execute("SELECT hash FROM blob").fetchall() == [("one",)]


async def test_the_second_in_one_round_is_the_threads_and_the_next_round_begins_anew(database: SqliteDatabase) -> None:
    here = threading.get_ident()

    assert [await database.jot(adding("one")) == here, await database.jot(adding("two")) == here] == [True, False]
    await next_round()
    assert await database.jot(adding("three")) == here
    assert await kept(database) == ["one", "two", "three"]


async def test_many_at_once_share_commits_on_the_thread(database: SqliteDatabase) -> None:
    here = threading.get_ident()
    wrote = await asyncio.gather(*(database.jot(adding(f"{number:03}")) for number in range(200)))

    assert [number for number, thread in enumerate(wrote) if thread == here] == [0]
    assert await kept(database) == [f"{number:03}" for number in range(200)]


async def test_what_waits_goes_first(database: SqliteDatabase) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def held(connection: Connection) -> None:
        begun.set()
        go_on.wait()
        adding("first")(connection)

    first = asyncio.create_task(database.write(held))
    await asyncio.to_thread(begun.wait)
    second = asyncio.create_task(database.jot(adding("second")))
    await next_round()
    assert not second.done()
    go_on.set()
    await first

    assert await second != threading.get_ident()
    assert await kept(database) == ["first", "second"]


async def test_what_was_only_just_asked_for_goes_first(database: SqliteDatabase) -> None:
    wrote = await asyncio.gather(database.write(adding("first")), database.jot(adding("second")))

    assert (threading.get_ident() in wrote, await kept(database)) == (False, ["first", "second"])


async def test_a_lock_of_another_process_holds_up_who_writes_and_nobody_else(
    database: SqliteDatabase, place: Path
) -> None:
    loop = asyncio.get_running_loop()
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = loop.time()
        writing = asyncio.create_task(database.jot(adding("late")))
        done, _ = await asyncio.wait([writing], timeout=0.2)
        held_up = loop.time() - began
        other.execute("ROLLBACK")

    assert (done, await writing != threading.get_ident(), await kept(database)) == (set(), True, ["late"])
    assert held_up < PATIENCE_S / 2


async def test_what_fails_is_undone_and_the_next_one_is_written(database: SqliteDatabase) -> None:
    def broken(connection: Connection) -> None:
        adding("half")(connection)
        raise ZeroDivisionError

    def wrong(connection: Connection) -> None:
        adding("half")(connection)
        connection.execute(text("INSERT INTO nowhere VALUES (1)"))

    with pytest.raises(ZeroDivisionError):
        await database.jot(broken)
    with pytest.raises(JournalError, match="no such table: nowhere"):
        await database.jot(wrong)
    assert await database.jot(adding("whole")) == threading.get_ident()
    assert await kept(database) == ["whole"]


async def test_a_closed_database_is_written_by_nobody(database: SqliteDatabase) -> None:
    database.close()

    with pytest.raises(JournalError, match="is closed"):
        await database.jot(adding("late"))


async def test_the_log_of_what_loops_write_is_moved_into_the_database(database: SqliteDatabase, place: Path) -> None:
    for number in range(OFTEN * 8):
        await database.jot(adding(f"{number:04}"))
        await next_round()

    assert place.with_name("journal.db-wal").stat().st_size < OFTEN * 3 * 4 * 4096


async def test_two_loops_write_at_the_same_time_and_lose_nothing(database: SqliteDatabase) -> None:
    async def press(name: str) -> None:
        for number in range(100):
            await database.jot(adding(f"{name}{number:03}"))
            await next_round()

    threads = [threading.Thread(target=lambda name=name: asyncio.run(press(name))) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)

    assert sorted(await kept(database)) == [f"{name}{number:03}" for name in "abcd" for number in range(100)]


async def allowed(restraint: Restraint, seconds: list[float]) -> int:
    """Return how many of so many writes, one in each round, a loop may do itself where each takes so long."""
    loop, count = asyncio.get_running_loop(), 0
    for each in seconds:
        if restraint.lets(loop):
            count += 1
            restraint.wrote(loop, each)
        await next_round()
    return count


async def test_a_slow_disk_is_the_threads_and_is_tried_now_and_then() -> None:
    assert await allowed(Restraint(), [SLOW_S * 2] * 1000) == 1000 // REST + 2


async def test_a_quick_disk_may_be_slow_once() -> None:
    assert await allowed(Restraint(), [SLOW_S / 10] * 10 + [SLOW_S / WEIGHT / 2] + [SLOW_S / 10] * 10) == 21


async def test_a_disk_that_is_quick_again_is_found_so() -> None:
    restraint = Restraint()
    await allowed(restraint, [SLOW_S * 10] * REST)

    await allowed(restraint, [SLOW_S / 10] * REST)
    assert await allowed(restraint, [SLOW_S / 10] * 50) == 50
