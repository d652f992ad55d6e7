"""Walk along a run's facts once, and note for each iteration what the state at its end does not tell any more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kova_auto.core.event import (
    CallFinished,
    CallStarted,
    Event,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    RunRequested,
)
from kova_auto.core.ids import CallId
from kova_auto.core.loop.interludes import interlude
from kova_auto.core.loop.values import Interlude
from kova_auto.core.run import apply, fold, opened
from kova_auto.core.state import RunState


@dataclass
class Round:
    """Hold one iteration of an attempt.

    Attributes:
        call: The first call of the model.
        before: The state in which that was made.
        last: The last one.
        from_s: Running time of the attempt when the model was first asked.
        to_s: The same at its last fact.
    """

    attempt: int
    call: ModelCallStarted
    before: RunState
    last: ModelCallStarted
    from_s: float
    to_s: float
    failures: list[ModelCallFailed] = field(default_factory=list)
    reply: ModelReplied | None = None


@dataclass
class Walk:
    """Hold what was noted.

    Attributes:
        state: What the facts add up to.
        took_s: Running time of each call that was started and has its result.
        beside: Calls that were being executed at the same time as each.
    """

    state: RunState
    rounds: list[Round] = field(default_factory=list)
    interludes: list[Interlude] = field(default_factory=list)
    took_s: dict[CallId, float] = field(default_factory=dict)
    beside: dict[CallId, set[CallId]] = field(default_factory=dict)
    _began_s: dict[CallId, float] = field(default_factory=dict)

    def step(self, event: Event) -> None:
        """Go on by one fact."""
        before, self.state = self.state, apply(self.state, event)
        if found := interlude(event, before):
            self.interludes.append(found)
        match event:
            case ModelCallStarted():
                self._asked(event, before)
            case ModelReplied():
                self._newest().reply = event
            case ModelCallFailed():
                self._newest().failures.append(event)
            case CallStarted():
                self._began_s[event.call_id] = self.state.ran_s
                self._join(event.call_id, before)
            case CallFinished():
                self._newest()
                if event.call_id in self._began_s:
                    self.took_s[event.call_id] = self.state.ran_s - self._began_s[event.call_id]
            case _:
                pass

    def _join(self, call_id: CallId, before: RunState) -> None:
        """Note beside which calls one is being executed; what was before it was begun anew does not count."""
        others = {other.call.id for other in before.under_way}
        self.beside[call_id] = others
        for other in others:
            self.beside[other].add(call_id)

    def _asked(self, event: ModelCallStarted, before: RunState) -> None:
        newest = self.rounds[-1] if self.rounds else None
        if newest and (newest.attempt, newest.call.iteration) == (self.state.attempt, event.iteration):
            newest.last = event
        else:
            now_s = self.state.ran_s
            self.rounds.append(Round(self.state.attempt, event, before, event, now_s, now_s))

    def _newest(self) -> Round:
        """Return the iteration that goes on, and note that it has come as far as the state."""
        newest = self.rounds[-1]
        newest.to_s = self.state.ran_s
        return newest


def walk(events: Sequence[Event]) -> Walk:
    """Walk along a run's facts, oldest first.

    Raises:
        IllegalEventError: They are no run's facts.
    """
    first = events[0] if events else None
    if not isinstance(first, RunRequested):
        return Walk(fold(events))  # Which refuses them.
    walked = Walk(opened(first))
    for event in events[1:]:
        walked.step(event)
    return walked
