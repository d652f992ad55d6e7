"""Requests of webhooks are found without looking at all that ever came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kova_auto.core.ids import JobName
from kova_auto.store.hooks import SqlHooks
from kova_auto.store.sqlite import SqliteDatabase
from tests.store.test_queries import NOW, Plans


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    database = SqliteDatabase(tmp_path / "journal.db", create=True)
    yield database
    database.close()


async def test_every_question_about_requests_has_its_index(database: SqliteDatabase) -> None:
    hooks, plans = SqlHooks(database, str), Plans(database)
    await hooks.waiting()
    await hooks.at(JobName("deploy"), NOW)
    await hooks.rows(JobName("deploy"))
    await hooks.rows()

    assert plans.indexes == [
        "ix_hook_request_accepted",
        "sqlite_autoindex_occurrence_1",
        "ix_hook_request_job_received_at",
        "ix_hook_request_job_received_at",
        "sqlite_autoindex_occurrence_1",
        "ix_hook_request_received_at",
        "sqlite_autoindex_occurrence_1",
    ]
