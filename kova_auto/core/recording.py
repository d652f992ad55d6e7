"""One attempt of a run as a recording: what its model said, what its calls brought, and how long each took.

It is the list of its facts, read once more; nothing here was written for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kova_auto.core.call_state import CallState
from kova_auto.core.errors import ConfigError
from kova_auto.core.event import (
    CallFinished,
    ChecksFinished,
    CompactionFailed,
    CompactionStarted,
    ContextAssembled,
    ContextCompacted,
    Event,
    FamilyCounted,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    RunFinished,
    RunRequested,
    RunRetried,
)
from kova_auto.core.ids import CallId, iteration_of
from kova_auto.core.job import Outcome
from kova_auto.core.message import ToolCall
from kova_auto.core.repetition import canonical
from kova_auto.core.run import apply, fold
from kova_auto.core.state import RunState
from kova_auto.core.state import replace as kept
from kova_auto.core.step import next_step
from kova_auto.core.steps import BeginAgain, Finish


@dataclass(frozen=True, slots=True)
class Line:
    """Hold what a model answered when it was asked, or why it did not.

    Attributes:
        idle_s: Running time between what had been recorded before and the call of the model.
        took_s: Running time of that call.
    """

    asked: ModelCallStarted
    answer: ModelReplied | ModelCallFailed
    idle_s: float
    took_s: float


@dataclass(frozen=True, slots=True)
class Folding:
    """Hold one attempt to fold older iterations, and what came of it.

    Attributes:
        asked: None where no model was.
        idle_s: As of a line.
        took_s: Running time of the call of the model.
    """

    asked: CompactionStarted | None
    answer: CompactionFailed | ContextCompacted
    idle_s: float
    took_s: float


@dataclass(frozen=True, slots=True)
class Recording:
    """Hold one attempt.

    Attributes:
        begun: The state in which it began.
        state: What its facts add up to.
        lines: What its models answered, oldest first; calls of them that were cut off are left out.
        foldings: How older iterations were folded, oldest first; those that were cut off are left out.
        took_s: Running time of each call that has its result, the judging included; of those that were executed at the
            same time, what each took longer than the one that ended before it.
        checks: What the checks of answers came to, by iteration.
        counts: What the rest of the family had used, by the iteration that was to come.
    """

    begun: RunState
    state: RunState
    lines: tuple[Line, ...] = ()
    foldings: tuple[Folding, ...] = ()
    took_s: Mapping[CallId, float] = field(default_factory=dict)
    checks: Mapping[int, ChecksFinished] = field(default_factory=dict)
    counts: Mapping[int, FamilyCounted] = field(default_factory=dict)

    @property
    def replies(self) -> tuple[ModelReplied, ...]:
        """Return the replies of this attempt."""
        return self.state.replies[self.state.first_reply :]

    @property
    def calls(self) -> tuple[CallState, ...]:
        """Return the calls of this attempt in the model's order, and as the model wrote them."""
        return tuple(kept(self.state.calls[call.id], call=call) for reply in self.replies for call in reply.calls)

    def asking(self, request: RunRequested) -> Recording:
        """Return the same, to be replayed as if the run had been opened so."""
        return replace(self, begun=kept(self.begun, request=request))


def recording_of(events: Sequence[Event], attempt: int | None = None) -> Recording:
    """Return one attempt of a run.

    Args:
        events: All of the run's facts, oldest first.
        attempt: From 1; None for the last.

    Raises:
        ConfigError: The run has no such attempt.
    """
    starts = [0, *(place for place, event in enumerate(events) if isinstance(event, RunRetried)), len(events)]
    attempts = len(starts) - 1
    number = attempts if attempt is None else attempt
    if not 1 <= number <= attempts:
        message = f"wanted an attempt from 1 to {attempts}, found {number}"
        raise ConfigError(message, key="--attempt")
    begin, end = starts[number - 1] + 1, starts[number]
    recording = _recorded(fold(events[:begin]), events[begin:end])
    after = events[end] if end < len(events) else None
    if isinstance(after, RunRetried) and after.ended:
        return _ended(recording, after, after.ended)
    return recording


def _ended(recording: Recording, after: RunRetried, outcome: Outcome) -> Recording:
    """Return an attempt with its end, where the fact that begins the next is all that tells of it."""
    step = next_step(recording.state, after.at)
    end = step.end if isinstance(step, BeginAgain) else Finish(outcome)
    finished = RunFinished(
        at=after.at, outcome=outcome, answer=end.answer, reason=after.reason, partial=end.partial, fault=end.fault
    )
    return replace(recording, state=kept(recording.state, finished=finished, finished_at=after.at))


def _recorded(begun: RunState, events: Sequence[Event]) -> Recording:
    state, lines, foldings = begun, list[Line](), list[Folding]()
    took, checks, counts = dict[CallId, float](), dict[int, ChecksFinished](), dict[int, FamilyCounted]()
    mark_s = asked_s = 0.0
    for event in events:
        asked, summing = state.calling, state.compacting
        state = apply(state, event)
        match event:
            case ModelCallStarted() | CompactionStarted():
                asked_s = state.ran_s
                continue
            case ContextAssembled():  # What came before is no running time, and a replay makes nothing to work in.
                pass
            case ModelReplied() | ModelCallFailed() if asked:
                lines.append(Line(asked, event, asked_s - mark_s, state.ran_s - asked_s))
            case CompactionFailed() | ContextCompacted():
                since_s = asked_s if summing else state.ran_s
                foldings.append(Folding(summing, event, since_s - mark_s, state.ran_s - since_s))
            case CallFinished():
                took[event.call_id] = state.ran_s - mark_s
            case ChecksFinished():
                checks[event.iteration] = event
            case FamilyCounted():
                counts[state.iteration + 1] = event
                continue
            case _:
                continue
        mark_s = state.ran_s
    return Recording(begun, state, tuple(lines), tuple(foldings), took, checks, counts)


@dataclass(frozen=True, slots=True)
class Pair:
    """Name the recorded call that stands for one of a replay; `moved` where it stood elsewhere."""

    recorded: CallId
    moved: bool


@dataclass(frozen=True, slots=True)
class Pairing:
    """Know which recorded call stands for which call of a replay: each for one at most.

    Attributes:
        recorded: The calls of the recording, in its order.
        pairs: By the ids that the calls have in the replay; a call that the recording does not hold is missing.
        place: How far the recording has been followed: the place of the call that was found furthest on.
    """

    recorded: tuple[CallState, ...]
    pairs: Mapping[CallId, Pair] = field(default_factory=dict)
    place: int = -1

    def plus(self, call: ToolCall, iteration: int) -> Pairing:
        """Return this with one more call of the replay: the next of its kind in the recording, or else any.

        Of one kind are calls of one tool with equal arguments; what a provider calls them does not count.
        """
        key = (call.tool, canonical(call))
        used = {pair.recorded for pair in self.pairs.values()}
        places = [
            place
            for place, known in enumerate(self.recorded)
            if known.call.id not in used and (known.call.tool, canonical(known.call)) == key
        ]
        if not places:
            return self
        place = next((place for place in places if place > self.place), places[0])
        found = self.recorded[place].call.id
        moved = place < self.place or iteration_of(found) != iteration
        return replace(self, pairs={**self.pairs, call.id: Pair(found, moved)}, place=max(place, self.place))

    def of(self, call_id: CallId) -> CallState | None:
        """Return what is recorded of a call of the replay."""
        pair = self.pairs.get(call_id)
        return next((known for known in self.recorded if pair and known.call.id == pair.recorded), None)
