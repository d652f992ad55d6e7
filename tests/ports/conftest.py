"""The same ports three times: on SQLite, on PostgreSQL, and the double."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine, text

from kova_auto.core.delivery.alert import Alerts
from kova_auto.core.ledger import Ledger
from kova_auto.core.ports import Journal, Views
from kova_auto.store.schema import create_tables
from kova_auto.store.store import open_store
from kova_auto.store.tables import METADATA
from tests.doubles.journal import MemoryJournal
from tests.postgres import PostgresServer


@dataclass(frozen=True, slots=True)
class Ports:
    """Hold what one implementation answers."""

    journal: Journal
    views: Views
    ledger: Ledger
    alerts: Alerts


@pytest.fixture(scope="session")
def emptied(postgres: PostgresServer) -> Callable[[], str]:
    """Make one journal for all tests of this process, and return what empties it and says where it is.

    To make a database takes PostgreSQL a tenth of a second and more, with 15 MB to write.
    """
    url, ours = postgres.new_database(), ", ".join(METADATA.tables)
    patience = {"options": "-c lock_timeout=20s"}  # should a test have left something open
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool, connect_args=patience)
    with engine.begin() as connection:
        create_tables(connection)

    def emptied() -> str:
        with engine.begin() as connection:
            connection.execute(text(f"TRUNCATE {ours} RESTART IDENTITY CASCADE"))
        return url

    return emptied


@pytest.fixture
def on_postgresql(emptied: Callable[[], str]) -> str:
    """Return where an empty journal is."""
    return emptied()


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
async def ports(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ports]:
    """Open an empty journal with its views and ledger."""
    if request.param == "memory":
        memory = MemoryJournal()
        yield Ports(memory, memory, memory, memory)
        return
    place = str(tmp_path / "journal.db")
    if request.param == "postgresql":
        place = request.getfixturevalue("on_postgresql")
    store = open_store(place, create=True)
    yield Ports(store.journal, store.views, store.ledger, store.alerts)
    await store.close()


@pytest.fixture
def journal(ports: Ports) -> Journal:
    """Return the journal alone."""
    return ports.journal


@pytest.fixture
def views(ports: Ports) -> Views:
    """Return the views alone."""
    return ports.views


@pytest.fixture
def ledger(ports: Ports) -> Ledger:
    """Return the ledger alone."""
    return ports.ledger


@pytest.fixture
def alerts(ports: Ports) -> Alerts:
    """Return the alerts alone."""
    return ports.alerts
