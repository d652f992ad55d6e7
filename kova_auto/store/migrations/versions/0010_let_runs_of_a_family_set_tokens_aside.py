"""Say what each run of a family sets aside of the ceilings that all of it share.

A run that is under way says so again with its next fact.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_COLUMNS: dict[str, sa.types.TypeEngine[Any]] = {"reserved_tokens": sa.BigInteger(), "reserved_usd": sa.Float()}


def upgrade() -> None:
    """Make the change."""
    for name, kind in _COLUMNS.items():
        op.add_column("run", sa.Column(name, kind, nullable=False, server_default=sa.text("0")))


def downgrade() -> None:
    """Undo it."""
    for name in reversed(_COLUMNS):
        op.drop_column("run", name)
