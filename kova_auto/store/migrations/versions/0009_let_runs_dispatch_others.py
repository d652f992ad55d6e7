"""Say which run dispatched another, and as what."""

from __future__ import annotations

import json

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
    _fill()


def _fill() -> None:
    """Say again whose child a run is, where this is made for the second time."""
    connection = op.get_bind()
    run = sa.table("run", *map(sa.column, ("run_id", "parent", "root", "agent")))
    event = sa.table("event", *map(sa.column, ("run_id", "seq", "body")))
    may_be = event.c.run_id.contains("~", autoescape=True)
    for run_id, body in connection.execute(
        sa.select(event.c.run_id, event.c.body).where(event.c.seq == 1, may_be)
    ).all():
        if by := json.loads(body).get("child_of"):
            said = {"parent": by["run_id"], "root": by["root"], "agent": by["agent"]}
            connection.execute(sa.update(run).where(run.c.run_id == run_id).values(**said))


def downgrade() -> None:
    """Undo it."""
    op.drop_index("ix_run_root", "run")
    for name in reversed(_COLUMNS):
        op.drop_column("run", name)
