"""Tell many results in one message: what did not go well first, and the rest counted where there is no room."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from kova_auto.core.delivery.document import spell_instant
from kova_auto.core.delivery.notice import Digest
from kova_auto.core.delivery.text import one_line
from kova_auto.core.ids import EndpointName
from kova_auto.core.job import Outcome
from kova_auto.core.view import RunRow

NAMED: Final = 20
_GOOD: Final = frozenset({Outcome.DONE, Outcome.NOTHING_TO_REPORT})


def digest_of(endpoint: EndpointName, runs: Sequence[RunRow]) -> Digest:
    """Return what is told of runs that have ended, at least one of them, in any order."""
    ended = sorted((row.outcome in _GOOD, row.finished_at or row.requested_at, row.run_id, row) for row in runs)
    rows = [row for *_, row in ended]
    counted = Counter(row.outcome or Outcome.INTERRUPTED for row in rows)
    lines = [_line(row) for row in rows[:NAMED]]
    more = len(rows) - len(lines)
    instants = [at for _, at, *_ in ended]
    return Digest(
        endpoint=endpoint,
        count=len(rows),
        since=min(instants),
        until=max(instants),
        outcomes=dict(counted.most_common()),
        text="\n".join([*lines, *([f"- and {more} more"] if more else [])]),
        scripted=all(row.scripted for row in rows),
    )


def _line(row: RunRow) -> str:
    at = f", {spell_instant(row.finished_at)}" if row.finished_at else ""
    why = f": {one_line(row.reason, 100)}" if row.reason else ""
    return f"- **{one_line(row.job, 60)}** {str(row.outcome or '').replace('_', ' ')}{at}, `{row.run_id}`{why}"
