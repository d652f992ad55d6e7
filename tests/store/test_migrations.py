"""One chain of migrations for both databases, and it ends where the table models are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from types import NoneType
from typing import get_args

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, NullPool, create_engine, event, inspect, make_url, text

from kova_auto.core.backfill import Backfill
from kova_auto.core.delivery.health import Health
from kova_auto.core.errors import JournalError
from kova_auto.core.event import CompactionFailed, ContextCompacted, ModelCallFailed, RunAcquired
from kova_auto.core.ids import CallId, child_run_id
from kova_auto.core.inbound.hook import HookRequest
from kova_auto.core.ledger import Occurrence, ScheduleVersion
from kova_auto.core.pausing import JobMark
from kova_auto.core.run import opened
from kova_auto.core.value import Value
from kova_auto.core.view import ApprovalRow, DeliveryRow, RunRow, UsageRow
from kova_auto.store.migrate import config_for
from kova_auto.store.schema import REVISION, create_tables, ensure_schema
from kova_auto.store.store import open_store
from kova_auto.store.tables import METADATA
from tests.ports.families import PARENT, a_parent, answers
from tests.support import ROOT, a_job, a_request, at
from tests.walks import a_talkative_request, walk


@pytest.fixture
def engine(place: str) -> Iterator[Engine]:
    """Reach an empty database without any of our own opening."""
    if "://" in place:
        engine = create_engine(make_url(place).set(drivername="postgresql+psycopg"), poolclass=NullPool)
    else:
        engine = create_engine(f"sqlite:///{place}", poolclass=NullPool, connect_args={"isolation_level": None})
        event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    yield engine
    engine.dispose()


def upgraded(connection: Connection, revision: str = "head") -> None:
    """Walk the whole chain."""
    command.upgrade(config_for(connection), revision)


def described(connection: Connection) -> dict[str, object]:
    """Return everything that a database says about its tables."""
    about = inspect(connection)
    return {
        name: {
            "columns": [{**column, "type": repr(column["type"])} for column in about.get_columns(name)],
            "key": about.get_pk_constraint(name),
            "unique": about.get_unique_constraints(name),
            "indexes": {
                index["name"]: (index["column_names"], index["unique"], [*map(str, index["dialect_options"].values())])
                for index in about.get_indexes(name)
            },
        }
        for name in sorted(about.get_table_names())
    }


def test_a_fresh_database_is_what_the_migrations_make(engine: Engine) -> None:
    with engine.connect() as connection:
        create_tables(connection)
        fresh = described(connection)
        connection.rollback()
        assert described(connection) == {}
        upgraded(connection)
        assert described(connection) == fresh


@pytest.mark.parametrize("make", [create_tables, upgraded])
def test_alembic_finds_nothing_to_change(engine: Engine, make: Callable[[Connection], None]) -> None:
    with engine.connect() as connection:
        make(connection)
        command.check(config_for(connection))


def test_the_chain_can_be_walked_back_and_forth(engine: Engine) -> None:
    with engine.connect() as connection:
        upgraded(connection)
        there = described(connection)
        command.downgrade(config_for(connection), "base")
        assert described(connection).keys() == {"schema_version"}
        upgraded(connection)
        assert described(connection) == there


def test_the_newest_migration_is_the_one_we_say() -> None:
    assert ScriptDirectory.from_config(config_for()).get_heads() == [REVISION]


def test_an_older_database_is_brought_up_to_date(engine: Engine) -> None:
    with engine.connect() as connection:
        create_tables(connection)
        today = described(connection)
        command.downgrade(config_for(connection), "base")
        ensure_schema(connection, "here")
        assert described(connection) == today


_OF_LATER = (ModelCallFailed, CompactionFailed, ContextCompacted)
"""Facts that said nothing of usage, or were not there, before it had a table."""


async def test_what_was_used_before_there_was_a_table_for_it_is_counted(engine: Engine, place: str) -> None:
    store = open_store(place, create=True)
    for run_id in ("nightly@1", "weekly@1"):
        request = a_talkative_request(run_id)
        state, _ = await store.journal.open(request)
        for _, fact in walk(opened(request), Random(17), 80):
            told = fact.model_copy(update={"usage": None}) if isinstance(fact, _OF_LATER) else fact
            state = await store.journal.append(state, told)
    before = await store.views.usage()
    await store.close()
    with engine.connect() as connection:
        command.downgrade(config_for(connection), "0001")
        connection.commit()

    store = open_store(place, create=False)
    after = await store.views.usage()
    differences = [line for line in await store.compare_views() if line.startswith("usage ")]
    await store.close()

    assert {row.attempt for row in before} > {1}
    assert (after, differences) == (before, [])


async def test_runs_that_were_under_way_have_their_workspaces(engine: Engine, place: str) -> None:
    store = open_store(place, create=True)
    jobs = {
        "writes": a_job("writes", automation="workspace-write"),
        "reads": a_job("reads"),
        "queued": a_job("queued", automation="full"),
        "copies": a_job("copies", automation="full", isolation="copy", workspace="/srv/app"),
    }
    for name, job in jobs.items():
        place_of = {"workspace": "/cache/copies/1/app"} if name == "copies" else {}
        state, _ = await store.journal.open(a_request(f"{name}@1", job=job, **place_of))
        if name != "queued":
            await store.journal.append(state, RunAcquired(at=at("06:00:01"), epoch=1, worker="one"))
    before = await store.views.holds()
    await store.close()
    with engine.connect() as connection:
        command.downgrade(config_for(connection), "0002")
        connection.commit()

    store = open_store(place, create=False)
    after, differences = await store.views.holds(), await store.compare_views()
    await store.close()

    assert [hold.run_id for hold in before] == ["writes@1"]
    assert (after, differences) == (before, [])


async def test_children_are_their_parents_again_after_a_downgrade_and_an_upgrade(engine: Engine, place: str) -> None:
    store = open_store(place, create=True)
    await a_parent(store.journal, 2)
    await answers(store.journal, child_run_id(PARENT, CallId("1.1")))
    before = await store.views.descendants(PARENT)
    await store.close()
    with engine.connect() as connection:
        command.downgrade(config_for(connection), "0008")
        connection.commit()

    store = open_store(place, create=False)
    after, differences = await store.views.descendants(PARENT), await store.compare_views()
    await store.close()

    assert len(before) == 2
    assert (after, differences) == (before, [])


async def test_a_database_of_a_newer_version_is_refused_and_left_alone(engine: Engine, place: str) -> None:
    with engine.begin() as connection:
        create_tables(connection)
        connection.execute(text("UPDATE schema_version SET version_num = '9999'"))

    with pytest.raises(JournalError, match=r"written by a newer kova-auto \(revision 9999\); upgrade this one"):
        open_store(place, create=True)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM schema_version")).scalar_one() == "9999"


async def test_opening_again_finds_what_was_there(place: str) -> None:
    for _ in range(2):
        store = open_store(place, create=True)
        assert await store.views.runs() == []
        await store.close()


async def test_a_store_that_is_not_there_is_not_made_unasked(place: str) -> None:
    with pytest.raises(JournalError, match="there is no journal"):
        open_store(place, create=False)


def test_opening_a_journal_that_is_up_to_date_needs_no_alembic(tmp_path: Path) -> None:
    look = (
        "import asyncio, sys; from kova_auto.store.store import open_store\n"
        "asyncio.run(open_store(sys.argv[1], create=True).close()); print('alembic' in sys.modules)"
    )
    command = [sys.executable, "-c", look, str(tmp_path / "journal.db")]
    found = [subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True) for _ in range(2)]

    assert [each.stdout for each in found] == ["False\n", "False\n"]


@pytest.mark.parametrize(
    ("table", "kind", "operational"),
    [
        ("run", RunRow, {"head_seq", "epoch", "lease_owner", "lease_until"}),
        ("approval", ApprovalRow, set()),
        ("delivery", DeliveryRow, {"lease_owner", "lease_until"}),
        ("usage", UsageRow, set()),
        ("occurrence", Occurrence, set()),
        ("job_mark", JobMark, set()),
        ("schedule_version", ScheduleVersion, set()),
        ("backfill", Backfill, set()),
        ("endpoint", Health, set()),
        ("hook_request", HookRequest, set()),
    ],
)
def test_every_field_of_a_row_has_its_column(table: str, kind: type[Value], operational: set[str]) -> None:
    columns = METADATA.tables[table].columns
    optional = {name for name, field in kind.model_fields.items() if NoneType in get_args(field.annotation)}

    assert {column.name for column in columns} == kind.model_fields.keys() | operational
    assert {column.name for column in columns if column.nullable} - operational == optional
