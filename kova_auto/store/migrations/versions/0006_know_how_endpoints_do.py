"""Know how endpoints do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "endpoint",
        sa.Column("endpoint", _ID, nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", _INSTANT, nullable=True),
        sa.Column("last_failure", sa.Text(), nullable=False),
        sa.Column("last_success_at", _INSTANT, nullable=True),
        sa.Column("paused_until", _INSTANT, nullable=True),
        sa.Column("paused_why", sa.Text(), nullable=False),
        sa.Column("disabled_at", _INSTANT, nullable=True),
        sa.Column("disabled_why", sa.Text(), nullable=False),
        sa.Column("gone", sa.Boolean(), nullable=False),
        sa.Column("probe_at", _INSTANT, nullable=True),
        sa.Column("told", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("endpoint", name="pk_endpoint"),
    )


def downgrade() -> None:
    """Undo it."""
    op.drop_table("endpoint")
