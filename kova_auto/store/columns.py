"""Column types that mean the same on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy import DateTime, String, TypeDecorator

if TYPE_CHECKING:
    from sqlalchemy import Dialect

Id = String().with_variant(String(collation="C"), "postgresql")
"""Text that is compared byte by byte, so that ranges and order are the same on both databases."""


class Instant(TypeDecorator[datetime]):
    """Keep an aware instant; hand it back aware and in UTC, which SQLite alone would not."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return what the driver is given: UTC, and naive where the database knows no zones."""
        if value is None:
            return None
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the instant, aware and in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if dialect.name == "sqlite" else value.astimezone(UTC)
