"""Notice that a success that was expected by an instant did not come."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from kova_auto.core.ledger import Occurrence
from kova_auto.core.schedule.parents import SUCCESSES
from kova_auto.core.view import RunRow
from kova_auto.scheduling.means import Means

LOG = logging.getLogger(__name__)
_LOOKED_AT: Final = 50


async def look_for_late(means: Means) -> datetime | None:
    """Mark the rows that are late, and those that need not be watched any longer; return when the next may be late."""
    rows, now = await means.ledger.expected(), means.clock.now()
    left = [row.expect_at for row in rows if row.expect_at and row.expect_at > now]
    for row in rows:
        if row.expect_at and row.expect_at <= now:
            with means.grumbles.about(row.job, now):
                await _settle(means, row, row.expect_at, now)
    return min(left, default=None)


async def _settle(means: Means, row: Occurrence, expect_at: datetime, now: datetime) -> None:
    own = await means.views.run(row.run_id) if row.run_id else None
    last = await means.views.last_runs(row.job, limit=_LOOKED_AT)
    if _has_come([*([own] if own else []), *last], row.nominal_at, expect_at):
        await means.ledger.settle([row], [row.model_copy(update={"expect_at": None})])
        return
    if await means.ledger.settle([row], [row.model_copy(update={"late_at": now})]):
        run = f" (its run: {own.run_id}, {own.outcome or own.execution})" if own else f" ({row.status}: {row.why})"
        by, nominal = expect_at.isoformat(), row.nominal_at.isoformat()
        LOG.warning("%s is late: no success came by %s for %s%s", row.job, by, nominal, run)


def _has_come(ended: Sequence[RunRow], since: datetime, by: datetime) -> bool:
    return any(row.outcome in SUCCESSES and row.finished_at and since <= row.finished_at <= by for row in ended)
