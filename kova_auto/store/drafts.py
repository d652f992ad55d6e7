"""Work out what one fact changes, before or inside the transaction that writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kova_auto.core.errors import FencedError, IllegalEventError
from kova_auto.core.event import Event
from kova_auto.core.ids import RunId
from kova_auto.core.run import RunState, apply
from kova_auto.core.view import run_columns
from kova_auto.store.rows import changed

_REMEMBERED = 1024
Facts = tuple[tuple[Event, str], ...]


@dataclass(frozen=True, slots=True)
class Draft:
    """Hold facts that follow, and what is written because of them.

    Attributes:
        facts: Each with its JSON, in their order.
        row: What is in the run's row afterwards, column by column.
        columns: Those of it that change.
    """

    before: RunState
    after: RunState
    facts: Facts
    row: tuple[object, ...]
    columns: Mapping[str, Any]

    @property
    def outcome(self) -> Draft:
        """Return it without what only its writing needed: who waits for it may be told much later."""
        return Draft(self.after, self.after, (), self.row, {})


class Drafts:
    """Draft facts, and remember the last row of each run under way: what was written is never folded again."""

    def __init__(self) -> None:
        self._rows: dict[RunId, tuple[int, tuple[object, ...]]] = {}

    def draft(self, before: RunState, facts: Facts, epoch: int | None = None, reached: RunState | None = None) -> Draft:
        """Work out what writing facts changes.

        Args:
            before: The run as it is.
            facts: In their order.
            epoch: Of the worker that writes them; None for somebody else.
            reached: What the first of them make of `before`, as many as it is further; None: not worked out yet.

        Raises:
            FencedError: `epoch` does not hold the run.
            IllegalEventError: One of the facts cannot follow.
        """
        if epoch is not None and epoch != before.epoch:
            msg = f"run {before.run_id} was taken by another worker (epoch {before.epoch}, this one has {epoch})"
            raise FencedError(msg)
        after = reached or before
        for event, _ in facts[after.seq - before.seq :]:
            after = apply(after, event)
        columns = run_columns(after)
        return Draft(before, after, facts, tuple(columns.values()), changed(self._row(before), columns))

    def early(self, state: RunState, facts: Facts, epoch: int | None, reached: RunState | None = None) -> Draft | None:
        """Work out the same outside the transaction; None where only the journal can tell whether it is refused."""
        try:
            return self.draft(state, facts, epoch, reached)
        except (FencedError, IllegalEventError):
            return None

    def written(self, draft: Draft) -> RunState:
        """Remember the row of a draft that is committed, and return its state."""
        after = draft.after
        if after.finished:
            self._rows.pop(after.run_id, None)
            return after
        if len(self._rows) > _REMEMBERED:
            self._rows.clear()
        self._rows[after.run_id] = (after.seq, draft.row)
        return after

    def _row(self, state: RunState) -> tuple[object, ...]:
        seq, row = self._rows.get(state.run_id, (0, None))
        return row if row is not None and seq == state.seq else tuple(run_columns(state).values())
