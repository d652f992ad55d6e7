"""What is still to be done is found without looking at all that was."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event

from kova_auto.core.ids import JobName, RunId
from kova_auto.core.owed import OPEN
from kova_auto.core.run import Execution
from kova_auto.store.sqlite import SqliteDatabase
from kova_auto.store.tables import OWED, UNFINISHED
from kova_auto.store.views import SqlViews
from tests.support import at

NOW = at("06:00:00")


class Plans:
    """Collect which index SQLite uses for each question that is asked of a database; none is an empty text."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.indexes: list[str] = []
        self._place = database.place
        event.listen(database._reading, "connect", lambda driver, _: driver.set_trace_callback(self._explain))

    def _explain(self, statement: str) -> None:
        if statement.startswith("SELECT"):
            with closing(sqlite3.connect(self._place)) as beside:
                found = beside.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
            steps = [step for *_, step in found if step.startswith(("SCAN", "SEARCH"))]
            self.indexes += [step.partition(" INDEX ")[2].partition(" ")[0] for step in steps]


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    """Open an empty database."""
    database = SqliteDatabase(tmp_path / "journal.db", create=True)
    yield database
    database.close()


async def test_every_question_has_its_index(database: SqliteDatabase) -> None:
    views, plans = SqlViews(database), Plans(database)

    await views.runs(unfinished=True)
    await views.runs(job=JobName("nightly"))
    await views.runs(job=JobName("nightly"), unfinished=True)
    await views.matching("nightly")
    await views.agenda(NOW)
    await views.next_wake(NOW)
    await views.previous(JobName("nightly"), RunId("nightly@1"))
    await views.approvals()
    await views.deliveries(run_id=RunId("nightly@1"))
    await views.due_deliveries(NOW, endpoint="ci")
    await views.due_endpoints(NOW)
    await views.last_runs(JobName("nightly"))
    await views.usage(run_id=RunId("nightly@1"))
    await views.usage(job=JobName("nightly"), since=NOW)
    await views.usage(since=NOW)
    await views.spent_usd(JobName("nightly"), NOW)
    await views.pausing()
    await views.descendants(RunId("nightly@1"))
    await views.family_use(RunId("nightly@1"), RunId("nightly@1~1.1"), None)

    assert plans.indexes == [
        "ix_run_unfinished",
        "ix_run_job_requested_at",
        "ix_run_job_finished_at",
        "sqlite_autoindex_run_1",
        "ix_run_unfinished",
        "sqlite_autoindex_run_1",
        "ix_run_unfinished",
        "ix_run_unfinished",
        "ix_delivery_owed",
        "ix_run_job_finished_at",
        "ix_approval_open",
        "ix_delivery_run_id",
        "ix_delivery_owed",
        "ix_delivery_owed",
        "ix_run_job_finished_at",
        "sqlite_autoindex_usage_1",
        "ix_usage_job_at",
        "ix_usage_at",
        "ix_usage_job_at",
        "ix_run_pausing",
        "ix_run_job_finished_at",
        "ix_run_root",
        "ix_run_unfinished",
        "ix_run_unfinished",
        "sqlite_autoindex_usage_1",
        "ix_run_root",
        "sqlite_autoindex_usage_1",
    ]


def test_the_conditions_of_the_indexes_are_those_of_the_core() -> None:
    owed = ", ".join(f"'{status}'" for status in sorted(OPEN))

    assert str(OWED) == f"status IN ({owed})"
    assert str(UNFINISHED) == f"execution <> '{Execution.FINISHED}'"
