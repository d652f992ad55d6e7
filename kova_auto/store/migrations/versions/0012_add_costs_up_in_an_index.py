"""Keep costs beside the instants by which they are added up, as each run asks what its job has cost that day."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the change."""
    op.drop_index("ix_usage_job_at", "usage")
    op.create_index("ix_usage_job_at", "usage", ["job", "at", "cost_usd"])


def downgrade() -> None:
    """Undo it."""
    op.drop_index("ix_usage_job_at", "usage")
    op.create_index("ix_usage_job_at", "usage", ["job", "at"])
