"""Walk a whole family: whoever can go on does a step, workers die, persons answer, and time goes by where all wait."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from hypothesis import strategies as st

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.children.reports import told_parent
from kova_auto.core.dispatching import Dispatch, child_of
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import (
    ApprovalDecided,
    CallAdjudicated,
    CallFinished,
    ContextAssembled,
    Event,
    ModelCallStarted,
    RunAcquired,
    RunRequested,
    StopRequested,
)
from kova_auto.core.ids import CallId, RunId, child_run_id
from kova_auto.core.job import Outcome
from kova_auto.core.message import Message, TextPart
from kova_auto.core.run import RunState, apply, opened
from kova_auto.core.step import next_step
from kova_auto.core.steps import AwaitApproval, AwaitChildren, AwaitUntil, Resting, StopChildren
from kova_auto.core.subagents.definition import Subagent
from kova_auto.engine.conversation import conversation
from tests.properties.deeds import DISPATCHES, READS, SECOND, WAITS, Draw, recorded
from tests.support import replied, ruled, says

AGENT = Subagent(name="explorer", description="Looks.", prompt="Look.", tools=("read", "bash"), max_turns=3)
MOST_STEPS = 2_000
DEEPEST = 2


@dataclass
class Family:
    """Hold the runs of a family, and what each model was shown.

    Attributes:
        runs: By id, the root first.
        shown: What a run's model was sent, oldest first, with the attempt and how often older replies were folded.
        waits: Instants for which somebody waits, while a step looks for whoever can go on.
    """

    draw: Draw
    now: datetime
    runs: dict[RunId, RunState] = field(default_factory=dict)
    shown: dict[RunId, list[tuple[tuple[int, int], tuple[Message, ...]]]] = field(default_factory=dict)

    def open(self, request: RunRequested) -> None:
        if request.run_id not in self.runs:
            self.runs[request.run_id] = opened(request)

    def write(self, run_id: RunId, event: Event) -> None:
        """Write a fact, and into a parent's journal what comes of it."""
        before = self.runs[run_id]
        after = self.runs[run_id] = apply(before, event)
        if isinstance(event, ModelCallStarted):
            key = (after.attempt, len(after.compactions))
            self.shown.setdefault(run_id, []).append((key, conversation(after)))
        by = after.request.child_of
        if by and after.finished and not before.finished and (told := told_parent(after, after.finished)):
            with suppress(IllegalEventError):
                self.write(by.run_id, told)

    def walk(self) -> None:
        """Go on until all have finished, or for so many steps."""
        for _ in range(MOST_STEPS):
            open_runs = [state for state in self.runs.values() if not state.finished]
            if not open_runs:
                return
            self.now += SECOND
            ready = [state for state in open_runs if not isinstance(next_step(state, self.now), Resting)]
            if ready:
                self.step(self.draw(st.sampled_from(ready)))
            else:
                self.rest(open_runs)

    def rest(self, waiting: list[RunState]) -> None:
        """Have a person answer, or let time go by until somebody can go on."""
        steps = [(state, next_step(state, self.now)) for state in waiting]
        asking = [(state, step) for state, step in steps if isinstance(step, AwaitApproval)]
        until = [step.until for _, step in steps if isinstance(step, AwaitUntil | AwaitChildren) and step.until]
        if asking and (not until or self.draw(st.booleans())):
            state, step = self.draw(st.sampled_from(asking))
            answer = self.draw(st.sampled_from(Decision))
            self.write(state.run_id, ApprovalDecided(at=self.now, call_id=step.call_id, decision=answer, by="ada"))
        else:
            assert until, f"nobody can go on: {steps}"
            self.now = max(self.now, min(until) - SECOND)

    def step(self, state: RunState) -> None:
        """Have a worker take a run and do what it does next; it may die anywhere in it."""
        if self.draw(st.integers(0, 60)) == 60 and not state.stop:
            stop = StopRequested(at=self.now, outcome=Outcome.CANCELLED, reason="enough", by="ada")
            self.write(state.run_id, stop)
            state = self.runs[state.run_id]
        step = next_step(state, self.now)
        if isinstance(step, StopChildren):
            self.stop(state, step)
        events = list(recorded(step, state, self.now, self.draw))
        dies_at = self.draw(st.sampled_from([len(events), len(events), self.draw(st.integers(0, len(events)))]))
        for event in events[:dies_at]:
            self.write(state.run_id, self.dispatched(self.runs[state.run_id], event))
        current = self.runs[state.run_id]
        for key in current.open_calls:
            call = current.calls[key]
            if call.call.tool == "Task" and call.started and not call.result and self.draw(st.booleans()):
                self.child(current, key)  # Its worker died after it had opened the run, and before it said so.

    def dispatched(self, state: RunState, event: Event) -> Event:
        """Open the run of a child that a call has dispatched; a call whose child is there says so."""
        if not isinstance(event, CallFinished) or state.call(event.call_id).call.tool != "Task":
            return event
        run_id = child_run_id(state.run_id, event.call_id)
        if event.result.child:
            self.child(state, event.call_id)
        return event.model_copy(update={"result": event.result.but(child=run_id if run_id in self.runs else None)})

    def child(self, state: RunState, key: CallId) -> None:
        self.open(child_of(state, Dispatch(key, AGENT, "look", deepest=DEEPEST), self.now))

    def stop(self, state: RunState, step: StopChildren) -> None:
        for call_id in step.call_ids:
            child = self.runs.get(state.children[call_id].run_id)
            if child and not child.finished and not child.stop:
                wish = StopRequested(at=self.now, outcome=Outcome.CANCELLED, reason=step.reason, by="parent")
                self.write(child.run_id, wish)


def walked(request: RunRequested, draw: Draw) -> Family:
    """Return a family that has come to its end; it begins with a reply that dispatches some, and may wait for them."""
    family = Family(draw, request.at)
    family.open(request)
    asked = [*[DISPATCHES] * draw(st.integers(0, 3)), *draw(st.sampled_from([[], [WAITS]]))]
    reply = replied(1, says("", *asked, READS), when=request.at)
    begun: list[Event] = [
        RunAcquired(at=request.at, epoch=1, worker="one"),
        ContextAssembled(at=request.at, system="Be brief.", prompt=(TextPart(text="Look."),), tools=()),
        ModelCallStarted(at=request.at, iteration=1, model="test/model", request_hash="hash"),
        reply,
    ]
    for event in begun:
        family.write(request.run_id, event)
    for call in reply.calls:
        verdict = ruled(Ruling.ALLOW)
        family.write(request.run_id, CallAdjudicated(at=request.at, call_id=call.id, verdict=verdict))
    family.walk()
    return family
