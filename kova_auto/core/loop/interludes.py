"""Tell what happens to a run between its iterations: one sentence for each fact that is about none of them."""

from __future__ import annotations

from kova_auto.core.approval.levels import Mode
from kova_auto.core.call_state import CallState
from kova_auto.core.delivery.document import count
from kova_auto.core.event import (
    CallFinished,
    ChangesSettled,
    CheckResult,
    ChecksFinished,
    ChildFinished,
    ChildrenStopped,
    ClockMoved,
    CompactionFailed,
    ContextAssembled,
    ContextCompacted,
    Event,
    ModeEntered,
    ModelReplied,
    RunAcquired,
    StopRequested,
    WorkspaceAwaited,
)
from kova_auto.core.goal.turns import turns_of
from kova_auto.core.ids import CallId
from kova_auto.core.loop.values import Interlude, InterludeKind
from kova_auto.core.source import Source
from kova_auto.core.state import NO_USAGE, RunState, replace


def interlude(event: Event, before: RunState) -> Interlude | None:
    """Return what a fact tells of the time between two iterations; None where it tells nothing of it.

    Args:
        event: The fact.
        before: The state that it was written in.
    """
    told = _told(event, before)
    if told is None:
        return None
    kind, text = told
    used = event.usage if isinstance(event, CompactionFailed | ContextCompacted) else None
    used = used or NO_USAGE
    return Interlude(
        at=event.at,
        attempt=before.attempt,
        before=before.iteration + (2 if isinstance(event, ModelReplied) else 1),
        kind=kind,
        text=text,
        tokens=used.tokens,
        cost_usd=used.cost_usd,
    )


def _told(event: Event, before: RunState) -> tuple[InterludeKind, str] | None:
    match event:
        case RunAcquired(lease_broken=True):
            return (
                InterludeKind.TAKEN_UP,
                f"the process that had the run was lost{_during(before)}; it was taken up again",
            )
        case ClockMoved():
            return (
                InterludeKind.CLOCK,
                f"the clock was set, or the machine slept: {event.ran_s:.1f} s had really gone by",
            )
        case WorkspaceAwaited():
            return (
                InterludeKind.WORKSPACE,
                f"it had to wait for run {event.holder} of {event.job}, which had its workspace",
            )
        case StopRequested():
            because = f": {event.reason}" if event.reason else ""
            return InterludeKind.STOP, f"{event.by} had it ended as {event.outcome.replace('_', ' ')}{because}"
        case ChildFinished():
            return InterludeKind.SUBAGENT, _ended(event, before)
        case ChildrenStopped():
            return InterludeKind.SUBAGENT, f"{count(len(event.call_ids), 'subagent')} had to end first: {event.reason}"
        case ChangesSettled():
            return InterludeKind.CHANGES, f"what it left was {event.how} by {event.by}"
        case _:
            return _told_of_turn(event, before)


def _told_of_turn(event: Event, before: RunState) -> tuple[InterludeKind, str] | None:
    """Return what is told of what the model is shown, and of what is made of its answer."""
    match event:
        case ContextAssembled() if event.sources:
            return InterludeKind.CONTEXT, f"besides its prompt: {'; '.join(map(said_of_source, event.sources))}"
        case CompactionFailed():
            return (
                InterludeKind.COMPACTION,
                f"the older iterations could not be summed up ({event.error}): {event.message}",
            )
        case ContextCompacted():
            return InterludeKind.COMPACTION, _compacted(event)
        case ModeEntered():
            said = before.call(event.call_id).decision
            by = f", as {said.by} let it" if said else ""
            return InterludeKind.MODE, f"it goes on in mode {event.mode}{by} (call {event.call_id})"
        case ChecksFinished():
            return InterludeKind.CHECKS, f"the answer was checked: {'; '.join(map(said_of_check, event.results))}"
        case ModelReplied() | CallFinished() if before.mode is Mode.GOAL:
            text = _goal(event, before)
            return (InterludeKind.GOAL, text) if text else None
        case _:
            return None


def _goal(event: ModelReplied | CallFinished, before: RunState) -> str:
    """Return what a fact tells of a goal: a turn that ended, criteria, what they came to; empty for anything else."""
    if isinstance(event, ModelReplied):
        turns = turns_of(replace(before, replies=(*before.replies, event), calls={**before.calls, **_new(event)}))
        return f"turn {turns[-1].number} of {before.job.goal.turns} ended" if turns[-1].has_ended else ""
    if event.result.criteria:
        return f"it is to be judged by: {'; '.join(event.result.criteria)}"
    judged = (f"{one.id} {'met' if one.met else 'not met'}" for one in event.result.judged or ())
    return f"it was called reached: {', '.join(judged)}" if event.result.judged else ""


def _new(event: ModelReplied) -> dict[CallId, CallState]:
    return {call.id: CallState(call) for call in event.calls}


def _ended(event: ChildFinished, before: RunState) -> str:
    """Return how a subagent ended, and why where its outcome does not say that."""
    child = before.children[event.call_id]
    title = f" ({child.title})" if child.title else ""
    outcome = event.outcome.replace("_", " ") + (", partial" if event.partial else "")
    because = f": {event.reason}" if event.reason else ""
    return f"the subagent {child.agent}{title} of call {event.call_id} ended as {outcome}{because}"


def said_of_source(source: Source) -> str:
    """Return what a run was shown, and how much of it; or why it was not."""
    what = f"{source.kind} {source.name}"
    if source.problem:
        return f"not {what}, as {source.problem}"
    size = f" ({source.chars:,} characters{', cut' if source.cut else ''})" if source.chars else ""
    return f"{what}{size}"


def _compacted(event: ContextCompacted) -> str:
    what = f"the iterations up to {event.through} were folded" if event.through else "the history was folded"
    how = {"summary": "a summary", "trimmed": "a summary of a part of them", "fresh": "no summary"}[event.strategy]
    why = "the provider found the request too large" if event.reason == "overflow" else "the window was nearly full"
    back = f"; put back: {', '.join(event.restored)}" if event.restored else ""
    return f"{what} ({how}), as {why}: about {event.tokens_before:,} tokens became {event.tokens_after:,}{back}"


def said_of_check(result: CheckResult) -> str:
    """Return what a command came to that checked the answer."""
    came_to = "did not end by itself" if result.exit_code is None else f"ended with {result.exit_code}"
    return f"`{result.command}` {came_to} after {result.took_s:.1f} s"


def _during(before: RunState) -> str:
    """Return what was going on when a process was lost; empty where that was nothing in particular."""
    if before.calling:
        return f" while {before.calling.model} was asked"
    if before.compacting:
        return f" while {before.compacting.model} was asked for a summary"
    calls = before.under_way
    if not calls and before.unsettled and before.unsettled.started:  # It was being recovered.
        calls = (before.unsettled,)
    named = [f"call {call.call.id} ({call.call.tool})" for call in calls]
    return f" during {', '.join(named)}" if named else ""
