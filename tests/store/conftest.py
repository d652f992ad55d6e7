"""Stores on the two real databases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kova_auto.store.store import Store, open_store
from tests.postgres import PostgresServer


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where an empty database is, or will be."""
    if request.param == "sqlite":
        return str(tmp_path / "journal.db")
    server: PostgresServer = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
async def store(place: str) -> AsyncIterator[Store]:
    """Open an empty store."""
    store = open_store(place, create=True)
    yield store
    await store.close()
