"""Let occurrences wait and be expected to succeed, and keep which schedule a job had when."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_INSTANT = sa.DateTime(timezone=True)
_INSTANTS = ("settled_at", "expect_at", "late_at")
_INDEXES = {
    "ix_occurrence_pending": ("nominal_at", "status = 'pending'"),
    "ix_occurrence_expected": ("expect_at", "expect_at IS NOT NULL AND late_at IS NULL"),
}


def upgrade() -> None:
    """Make the change."""
    for name in _INSTANTS:
        op.add_column("occurrence", sa.Column(name, _INSTANT, nullable=True))
    for name, (column, condition) in _INDEXES.items():
        where = sa.text(condition)
        op.create_index(name, "occurrence", [column], sqlite_where=where, postgresql_where=where)
    op.create_index("ix_run_finished_at", "run", ["finished_at"])
    op.add_column("job_mark", sa.Column("catch_up", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.create_table(
        "schedule_version",
        sa.Column("job", _ID, nullable=False),
        sa.Column("begun_at", _INSTANT, nullable=False),
        sa.Column("schedule", _ID, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("job", "begun_at", name="pk_schedule_version"),
    )
    op.create_table(
        "service_start",
        sa.Column("at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("at", name="pk_service_start"),
    )


def downgrade() -> None:
    """Undo it."""
    op.drop_table("service_start")
    op.drop_table("schedule_version")
    op.drop_column("job_mark", "catch_up")
    op.drop_index("ix_run_finished_at", "run")
    for name in _INDEXES:
        op.drop_index(name, "occurrence")
    for name in reversed(_INSTANTS):
        op.drop_column("occurrence", name)
