"""The same ports three times: on SQLite, on PostgreSQL, and the double."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kova_auto.core.delivery.alert import Alerts
from kova_auto.core.ledger import Ledger
from kova_auto.core.ports import Journal, Views
from kova_auto.store.store import open_store
from tests.doubles.journal import MemoryJournal
from tests.postgres import PostgresServer


@dataclass(frozen=True, slots=True)
class Ports:
    """Hold what one implementation answers."""

    journal: Journal
    views: Views
    ledger: Ledger
    alerts: Alerts


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
async def ports(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Ports]:
    """Open an empty journal with its views and ledger."""
    if request.param == "memory":
        memory = MemoryJournal()
        yield Ports(memory, memory, memory, memory)
        return
    place = str(tmp_path / "journal.db")
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        place = server.new_database()
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
