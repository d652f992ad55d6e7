"""Say with what a call of a model has used of which subagent that was."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the change."""
    op.add_column("usage", sa.Column("agent", sa.Text(), nullable=False, server_default=sa.text("''")))
    usage = sa.table("usage", sa.column("run_id"), sa.column("agent"))
    run = sa.table("run", sa.column("run_id"), sa.column("agent"))
    whose = sa.select(run.c.agent).where(run.c.run_id == usage.c.run_id).scalar_subquery()
    dispatched = sa.select(run.c.run_id).where(run.c.agent != "")
    op.execute(sa.update(usage).where(usage.c.run_id.in_(dispatched)).values(agent=whose))


def downgrade() -> None:
    """Undo it."""
    op.drop_column("usage", "agent")
