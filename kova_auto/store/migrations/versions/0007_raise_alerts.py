"""Raise alerts of schedules, and know when what was late has come after all."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "alert",
        sa.Column("alert_id", _ID, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("alert_id", "seq", name="pk_alert"),
    )
    op.add_column("occurrence", sa.Column("recovered_at", _INSTANT, nullable=True))
    # Nobody was told that these were late, so nobody is to be told that they are no longer.
    op.execute("UPDATE occurrence SET expect_at = NULL WHERE late_at IS NOT NULL")
    overdue = sa.text("expect_at IS NOT NULL AND late_at IS NOT NULL AND recovered_at IS NULL")
    columns = ["job", "nominal_at"]
    op.create_index("ix_occurrence_overdue", "occurrence", columns, sqlite_where=overdue, postgresql_where=overdue)


def downgrade() -> None:
    """Undo it."""
    op.drop_index("ix_occurrence_overdue", "occurrence")
    op.drop_column("occurrence", "recovered_at")
    op.execute("DELETE FROM delivery WHERE cause = 'alert'")
    op.drop_table("alert")
