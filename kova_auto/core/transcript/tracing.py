"""Read a run's facts as spans: the run, its iterations, and in each the calls of models and tools, and the waits."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from pydantic import JsonValue

from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    CompactionFailed,
    CompactionStarted,
    ContextCompacted,
    Event,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    RunAcquired,
    RunFinished,
    RunRetried,
)
from kova_auto.core.ids import CallId, iteration_of
from kova_auto.core.job import Outcome
from kova_auto.core.loop.interludes import interlude
from kova_auto.core.loop.why import why_it_stopped
from kova_auto.core.message import ResultStatus, Usage
from kova_auto.core.run import apply, fold
from kova_auto.core.state import RunState
from kova_auto.core.transcript.span import Attributes, Moment, Span
from kova_auto.core.transcript.told import states

LOST: Final = "the process was lost"
_WELL: Final = frozenset({Outcome.DONE, Outcome.NOTHING_TO_REPORT, Outcome.NEEDS_INPUT, Outcome.CANCELLED})
_FAILED: Final = frozenset({ResultStatus.ERROR, ResultStatus.UNKNOWN, ResultStatus.STALE})
_PROVIDERS: Final = {
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""Names that the conventions give to providers where ours are others."""


def spans_of(events: Sequence[Event]) -> tuple[Span, ...]:
    """Return a run's spans, each behind its parent; one that goes on ends with the last fact.

    Raises:
        IllegalEventError: They are no run's facts.
    """
    tracing = _Tracing(fold(events[:1]))
    for seq, event, before in states(events):
        tracing.step(seq, event, before)
    return tracing.spans(events[-1].at)


class _Tracing:
    """Follow the facts, and hold the spans that are open."""

    def __init__(self, opened: RunState) -> None:
        request = opened.request
        self._run = Span(1, "run", f"invoke_agent {_agent(opened)}", None, request.at)
        self._spans = [self._run]
        self._state = opened
        self._iterations: dict[int, Span] = {}
        self._chat: Span | None = None
        self._failed_at: datetime | None = None
        self._tools: dict[CallId, Span] = {}

    def step(self, seq: int, event: Event, before: RunState) -> None:
        self._state = apply(before, event)
        if told := interlude(event, before):
            self._run.moments.append(Moment(told.at, f"kova.{told.kind}"))  # Its text may hold what was said.
        match event:
            case RunAcquired():
                self._end_chat(event.at, LOST)
            case RunFinished():
                self._run.end(event.at, _failure_of(event))
            case RunRetried():
                self._run.ended_at = self._run.error = self._failed_at = None
            case ModelCallStarted():
                self._ask(seq, event, before)
            case CompactionStarted():
                self._open_chat(seq, event.at, event.model, self._run, {"kova.purpose": "compaction"})
            case ModelReplied() | ModelCallFailed() | CompactionFailed() | ContextCompacted():
                self._answer(event)
            case _:
                self._about_call(seq, event)

    def spans(self, last_at: datetime) -> tuple[Span, ...]:
        """Return all spans, those that go on ended where the facts end."""
        self._run.attributes = {**_about_run(self._state), **self._run.attributes}
        for span in self._spans:
            if span.ended_at is None:
                span.ended_at = max(last_at, span.began_at)
        return tuple(self._spans)

    def _begin(self, span: Span) -> Span:
        self._spans.append(span)
        return span

    def _ask(self, seq: int, event: ModelCallStarted, before: RunState) -> None:
        parent = self._iterations.get(event.iteration)
        if parent is None or parent.attributes["kova.attempt"] != before.attempt:
            about: Attributes = {"kova.iteration": event.iteration, "kova.attempt": before.attempt}
            parent = self._begin(
                Span(seq, "iteration", f"iteration {event.iteration}", self._run, event.at, attributes=about)
            )
            self._iterations[event.iteration] = parent
        elif self._failed_at:
            tries: Attributes = {"kova.retry.attempt": before.failures, "kova.retry.reason": _reason(before)}
            wait = Span(seq, "retry", "wait to ask again", parent, self._failed_at, attributes=tries)
            self._begin(wait).end(event.at)
        self._failed_at = None
        more: Attributes = (
            {} if event.max_output_tokens is None else {"gen_ai.request.max_tokens": event.max_output_tokens}
        )
        self._open_chat(seq, event.at, event.model, parent, more)

    def _open_chat(self, seq: int, at: datetime, model: str, parent: Span, more: Attributes) -> None:
        provider, _, name = model.partition("/")
        about: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(provider, provider),
            "gen_ai.request.model": name,
            "gen_ai.request.stream": True,
            **more,
        }
        self._chat = self._begin(Span(seq, "chat", f"chat {name}", parent, at, calls_out=True, attributes=about))

    def _answer(self, event: ModelReplied | ModelCallFailed | CompactionFailed | ContextCompacted) -> None:
        chat = self._chat
        if chat is None:
            return
        match event:
            case ModelReplied():
                chat.attributes |= _about_reply(event, chat)
                self._end_chat(event.at)
            case ContextCompacted():
                chat.attributes |= _about_usage(event.usage)
                self._end_chat(event.at)
            case ModelCallFailed() | CompactionFailed():
                chat.attributes |= {**_about_usage(event.usage), "error.type": event.fault or event.error}
                self._end_chat(event.at, event.message)
                self._failed_at = event.at

    def _end_chat(self, at: datetime, error: str | None = None) -> None:
        if self._chat is None:
            return
        self._chat.end(at, error)
        if self._chat.parent and self._chat.parent is not self._run:
            self._chat.parent.ended_at = at
        self._chat = None

    def _about_call(self, seq: int, event: Event) -> None:
        match event:
            case CallAdjudicated():
                self._judged(seq, event)
            case ApprovalRequested():
                self._moment(event.call_id, Moment(event.at, "kova.approval.requested"))
            case ApprovalDecided():
                said: Attributes = {"kova.approval.decision": event.decision, "kova.approval.by": event.by}
                self._moment(event.call_id, Moment(event.at, "kova.approval.decided", said))
            case CallStarted():
                self._moment(event.call_id, Moment(event.at, "kova.call.started"))
            case CallFinished():
                self._finished(seq, event)
            case _:
                pass

    def _judged(self, seq: int, event: CallAdjudicated) -> None:
        span = self._tool(seq, event.call_id, event.at)
        span.attributes |= {"kova.verdict": event.verdict.ruling, "kova.rule": event.verdict.rule}

    def _tool(self, seq: int, call_id: CallId, at: datetime) -> Span:
        if call_id not in self._tools:
            tool = self._state.call(call_id).call.tool
            about: Attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": call_id,
                "gen_ai.tool.type": "function",
            }
            parent = self._iterations.get(iteration_of(call_id), self._run)
            self._tools[call_id] = self._begin(Span(seq, "tool", f"execute_tool {tool}", parent, at, attributes=about))
        return self._tools[call_id]

    def _moment(self, call_id: CallId, moment: Moment) -> None:
        if call_id in self._tools:
            self._tools[call_id].moments.append(moment)

    def _finished(self, seq: int, event: CallFinished) -> None:
        span, result = self._tool(seq, event.call_id, event.at), event.result
        span.end(event.at, f"the call ended as {result.status}" if result.status in _FAILED else None)
        span.attributes["kova.status"] = result.status
        if result.status in _FAILED:
            span.attributes["error.type"] = result.status
        if result.exit_code is not None:
            span.attributes["process.exit.code"] = result.exit_code
        if span.parent and span.parent is not self._run:
            span.parent.ended_at = event.at


