"""Let instants be filled in afterwards."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "backfill",
        sa.Column("job", _ID, nullable=False),
        sa.Column("nominal_at", _INSTANT, nullable=False),
        sa.Column("asked_at", _INSTANT, nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("overlap", sa.Text(), nullable=False),
        sa.Column("at_once", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("run_id", _ID, nullable=True),
        sa.PrimaryKeyConstraint("job", "nominal_at", "asked_at", name="pk_backfill"),
    )
    waiting = sa.text("status = 'waiting'")
    op.create_index("ix_backfill_waiting", "backfill", ["asked_at"], sqlite_where=waiting, postgresql_where=waiting)


def downgrade() -> None:
    """Undo it."""
    op.drop_table("backfill")
