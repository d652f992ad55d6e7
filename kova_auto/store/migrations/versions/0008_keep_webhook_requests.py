"""Keep the requests of webhooks that start jobs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "hook_request",
        sa.Column("job", _ID, nullable=False),
        sa.Column("source", _ID, nullable=False),
        sa.Column("delivery_id", _ID, nullable=False),
        sa.Column("hook_id", _ID, nullable=False),
        sa.Column("digest", _ID, nullable=False),
        sa.Column("received_at", _INSTANT, nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("inputs", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("job", "source", "delivery_id", name="pk_hook_request"),
    )
    op.create_index("ix_hook_request_job_received_at", "hook_request", ["job", "received_at"], unique=True)
    op.create_index("ix_hook_request_job_digest", "hook_request", ["job", "digest"])
    op.create_index("ix_hook_request_hook_id", "hook_request", ["hook_id"])
    op.create_index("ix_hook_request_received_at", "hook_request", ["received_at"])
    accepted = sa.text("status = 'accepted'")
    op.create_index(
        "ix_hook_request_accepted", "hook_request", ["received_at"], sqlite_where=accepted, postgresql_where=accepted
    )


def downgrade() -> None:
    """Undo it."""
    op.drop_table("hook_request")
