"""Show what calls of models have used: as rows of a table, with their total and what is not known."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kova_auto.cli.output import table
from kova_auto.core.usage import By, UsageReport, Used

_COUNTS = (
    ("CALLS", "calls"),
    ("FAILED", "failed"),
    ("INPUT", "input_tokens"),
    ("CACHED", "cache_read_tokens"),
    ("WRITTEN", "cache_write_tokens"),
    ("OUTPUT", "output_tokens"),
    ("REASONING", "reasoning_tokens"),
)
_NAMES = (
    (By.DAY, "day"),
    (By.JOB, "job"),
    (By.RUN, "run_id"),
    (By.AGENT, "agent"),
    (By.ITERATION, "iteration"),
    (By.MODEL, "model"),
)
TOTAL = "total"
ITSELF = "(run)"
"""Stands for the runs that no run dispatched; no subagent can be called that."""


def usage_lines(report: UsageReport, by: Collection[By]) -> Iterator[str]:
    """Yield the table, and what has to be said about its prices."""
    parts = [(part, name) for part, name in _NAMES if part in by or (part is By.RUN and By.ITERATION in by)]
    head = (*(part.upper() for part, _ in parts), *(label for label, _ in _COUNTS), "COST")
    rows = [(*(_named(used, name) for _, name in parts), *_figures(used)) for used in report.rows]
    yield table(head, [*rows, (TOTAL, *("" for _ in parts[1:]), *_figures(report.total))])
    if names := ", ".join(report.unpriced_models):
        yield ""
        yield f"No price is known of {names}: what it cost is in no sum."


def _named(used: Used, name: str) -> str:
    return ITSELF if used.agent == "" and name == "agent" else str(getattr(used, name))


def _figures(used: Used) -> tuple[str, ...]:
    return *(f"{getattr(used, name):,}" for _, name in _COUNTS), spell_sum(used)


def spell_sum(used: Used) -> str:
    """Return the price of a sum, and whether it is the whole of it."""
    if used.cost_usd is None:
        return "—"
    return f"{'at least ' if used.unpriced else ''}{used.cost_usd:.4f} USD"
