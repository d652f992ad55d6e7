"""Let a run have its workspace to itself, and say what it left to be applied."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_COLUMNS = ("holds", "waits_for", "kept")


def upgrade() -> None:
    """Make the change."""
    for name in _COLUMNS:
        op.add_column("run", sa.Column(name, sa.Text(), nullable=False, server_default=sa.text("''")))
    holding = sa.text("holds <> ''")
    op.create_index("ix_run_holding", "run", ["run_id"], sqlite_where=holding, postgresql_where=holding)
    _fill()


def _fill() -> None:
    """Let the runs that are under way have their workspaces."""
    connection = op.get_bind()
    names = ("run_id", "mode", "level", "workspace", "started_at", "execution", "holds")
    run = sa.table("run", *map(sa.column, names))
    event = sa.table("event", *map(sa.column, ("run_id", "seq", "body")))
    found = connection.execute(
        sa.select(run.c.run_id, run.c.workspace, event.c.body)
        .join_from(run, event, sa.and_(event.c.run_id == run.c.run_id, event.c.seq == 1))
        .where(run.c.execution != "finished", run.c.started_at.is_not(None))
        .where(run.c.level != "read-only", run.c.mode.in_(["agent", "goal"]))
    )
    for run_id, workspace, body in found.all():
        request = json.loads(body)
        in_place = request["job"]["workspace"] == workspace and request["job"].get("isolation") == "in-place"
        if in_place and not request.get("blocked"):
            connection.execute(sa.update(run).where(run.c.run_id == run_id).values(holds=workspace))


def downgrade() -> None:
    """Undo it."""
    op.drop_index("ix_run_holding", "run")
    for name in reversed(_COLUMNS):
        op.drop_column("run", name)
