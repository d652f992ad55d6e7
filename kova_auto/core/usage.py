"""Add up what calls of models have used: by day, job, run, agent, model or iteration, or by several."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import date
from enum import StrEnum
from zoneinfo import ZoneInfo

from kova_auto.core.errors import ConfigError
from kova_auto.core.ids import JobName, RunId, root_of
from kova_auto.core.scripted import SCRIPTED
from kova_auto.core.value import Value
from kova_auto.core.view import UsageRow


class By(StrEnum):
    """Say what a sum is of."""

    DAY = "day"
    JOB = "job"
    RUN = "run"
    AGENT = "agent"
    MODEL = "model"
    ITERATION = "iteration"


def parse_by(text: str) -> frozenset[By]:
    """Read names with commas between them.

    Raises:
        ConfigError: One of them is none.
    """
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in set(By)]:
        msg = f"wanted {', '.join(By)}, or several of them with commas between, found {unknown[0]!r}"
        raise ConfigError(msg)
    return frozenset(map(By, names))


class Group(Value):
    """Name what a sum is of; None where that does not part it.

    Attributes:
        agent: The definition of subagents; empty for the runs that no run dispatched.
    """

    day: date | None = None
    job: JobName | None = None
    run_id: RunId | None = None
    agent: str | None = None
    model: str | None = None
    iteration: int | None = None


class Used(Group):
    """Hold a sum.

    Attributes:
        calls: Calls of models that have used anything, those that failed included.
        failed: How many of these gave no reply; they are billed all the same.
        cost_usd: Of the calls whose price is known; None where that is none of them.
        unpriced: Calls whose price is not known.
    """

    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost_usd: float | None = 0.0
    unpriced: int = 0


class UsageReport(Value):
    """Hold sums, their total, and the models whose price is not known."""

    rows: tuple[Used, ...]
    total: Used
    unpriced_models: tuple[str, ...]


def report(rows: Sequence[UsageRow], by: Collection[By], zone: ZoneInfo) -> UsageReport:
    """Return what was used, in parts and in all.

    Args:
        rows: Oldest first; those of a script are left out: no model was called.
        by: What parts it; nothing makes one sum of it. A run's subagents are in its sum; iterations are of one run.
        zone: Whose days count.
    """
    parts: dict[Group, list[UsageRow]] = {}
    asked = [row for row in rows if not row.model.startswith(f"{SCRIPTED}/")]
    for row in asked:
        parts.setdefault(_group(row, by, zone), []).append(row)
    ordered = sorted(parts, key=lambda group: (group.day or date.min, group.job or ""))  # Else in order of time.
    return UsageReport(
        rows=tuple(_sum(parts[group], group) for group in ordered),
        total=_sum(asked, Group()),
        unpriced_models=tuple(sorted({row.model for row in asked if row.cost_usd is None})),
    )


def _group(row: UsageRow, by: Collection[By], zone: ZoneInfo) -> Group:
    return Group(
        day=row.at.astimezone(zone).date() if By.DAY in by else None,
        job=row.job if By.JOB in by else None,
        run_id=_run(row, by),
        agent=row.agent if By.AGENT in by else None,
        model=row.model if By.MODEL in by else None,
        iteration=row.iteration if By.ITERATION in by else None,
    )


def _run(row: UsageRow, by: Collection[By]) -> RunId | None:
    """Return the run that a row counts for: what subagents use is their root's, but each has iterations of its own."""
    if By.ITERATION in by:
        return row.run_id
    return root_of(row.run_id) if By.RUN in by else None


def _sum(rows: Iterable[UsageRow], group: Group) -> Used:
    found = list(rows)
    costs = [row.cost_usd for row in found if row.cost_usd is not None]
    return Used(
        **group.model_dump(),
        calls=len(found),
        failed=sum(row.failed for row in found),
        input_tokens=sum(row.input_tokens for row in found),
        cache_read_tokens=sum(row.cache_read_tokens for row in found),
        cache_write_tokens=sum(row.cache_write_tokens for row in found),
        output_tokens=sum(row.output_tokens for row in found),
        reasoning_tokens=sum(row.reasoning_tokens for row in found),
        cost_usd=sum(costs, 0.0) if costs or not found else None,
        unpriced=len(found) - len(costs),
    )
