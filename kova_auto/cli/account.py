"""Tell of one run as its facts arrive: keep them, fold them, and show each as lines or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from kova_auto.cli.doing import doing
from kova_auto.cli.progress import progress, summary
from kova_auto.cli.screen import Screen
from kova_auto.core.delivery.notice import SCRIPTED
from kova_auto.core.delivery.text import clean
from kova_auto.core.event import Event, RunFinished, RunRequested
from kova_auto.core.run import RunState, apply, opened

if TYPE_CHECKING:
    from kova_auto.app.control import Placed


class Account:
    """Hold the facts of one run that have arrived so far."""

    def __init__(self, screen: Screen, *, as_json: bool) -> None:
        """Begin before the first fact."""
        self.screen, self._as_json = screen, as_json
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

    def take(self, facts: Sequence[Placed], *, is_shown: bool = True) -> None:
        """Take in further facts, in their order."""
        for placed in facts:
            event, self.seq = placed.event, placed.seq
            self.events.append(event)
            self._state = opened(event) if isinstance(event, RunRequested) else apply(self.state, event)
            if is_shown and self._as_json:
                self.screen.result(placed.model_dump_json())
            elif is_shown:
                self._show(event)

    def _show(self, event: Event) -> None:
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

    def show_doing(self, now: datetime) -> None:
        """Show what the run is doing at this moment."""
        if not self._as_json:
            self.screen.status(doing(self.state, now) if self._state else "")
