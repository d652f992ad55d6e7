"""Stay with a model: what "auto" means to a scheduled run changes only where somebody is there to see it."""

from __future__ import annotations

from collections.abc import Iterable

from kova_auto.core.view import RunRow


def stays_with(means: str, last_runs: Iterable[RunRow]) -> RunRow | None:
    """Return the run whose model the next scheduled run of a job stays with; None where it is what "auto" means now.

    A model that never answered is nothing to stay with, and a script is no model.

    Args:
        means: `provider/model` that "auto" is at this moment.
        last_runs: Of the job, newest first.
    """
    last = next((row for row in last_runs if row.iterations and not row.scripted), None)
    return last if last and last.model != means else None
