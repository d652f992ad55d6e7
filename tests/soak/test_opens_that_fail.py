"""However often a database cannot be opened, no file stays open."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager as Block
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest

from kova_auto.app.house import build
from kova_auto.core.errors import JournalBusyError, JournalError
from kova_auto.settings.load import load_settings
from kova_auto.store.schema import VERSION_TABLE
from kova_auto.store.sqlite import SqliteDatabase
from tests.soak.weighing import CAN_WEIGH, descriptors
from tests.support import ALONE

pytestmark = pytest.mark.skipif(not CAN_WEIGH, reason="this machine does not say what a process has open")

GIVEN_UP = 10
WRITER = "journal-writer"


def opened(place: Path) -> None:
    """Make a journal that is in order."""
    SqliteDatabase(place, create=True).close()


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Have a journal that somebody else writes to, and does not cease to."""
    opened(place)
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


def damaged(place: Path) -> Block[None]:
    """Have a file that is no database."""
    place.write_bytes(b"no database at all" * 1000)
    return nullcontext()


def foreign(place: Path) -> Block[None]:
    """Have a database that is somebody else's."""
    with closing(sqlite3.connect(place)) as other:
        other.execute("CREATE TABLE theirs (id)")
    return nullcontext()


def newer(place: Path) -> Block[None]:
    """Have a journal of a version to come."""
    opened(place)
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
    return nullcontext()


def nowhere(place: Path) -> Block[None]:
    """Have a file where its directory is to be."""
    place.parent.write_text("in the way")
    return nullcontext()


# Five hundred, most of them where one takes little.
@pytest.mark.parametrize(
    ("spoilt", "times"), [(locked, 150), (damaged, 150), (foreign, 100), (nowhere, 75), (newer, 25)]
)
def test_opens_that_fail_leave_no_file_open(tmp_path: Path, spoilt: Callable[[Path], Block[None]], times: int) -> None:
    place = (tmp_path / "data" if spoilt is nowhere else tmp_path) / "journal.db"
    with spoilt(place):
        found = []
        for _ in range(times):
            with pytest.raises(JournalError) as failure:
                SqliteDatabase(place, create=True, patience_s=0)
            found.append(descriptors())
            assert isinstance(failure.value, JournalBusyError) is (spoilt is locked)

    assert max(found) == found[0]


async def test_a_service_that_is_given_up_while_it_opens_its_database_lets_go_of_it(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "PATH": os.defpath, **ALONE}
    settings = load_settings(None, environ)
    await (await build(settings, environ)).close()
    before = descriptors()
    for _ in range(GIVEN_UP):
        building = asyncio.create_task(build(settings, environ))
        await asyncio.sleep(0)  # It has begun to open, on a thread.
        building.cancel()
        with pytest.raises(asyncio.CancelledError):
            await building

    assert descriptors() <= before
    assert [thread.name for thread in threading.enumerate() if thread.name == WRITER] == []
