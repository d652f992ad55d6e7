"""Make the tables."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the change."""
    _make_journal()
    _make_runs()
    _make_approvals()
    _make_deliveries()
    _make_ledger()


def _must(name: str, kind: sa.types.TypeEngine[Any]) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)


def _may(name: str, kind: sa.types.TypeEngine[Any]) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True)


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def _make_journal() -> None:
    op.create_table(
        "event",
        _must("run_id", _ID),
        _must("seq", sa.BigInteger()),
        _must("kind", sa.Text()),
        _must("v", sa.Integer()),
        _must("at", _INSTANT),
        _must("body", sa.Text()),
        sa.PrimaryKeyConstraint("run_id", "seq", name="pk_event"),
    )
    op.create_table(
        "blob",
        _must("hash", _ID),
        _must("size", sa.BigInteger()),
        _must("data", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("hash", name="pk_blob"),
    )


def _make_runs() -> None:
    op.create_table(
        "run",
        _must("run_id", _ID),
        _must("job", _ID),
        _must("origin", sa.Text()),
        _may("nominal_at", _INSTANT),
        _must("requested_at", _INSTANT),
        _may("started_at", _INSTANT),
        _may("finished_at", _INSTANT),
        _must("execution", sa.Text()),
        _may("outcome", sa.Text()),
        _must("reason", sa.Text()),
        *(_must(name, sa.Boolean()) for name in ("partial", "scripted", "staged")),
        *(_must(name, sa.Text()) for name in ("model", "mode", "level", "workspace")),
        *(_must(name, sa.Integer()) for name in ("attempt", "iterations", "calls", "denied", "unknown")),
        _must("tokens", sa.BigInteger()),
        _may("cost_usd", sa.Float()),
        _must("answer_excerpt", sa.Text()),
        _must("answer_hash", sa.Text()),
        _may("wake_at", _INSTANT),
        _must("resting", sa.Boolean()),
        _must("head_seq", sa.BigInteger()),
        _must("epoch", sa.BigInteger()),
        _may("lease_owner", sa.Text()),
        _may("lease_until", _INSTANT),
        sa.PrimaryKeyConstraint("run_id", name="pk_run"),
    )
    op.create_index("ix_run_job_requested_at", "run", ["job", "requested_at"])
    op.create_index("ix_run_job_finished_at", "run", ["job", "finished_at"])
    op.create_index("ix_run_requested_at", "run", ["requested_at"])
    op.create_index("ix_run_unfinished", "run", ["requested_at"], **_where("execution <> 'finished'"))


def _make_approvals() -> None:
    op.create_table(
        "approval",
        _must("run_id", _ID),
        _must("call_id", _ID),
        _must("job", _ID),
        _must("tool", sa.Text()),
        _must("reason", sa.Text()),
        _must("requested_at", _INSTANT),
        _may("expires_at", _INSTANT),
        _may("decision", sa.Text()),
        _may("decided_by", sa.Text()),
        _may("decided_at", _INSTANT),
        _must("open", sa.Boolean()),
        sa.PrimaryKeyConstraint("run_id", "call_id", name="pk_approval"),
    )
    op.create_index("ix_approval_requested_at", "approval", ["requested_at"])
    op.create_index("ix_approval_open", "approval", ["requested_at"], **_where("open"))


def _make_deliveries() -> None:
    op.create_table(
        "delivery",
        *(_must(name, _ID) for name in ("delivery_id", "run_id", "job", "endpoint")),
        _must("cause", sa.Text()),
        _must("cause_seq", sa.BigInteger()),
        _must("owed_at", _INSTANT),
        _must("status", sa.Text()),
        _must("attempts", sa.Integer()),
        _must("in_flight", sa.Boolean()),
        _may("next_at", _INSTANT),
        _may("expires_at", _INSTANT),
        _may("http_status", sa.Integer()),
        _must("result", sa.Text()),
        _must("detail", sa.Text()),
        _may("lease_owner", sa.Text()),
        _may("lease_until", _INSTANT),
        sa.PrimaryKeyConstraint("delivery_id", name="pk_delivery"),
    )
    op.create_index("ix_delivery_run_id", "delivery", ["run_id"])
    op.create_index("ix_delivery_owed_at", "delivery", ["owed_at"])
    op.create_index("ix_delivery_owed", "delivery", ["owed_at"], **_where("status IN ('pending', 'waiting')"))


def _make_ledger() -> None:
    op.create_table(
        "occurrence",
        _must("job", _ID),
        _must("nominal_at", _INSTANT),
        _must("schedule", sa.Text()),
        _must("due_at", _INSTANT),
        _must("status", sa.Text()),
        _must("why", sa.Text()),
        _may("until_at", _INSTANT),
        _must("count", sa.BigInteger()),
        _may("run_id", _ID),
        sa.PrimaryKeyConstraint("job", "nominal_at", name="pk_occurrence"),
    )
    op.create_index("ix_occurrence_nominal_at", "occurrence", ["nominal_at"])
    op.create_table(
        "schedule_cursor",
        _must("job", _ID),
        _must("schedule", _ID),
        _must("at", _INSTANT),
        sa.PrimaryKeyConstraint("job", "schedule", name="pk_schedule_cursor"),
    )


def downgrade() -> None:
    """Undo it."""
    for table in ("schedule_cursor", "occurrence", "delivery", "approval", "run", "blob", "event"):
        op.drop_table(table)
