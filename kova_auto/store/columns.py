"""Column types that mean the same on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import DateTime, String, TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy import Dialect

Turn = Callable[[Any], Any]
_WRITTEN = len("2026-01-31 12:00:00.000000")

Id = String().with_variant(String(collation="C"), "postgresql")
"""Text that is compared byte by byte, so that ranges and order are the same on both databases."""


class Instant(TypeDecorator[datetime]):
    """Keep an aware instant; hand it back aware and in UTC, which SQLite alone would not."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Turn | None:
        """Return what makes an instant the driver's; in one call for SQLite, which is asked all day."""
        return _written if dialect.name == "sqlite" else super().bind_processor(dialect)

    def result_processor(self, dialect: Dialect, coltype: object) -> Turn | None:
        """Return what makes ours of the driver's."""
        return _read if dialect.name == "sqlite" else super().result_processor(dialect, coltype)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return what the driver is given where the database knows zones: UTC."""
        del dialect
        return value.astimezone(UTC) if value is not None else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the instant, aware and in UTC."""
        del dialect
        return value.astimezone(UTC) if value is not None else None


def _written(value: datetime | None) -> str | None:
    """Return an instant as SQLAlchemy writes it for SQLite, in UTC."""
    if value is None:
        return None
    utc = value if value.tzinfo is UTC else value.astimezone(UTC)
    return utc.isoformat(" ", "microseconds")[:_WRITTEN]


def _read(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text is not None else None
