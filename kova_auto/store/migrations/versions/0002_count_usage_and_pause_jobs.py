"""Count what calls of models use, and let a job's schedule rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_INSTANT = sa.DateTime(timezone=True)
_TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_BATCH = 500


def upgrade() -> None:
    """Make the change."""
    for name in ("fault", "pauses"):
        op.add_column("run", sa.Column(name, sa.Text(), nullable=False, server_default=sa.text("''")))
    pausing = sa.text("pauses <> ''")
    op.create_index("ix_run_pausing", "run", ["job"], sqlite_where=pausing, postgresql_where=pausing)
    op.create_table(
        "job_mark",
        _must("job", _ID),
        _must("at", _INSTANT),
        _must("paused", sa.Boolean()),
        _must("by", sa.Text()),
        _must("reason", sa.Text()),
        sa.PrimaryKeyConstraint("job", name="pk_job_mark"),
    )
    usage = op.create_table(
        "usage",
        _must("run_id", _ID),
        _must("seq", sa.BigInteger()),
        _must("job", _ID),
        _must("at", _INSTANT),
        _must("model", sa.Text()),
        *(_must(name, sa.Integer()) for name in ("attempt", "iteration")),
        _must("failed", sa.Boolean()),
        *(_must(name, sa.BigInteger()) for name in _TOKENS),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "seq", name="pk_usage"),
    )
    op.create_index("ix_usage_job_at", "usage", ["job", "at"])
    op.create_index("ix_usage_at", "usage", ["at"])
    _fill(usage)


def _must(name: str, kind: sa.types.TypeEngine[Any]) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def _fill(usage: sa.Table) -> None:
    """Count what was used before there was a table for it."""
    connection, rows = op.get_bind(), []
    for row in _used(connection):
        rows.append(row)
        if len(rows) == _BATCH:
            connection.execute(usage.insert(), rows)
            rows = []
    if rows:
        connection.execute(usage.insert(), rows)


def _used(connection: sa.Connection) -> Iterator[dict[str, Any]]:
    """Yield a row for each reply on record; at this revision a call that failed said nothing of what it used."""
    event = sa.table("event", *map(sa.column, ("run_id", "seq", "kind", "body")), sa.column("at", _INSTANT))
    run = sa.table("run", sa.column("run_id"), sa.column("job"))
    found = connection.execute(
        sa.select(event, run.c.job)
        .join_from(event, run, run.c.run_id == event.c.run_id)
        .where(event.c.kind.in_(["run_requested", "model_call_started", "model_replied", "run_retried"]))
        .order_by(event.c.run_id, event.c.seq)
        .execution_options(yield_per=_BATCH)
    )
    attempt, model = 1, ""
    for fact in found:
        body = json.loads(fact.body)
        match fact.kind:
            case "run_requested":
                attempt = 1
            case "run_retried":
                attempt = body["attempt"]
            case "model_call_started":
                model = body["model"]
            case _:
                used = body["reply"]["usage"]
                yield {
                    **{name: getattr(fact, name) for name in ("run_id", "seq", "job", "at")},
                    "model": model,
                    "attempt": attempt,
                    "iteration": body["iteration"],
                    "failed": False,
                    **{name: used[name] for name in _TOKENS},
                    "cost_usd": used["cost_usd"],
                }


def downgrade() -> None:
    """Undo it."""
    for table in ("usage", "job_mark"):
        op.drop_table(table)
    op.drop_index("ix_run_pausing", "run")
    for name in ("pauses", "fault"):
        op.drop_column("run", name)
