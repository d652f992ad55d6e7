"""Tell of one run as its facts arrive: keep them, fold them, and show each as lines or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from kova_auto.cli.doing import doing
from kova_auto.cli.output import DIM
from kova_auto.cli.progress import progress, summary
from kova_auto.cli.screen import Screen
from kova_auto.core.delivery.notice import SCRIPTED
from kova_auto.core.delivery.text import clean, one_line
from kova_auto.core.event import Event, RunFinished, RunRequested
from kova_auto.core.run import RunState, apply, opened

if TYPE_CHECKING:
    from kova_auto.app.control import Placed

_NAME: Final = 40


class Account:
    """Hold the facts of one run that have arrived so far."""

    def __init__(self, screen: Screen, *, as_json: bool, above: Account | None = None) -> None:
        """Begin before the first fact.

        Args:
            screen: Where it is told.
            as_json: Show facts as JSON; those of subagents are not shown then: each has a journal of its own.
            above: Of the run that has dispatched this one, where that is shown too.
        """
        self.screen, self._as_json, self._above = screen, as_json, above
        self.depth: int = above.depth + 1 if above else 0
        self.events: list[Event] = []
        self.seq = 0
        self._state: RunState | None = None

    @property
    def state(self) -> RunState:
        """Return what the facts add up to; only after the first has arrived."""
        if self._state is None:
            msg = "wanted the fact that opens the run, found none"
            raise LookupError(msg)
        return self._state

    @property
    def has_begun(self) -> bool:
        """Say whether its first fact has arrived."""
        return self._state is not None

    @property
    def name(self) -> str:
        """Return how a subagent is called beneath those that are shown above it; empty for what stands by itself."""
        by = self._state.request.child_of if self._state else None
        if by is None or self._above is None:
            return ""
        above = f"{self._above.name} > " if self._above.name else ""
        return f"{above}{one_line(by.agent, _NAME)} {by.call_id}"

    def beneath(self) -> Account:
        """Return the account of a run that this one has dispatched, before its first fact."""
        return Account(self.screen, as_json=self._as_json, above=self)

    def take(self, facts: Sequence[Placed], *, is_shown: bool = True) -> None:
        """Take in further facts, in their order."""
        for placed in facts:
            event, self.seq = placed.event, placed.seq
            self.events.append(event)
            self._state = opened(event) if isinstance(event, RunRequested) else apply(self.state, event)
            if is_shown and self._as_json and not self.depth:
                self.screen.result(placed.model_dump_json())
            elif is_shown and not self._as_json:
                self._show(event)

    def _show(self, event: Event) -> None:
        if self.depth:
            margin = f"  {self.name} │ "
            beneath = replace(self.screen.ink, width=self.screen.ink.width - len(margin))
            for line in () if isinstance(event, RunRequested) else progress(event, self.state, beneath):
                self.screen.line(f"{self.screen.ink(margin, DIM)}{line}")
            return
        for line in progress(event, self.state, self.screen.ink):
            self.screen.line(line)
        if isinstance(event, RunFinished):
            self._conclude(event.answer)

    def _conclude(self, answer: str) -> None:
        """Show the final answer, and what came of the run; where they part, each says that no model was called."""
        screen = self.screen
        mark = SCRIPTED if self.state.request.scripted and not screen.is_one else ""
        parts = [part for part in (clean(answer).strip("\n"), mark) if part]
        if screen.is_one:
            screen.line()
        if parts:
            screen.result("\n\n".join(parts))
        if parts and screen.is_one:
            screen.line()
        for text in summary(self.state, screen.ink):
            screen.line(text)

    def show_doing(self, now: datetime, children: Sequence[RunState] = ()) -> None:
        """Show what the run is doing at this moment, and its subagents where it waits for them."""
        if not self._as_json:
            self.screen.status(doing(self.state, now, children) if self._state else "")
