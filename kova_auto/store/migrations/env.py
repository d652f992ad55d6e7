"""Run migrations over the connection that `store/migrate.py` hands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from alembic import context

from kova_auto.store.columns import Instant
from kova_auto.store.schema import VERSION_TABLE
from kova_auto.store.tables import METADATA

if TYPE_CHECKING:
    from alembic.autogenerate.api import AutogenContext


def render(kind: str, item: object, _context: AutogenContext) -> str | Literal[False]:
    """Write our own types down as what they are underneath: a migration outlives the code of its day."""
    return "sa.DateTime(timezone=True)" if kind == "type" and isinstance(item, Instant) else False


connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=METADATA,
    version_table=VERSION_TABLE,
    render_as_batch=connection.dialect.name == "sqlite",
    render_item=render,
    transactional_ddl=True,
    compare_type=True,
    compare_server_default=True,
)
with context.begin_transaction():
    context.run_migrations()
