"""Show a run as the loop it was: iterations, what each was trying to do, what came of it, and why it stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kova_auto.core.errors import ConfigError
from kova_auto.core.estimate import next_input
from kova_auto.core.event import Event, ModelCallFailed, ModelReplied
from kova_auto.core.goal.view import goal_view
from kova_auto.core.ids import RunId
from kova_auto.core.loop.calls import loop_call
from kova_auto.core.loop.values import Iteration, LoopAttempt, LoopCall, LoopFailure, LoopView
from kova_auto.core.loop.walk import Round, Walk, walk
from kova_auto.core.loop.why import why_it_stopped
from kova_auto.core.retrying import said_ended
from kova_auto.core.state import NO_USAGE, RunState
from kova_auto.core.value import Value

Family = Mapping[RunId, Sequence[Event]]
"""The facts of runs that others have dispatched, oldest first."""
ALONE: Final[Family] = MappingProxyType({})


def loop_view(events: Sequence[Event], family: Family = ALONE) -> LoopView:
    """Return the loop that a run's facts tell of, oldest first.

    Args:
        events: Of the run.
        family: Of its subagents and theirs: their loops stand in the calls that dispatched them.

    Raises:
        IllegalEventError: They are no run's facts.
    """
    walked = walk(events)
    state, by = walked.state, walked.state.request.child_of
    return LoopView(
        run_id=state.run_id,
        job=state.job.name,
        scripted=state.request.scripted,
        execution=state.execution,
        outcome=state.finished.outcome if state.finished else None,
        why=why_it_stopped(state),
        attempt=state.attempt,
        ran_s=state.ran_s,
        tokens=state.usage.tokens,
        cost_usd=state.usage.cost_usd,
        iterations=tuple(_iteration(found, walked, family) for found in walked.rounds),
        attempts=attempts_of(state),
        interludes=tuple(walked.interludes),
        goal=goal_view(state),
        continues=state.request.continues,
        parent=by.run_id if by else None,
        agent=by.agent if by else "",
        title=by.title if by else "",
    )


def attempts_of(state: RunState) -> tuple[LoopAttempt, ...]:
    """Return what began each attempt but the first, oldest first."""
    return tuple(
        LoopAttempt(
            number=retried.attempt,
            at=retried.at,
            by=retried.by,
            not_before=retried.not_before,
            because=said_ended(retried),
        )
        for retried in state.retried
    )


def narrowed(view: LoopView, *, attempt: int | None = None, iteration: int | None = None) -> LoopView:
    """Return a loop with one attempt, or one iteration, of it alone; what it adds up to stays.

    Raises:
        ConfigError: The run has no such attempt or iteration.
    """
    if attempt is not None and not 1 <= attempt <= view.attempt:
        message = f"wanted an attempt from 1 to {view.attempt}, found {attempt}"
        raise ConfigError(message, key="--attempt")
    iterations = [found for found in view.iterations if attempt in (None, found.attempt)]
    if iteration is not None and iteration not in (there := [found.number for found in iterations]):
        wanted = f"from {there[0]} to {there[-1]}" if there else "that has begun"
        message = f"wanted an iteration {wanted}, found {iteration}"
        raise ConfigError(message, key="--iteration")
    shown: dict[str, Sequence[Value]] = {
        "iterations": [found for found in iterations if iteration in (None, found.number)],
        "attempts": [found for found in view.attempts if attempt in (None, found.number) and iteration is None],
        "interludes": [
            found for found in view.interludes if attempt in (None, found.attempt) and iteration in (None, found.before)
        ],
    }
    return view.model_copy(update={name: tuple(found) for name, found in shown.items()})


def _iteration(found: Round, walked: Walk, family: Family) -> Iteration:
    reply = found.reply
    used = NO_USAGE.plus(reply.reply.usage) if reply else NO_USAGE
    for usage in (event.usage for event in found.failures if event.usage):
        used = used.plus(usage)
    counted = reply.reply.usage.input_tokens if reply else 0
    return Iteration(
        number=found.call.iteration,
        attempt=found.attempt,
        began_at=found.call.at,
        took_s=found.to_s - found.from_s,
        first_token_s=_first_token_s(found),
        model=found.last.model,
        intent=_intent(reply) if reply else "",
        replied=reply is not None,
        stop=reply.reply.stop if reply else None,
        asides=found.call.asides,
        context_tokens=counted or next_input(found.before),
        context_estimated=not counted,
        tokens_in=used.input_tokens,
        tokens_out=used.output_tokens,
        tokens_cached=used.cache_read_tokens,
        cost_usd=used.cost_usd,
        failures=tuple(_failure(event) for event in found.failures),
        calls=tuple(_calls(reply, walked, family)) if reply else (),
    )


def _calls(reply: ModelReplied, walked: Walk, family: Family) -> Iterator[LoopCall]:
    keys = [call.id for call in reply.calls]
    for key in keys:
        others = walked.beside.get(key, ())
        beside = tuple(other for other in keys if other in others)
        shown = loop_call(walked.state.calls[key], walked.took_s.get(key), beside)
        child = walked.state.children.get(key)
        nested = loop_view(family[child.run_id], family) if child and child.run_id in family else None
        yield shown.model_copy(update={"child": child.run_id if child else None, "subagent": nested})


def _first_token_s(found: Round) -> float | None:
    first_at = found.reply.first_at if found.reply else None
    return None if first_at is None else max((first_at - found.last.at).total_seconds(), 0.0)


def _failure(event: ModelCallFailed) -> LoopFailure:
    used = event.usage or NO_USAGE
    return LoopFailure(
        at=event.at,
        error=event.error,
        message=event.message,
        retry_at=event.retry_at,
        tokens=used.tokens,
        cost_usd=used.cost_usd,
    )


def _intent(reply: ModelReplied) -> str:
    names = ", ".join(dict.fromkeys(call.tool for call in reply.calls))
    said = (reply.reply.text.strip(), reply.reply.reasoning.strip(), f"calls {names}" if names else "")
    return next((text for text in said if text), "")
