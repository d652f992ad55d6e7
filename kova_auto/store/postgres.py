"""PostgreSQL as a journal wants it: a small pool of threads, each piece of work its own transaction."""

from __future__ import annotations

from functools import partial

from sqlalchemy import URL, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError

from kova_auto.core.errors import JournalError, SettingsError
from kova_auto.store.database import T, Work, closed
from kova_auto.store.faults import DatabaseErrors
from kova_auto.store.schema import ensure_schema, revision_of
from kova_auto.threads import Threads

CONNECTIONS = 16
# A worker that is frozen inside a transaction must not keep a run's row from its successor.
_SESSION = "-c timezone=UTC -c lock_timeout=30s -c idle_in_transaction_session_timeout=30s"


class PostgresDatabase:
    """Share one PostgreSQL database with other processes."""

    def __init__(self, url: str, *, create: bool) -> None:
        """Connect, and bring the tables up to date.

        Args:
            url: As `postgresql://user:password@host/name`.
            create: Make the tables where there are none.

        Raises:
            SettingsError: The URL is none, or the driver is not installed.
            JournalBusyError: The server does not answer.
            JournalError: The database holds no journal, or one of a newer version.
        """
        parsed = _parse(url)
        self.place = f"{parsed.database} on {parsed.host or parsed.query.get('host', 'this machine')}"
        self._engine = _engine(parsed)
        self._threads = Threads(CONNECTIONS, "journal", partial(closed, self.place))
        try:
            self._prepare(create=create)
        except BaseException:
            self.close()
            raise

    async def write(self, work: Work[T]) -> T:
        """Return what `work` returned once it is committed."""
        return await self._threads.run(partial(self._do, work))

    async def jot(self, work: Work[T]) -> T:
        """Return the same: the server is as far away for few rows as for many."""
        return await self.write(work)

    async def read(self, work: Work[T]) -> T:
        """Return what `work` found in what is committed."""
        return await self.write(work)

    async def look(self, work: Work[T]) -> T:
        """Return the same: the server is as far away for few rows as for many."""
        return await self.write(work)

    def close(self) -> None:
        """Finish what was begun and let go of every connection."""
        self._threads.end()
        self._engine.dispose()

    def _prepare(self, *, create: bool) -> None:
        with DatabaseErrors(self.place), self._engine.begin() as connection:
            if not create and revision_of(connection, self.place) is None:
                msg = f"there is no journal in the database {self.place}"
                raise JournalError(msg)
            ensure_schema(connection, self.place)

    def _do(self, work: Work[T]) -> T:
        with DatabaseErrors(self.place), self._engine.begin() as connection:
            return work(connection)


def _parse(url: str) -> URL:
    try:
        return make_url(url).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):  # Not chained, not shown: the text may hold a password.
        msg = "wanted a URL as postgresql://user@host/name, found one that does not parse"
        raise SettingsError(msg, key="database") from None


def _engine(url: URL) -> Engine:
    asked = url.query.get("options", "")
    options = " ".join([*([asked] if isinstance(asked, str) else asked), _SESSION])
    try:
        return create_engine(
            url,
            isolation_level="READ COMMITTED",
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_pre_ping=True,
            connect_args={"options": options.strip(), "connect_timeout": 10, "application_name": "kova-auto"},
        )
    except ImportError as exc:
        msg = f"PostgreSQL needs the driver psycopg, which cannot be imported ({exc})"
        raise SettingsError(msg, key="database", hint="pip install 'kova-auto[postgres]'") from exc