def _failure_of(event: RunFinished) -> str | None:
    return None if event.outcome in _WELL else event.reason or f"it ended as {event.outcome}"


def _reason(before: RunState) -> str:
    return str(before.failure.fault or before.failure.error) if before.failure else ""


def _agent(state: RunState) -> str:
    """Return who works: a subagent is one by its definition, any other run by its job."""
    by = state.request.child_of
    return by.agent if by else state.job.name


def _about_run(state: RunState) -> Attributes:
    request = state.request
    about: dict[str, JsonValue | None] = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": _agent(state),
        "gen_ai.conversation.id": state.run_id,
        "gen_ai.request.model": None if request.scripted else state.pin.name.partition("/")[2],
        "kova.run.id": state.run_id,
        "kova.parent.run.id": request.child_of.run_id if request.child_of else None,
        "kova.origin": request.origin,
        "kova.execution": state.execution,
        "kova.outcome": state.finished.outcome if state.finished else None,
        "kova.why": why_it_stopped(state),
        "kova.attempts": state.attempt,
        "kova.scripted": request.scripted,
        "kova.mode": state.job.mode,
        **_about_usage(state.usage),
    }
    if state.finished and _failure_of(state.finished) is not None:
        about["error.type"] = state.finished.outcome
    return {name: value for name, value in about.items() if value is not None}


def _about_reply(event: ModelReplied, chat: Span) -> Attributes:
    reply = event.reply
    first_s = None if event.first_at is None else max((event.first_at - chat.began_at).total_seconds(), 0.0)
    about: dict[str, JsonValue | None] = {
        "gen_ai.response.finish_reasons": [reply.stop],
        "gen_ai.response.model": reply.model or None,
        "gen_ai.response.id": reply.request_id or None,
        "gen_ai.response.time_to_first_chunk": first_s,
        **_about_usage(reply.usage),
    }
    return {name: value for name, value in about.items() if value is not None}


def _about_usage(usage: Usage | None) -> Attributes:
    if usage is None or not usage.tokens:
        return {}
    about: Attributes = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
        "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
    }
    return about if usage.cost_usd is None else {**about, "kova.cost_usd": usage.cost_usd}
