"""Say which run dispatched another, and as what."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from kova_auto.store.columns import Id

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_COLUMNS = {"parent": Id, "root": Id, "agent": sa.Text()}


def upgrade() -> None:
    """Make the change."""
    for name, kind in _COLUMNS.items():
        op.add_column("run", sa.Column(name, kind, nullable=False, server_default=sa.text("''")))
    dispatched = sa.text("root <> ''")
    op.create_index("ix_run_root", "run", ["root"], sqlite_where=dispatched, postgresql_where=dispatched)


def downgrade() -> None:
    """Undo it."""
    op.drop_index("ix_run_root", "run")
    for name in reversed(_COLUMNS):
        op.drop_column("run", name)
