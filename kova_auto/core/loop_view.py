"""Show a run as the loop it was: iterations, what each was trying to do, what came of it, and why it stopped.

A fold of the run's facts, like its status; nothing here was written for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from kova_auto.core.approval.levels import Ruling
from kova_auto.core.event import (
    CallFinished,
    Event,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    RunRetried,
)
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.retrying import said_ended
from kova_auto.core.run import CallState, Execution, RunState, fold
from kova_auto.core.state import NO_USAGE
from kova_auto.core.value import Value


class LoopCall(Value):
    """Show one tool call: what was asked, what was ruled, what came back.

    Attributes:
        arguments: As the model gave them; the text itself where they were no JSON object.
        ruling: None until it was adjudicated.
        status: None until it has its result.
        changed: Files that it wrote.
    """

    call_id: CallId
    tool: str
    arguments: dict[str, JsonValue] | str
    ruling: Ruling | None = None
    rule: str = ""
    decided_by: str | None = None
    status: ResultStatus | None = None
    result: str = ""
    changed: tuple[str, ...] = ()


class LoopFailure(Value):
    """Show one call of the model that gave no reply.

    Attributes:
        tokens: Read and written all the same.
        cost_usd: None where the price is not known.
    """

    at: datetime
    error: str
    message: str
    retry_at: datetime | None
    tokens: int = 0
    cost_usd: float | None = 0.0


class Iteration(Value):
    """Show one trip round the loop.

    Attributes:
        number: From 1, over all attempts.
        model: That was asked last: the one that replied, where one did.
        intent: What it was trying to do, in the model's words; its calls' names where it said nothing.
        took_s: From the first call of the model to the last result, seconds.
        replied: False while the model has not answered.
        tokens_in: Of all its calls of the model, those that gave no reply included.
        tokens_out: As `tokens_in`.
        cost_usd: As `tokens_in`; None where a price is not known.
    """

    number: int
    attempt: int
    began_at: datetime
    took_s: float
    model: str
    intent: str
    replied: bool
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = 0.0
    failures: tuple[LoopFailure, ...] = ()
    calls: tuple[LoopCall, ...] = ()


class LoopAttempt(Value):
    """Show what began a further attempt.

    Attributes:
        number: From 2.
        by: A person, or `policy.retry`.
        not_before: When it could begin; None at once.
        because: What the attempt before came to; empty where a person asked for this one after the run had finished.
    """

    number: int
    at: datetime
    by: str
    not_before: datetime | None
    because: str


class LoopView(Value):
    """Show a run as a loop.

    Attributes:
        why: Why it stopped, or what it is waiting for, as a sentence.
        ran_s: Running time of the last attempt, seconds.
        attempts: The further ones.
        cost_usd: None where a price is not known.
    """

    run_id: RunId
    job: str
    scripted: bool
    execution: Execution
    outcome: Outcome | None
    why: str
    attempt: int
    ran_s: float
    tokens: int
    cost_usd: float | None
    iterations: tuple[Iteration, ...]
    attempts: tuple[LoopAttempt, ...] = ()


@dataclass
class _Round:
    key: tuple[int, int]  # attempt, iteration
    call: ModelCallStarted
    model: str
    ended_at: datetime
    failures: list[ModelCallFailed] = field(default_factory=list)
    reply: ModelReplied | None = None


def loop_view(events: Sequence[Event]) -> LoopView:
    """Return the loop that a run's facts tell of, oldest first.

    Raises:
        IllegalEventError: They are no run's facts.
    """
    state = fold(events)
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
        iterations=tuple(_iteration(found, state) for found in _rounds(events)),
        attempts=attempts_of(state),
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


def _rounds(events: Sequence[Event]) -> list[_Round]:
    attempt, rounds = 1, list[_Round]()
    for event in events:
        match event:
            case RunRetried():
                attempt = event.attempt
            case ModelCallStarted() if not rounds or rounds[-1].key != (attempt, event.iteration):
                rounds.append(_Round((attempt, event.iteration), event, event.model, event.at))
            case ModelCallStarted():
                rounds[-1].model = event.model
            case ModelReplied():
                rounds[-1].reply, rounds[-1].ended_at = event, event.at
            case ModelCallFailed():
                rounds[-1].failures.append(event)
                rounds[-1].ended_at = event.at
            case CallFinished():
                rounds[-1].ended_at = event.at
            case _:
                pass
    return rounds


def _iteration(found: _Round, state: RunState) -> Iteration:
    reply, (attempt, number) = found.reply, found.key
    used = NO_USAGE.plus(reply.reply.usage) if reply else NO_USAGE
    for usage in (event.usage for event in found.failures if event.usage):
        used = used.plus(usage)
    return Iteration(
        number=number,
        attempt=attempt,
        began_at=found.call.at,
        took_s=max((found.ended_at - found.call.at).total_seconds(), 0.0),
        model=found.model,
        intent=_intent(reply) if reply else "",
        replied=reply is not None,
        tokens_in=used.input_tokens,
        tokens_out=used.output_tokens,
        cost_usd=used.cost_usd,
        failures=tuple(_failure(event) for event in found.failures),
        calls=tuple(_call(state.calls[call.id]) for call in reply.calls) if reply else (),
    )


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


def _call(call: CallState) -> LoopCall:
    return LoopCall(
        call_id=call.call.id,
        tool=call.call.tool,
        arguments=call.call.args if call.call.unparsed is None else call.call.unparsed,
        ruling=call.verdict.ruling if call.verdict else None,
        rule=call.verdict.rule if call.verdict else "",
        decided_by=call.decision.by if call.decision else None,
        status=call.result.status if call.result else None,
        result=call.result.text if call.result else "",
        changed=tuple(change.path for change in call.result.changes) if call.result else (),
    )


def why_it_stopped(state: RunState) -> str:
    """Return why a run has stopped, or what it is doing or waiting for, as a sentence."""
    if state.finished:
        return state.finished.reason or _ENDS.get(state.finished.outcome, f"it ended as {state.finished.outcome}")
    if state.stop:
        return f"it is being ended as {state.stop.outcome}: {state.stop.reason}"
    for call_id in state.open_calls:
        if state.calls[call_id].awaits_person:
            return f"it waits for a person: call {call_id} ({state.calls[call_id].call.tool})"
    if state.awaited:
        return f"it waits for run {state.awaited.holder} of {state.awaited.job}, which has its workspace to itself"
    if state.not_before and state.started_at is None:
        because = said_ended(state.retried[-1]) if state.retried else ""
        why = f", because {because}" if because else ""
        return f"attempt {state.attempt} begins at {state.not_before:%Y-%m-%d %H:%M:%S} UTC{why}"
    return "it has not begun" if state.execution is Execution.QUEUED else "it goes on"


_ENDS = {
    Outcome.DONE: "the model asked for nothing more and gave its answer",
    Outcome.NOTHING_TO_REPORT: "the model found nothing to report",
}
