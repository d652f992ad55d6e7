"""Open the journal alone, for a command that only wants to know: no tools, no models, no loops."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kova_auto.app.local import LocalAnswers
from kova_auto.app.post import Post
from kova_auto.app.vault import Vault
from kova_auto.engine.bells import Bells
from kova_auto.settings.model import Settings
from kova_auto.store.sqlite import Synchronous
from kova_auto.store.store import Store, open_store


@dataclass(frozen=True, slots=True)
class Archive:
    """Hold an open journal and what answers questions from it. Close it when done."""

    store: Store
    answers: LocalAnswers

    async def close(self) -> None:
        """Let go of the database."""
        await self.store.close()


async def open_archive(settings: Settings, environ: Mapping[str, str]) -> Archive:
    """Open the journal; for SQLite the caller owns the data directory.

    Raises:
        KovaError: The database cannot be used.
    """
    store = await asyncio.to_thread(
        open_store, database_of(settings, environ), create=True, synchronous=Synchronous(settings.sqlite_synchronous)
    )
    post = Post(store.journal, store.views, store.alerts, store.healths)
    return Archive(store, LocalAnswers(store.journal, store.views, store.ledger, Bells(), store.hooks, post))


def database_of(settings: Settings, environ: Mapping[str, str]) -> str | Path:
    """Return where the journal is.

    Raises:
        ConfigError: Its URL cannot be had.
    """
    return (
        settings.database_file if settings.database == "sqlite" else Vault(settings, environ).value(settings.database)
    )
