"""Read events for PagerDuty, which shows them as plain text."""

from __future__ import annotations

from tests.core.delivery.kind import Kind
from tests.core.delivery.recorded import AT, REPORT

KIND = Kind(
    measures={
        "summary": lambda payload: [payload["payload"]["summary"]],
        "dedup_key": lambda payload: [payload["dedup_key"]],
        "links": lambda payload: len(payload.get("links", [])),
    },
    options=({}, {"source": "db1", "severity": "critical"}),
    shows_command=False,
    example=REPORT.model_copy(update={"outcome": "failed", "reason": "no space left", "finished_at": AT}),
)
