"""Tell runs to tests: their facts, in their order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from kova_auto.core.approval.levels import Decision, Ruling, Verdict
from kova_auto.core.event import (
    ApprovalDecided,
    ApprovalRequested,
    CallAdjudicated,
    CallFinished,
    CallStarted,
    CompactionFailed,
    CompactionStarted,
    ContextAssembled,
    DeliveryFinished,
    DeliveryStarted,
    Event,
    ModelCallFailed,
    ModelCallStarted,
    RunAcquired,
    RunFinished,
    RunRequested,
    RunRetried,
)
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ModelReply, ResultStatus, TextPart, Usage, told
from kova_auto.core.retrying import BY_POLICY
from kova_auto.core.run import RunState, fold
from tests.support import a_request, replied, ruled


@dataclass
class Story:
    """Tell a run, one fact a second; each method adds what one thing that happened leaves behind."""

    request: RunRequested = field(default_factory=a_request)
    model: str = "m"

    def __post_init__(self) -> None:
        self.events: list[Event] = [self.request]
        self._second = (self.request.at + timedelta(seconds=number) for number in range(1, 10_000))
        self._acquire()

    @property
    def state(self) -> RunState:
        return fold(self.events)

    @property
    def run_id(self) -> RunId:
        return self.request.run_id

    def _now(self) -> datetime:
        return next(self._second)

    def _acquire(self) -> None:
        self.events += [
            RunAcquired(at=self._now(), epoch=self.state.epoch + 1, worker="one"),
            ContextAssembled(at=self._now(), system="", prompt=(TextPart(text="Look."),), tools=()),
        ]

    def asks(self) -> Story:
        started = ModelCallStarted(
            at=self._now(), iteration=self.state.iteration + 1, model=self.model, request_hash="h"
        )
        self.events.append(started)
        return self

    def sums_up(self, *, then: str = "", retry_at: datetime | None = None) -> Story:
        """Ask for a summary of everything; where `then` says so, none came, and why."""
        number = self.state.iteration
        told = {"iteration": number, "through": number, "reason": "threshold", "tokens": 9, "request_hash": "h"}
        self.events.append(CompactionStarted.model_validate({"at": self._now(), "model": self.model, **told}))
        if then:
            why = {"error": "ModelUnavailable", "message": then, "retry_at": retry_at}
            self.events.append(CompactionFailed.model_validate({"at": self._now(), "iteration": number, **why}))
        return self

    def fails(
        self, message: str = "overloaded", retry_at: datetime | None = None, *, usage: Usage | None = None
    ) -> Story:
        number = self.state.iteration + 1
        self.asks().events.append(
            ModelCallFailed(
                at=self._now(),
                iteration=number,
                error="ModelUnavailable",
                message=message,
                retryable=True,
                retry_at=retry_at,
                usage=usage,
            )
        )
        return self

    def says(self, reply: ModelReply) -> Story:
        number = self.state.iteration + 1
        self.asks().events.append(replied(number, reply, when=self._now()))
        return self

    def rules(self, call: str, ruling: Ruling) -> Story:
        verdict: Verdict = ruled(ruling)
        self.events.append(CallAdjudicated(at=self._now(), call_id=CallId(call), verdict=verdict))
        return self

    def starts(self, call: str) -> Story:
        self.rules(call, Ruling.ALLOW).events.append(CallStarted(at=self._now(), call_id=CallId(call)))
        return self

    def starts_again(self, call: str) -> Story:
        """Begin a call that a person let through."""
        self.events.append(CallStarted(at=self._now(), call_id=CallId(call)))
        return self

    def later(self) -> datetime:
        """Return the next second, for a fact that is told by hand."""
        return self._now()

    def does(self, call: str, text: str = "fine") -> Story:
        result = told(ResultStatus.OK, text)
        self.starts(call).events.append(CallFinished(at=self._now(), call_id=CallId(call), result=result))
        return self

    def does_together(self, *calls: str) -> Story:
        """Judge calls one after the other, begin them at the same moment, and end them in turn, the last one first."""
        for call in calls:
            self.rules(call, Ruling.ALLOW)
        began = self._now()
        self.events += [CallStarted(at=began, call_id=CallId(call)) for call in calls]
        for call in reversed(calls):
            found = told(ResultStatus.OK, f"fine {call}")
            self.events.append(CallFinished(at=self._now(), call_id=CallId(call), result=found))
        return self

    def refuses(self, call: str, text: str = "not allowed") -> Story:
        result = told(ResultStatus.DENIED, text)
        self.rules(call, Ruling.DENY).events.append(CallFinished(at=self._now(), call_id=CallId(call), result=result))
        return self

    def waits(self, call: str) -> Story:
        self.rules(call, Ruling.ASK).events.append(ApprovalRequested(at=self._now(), call_id=CallId(call)))
        return self

    def answers(self, call: str, decision: Decision = Decision.ONCE, note: str = "") -> Story:
        decided = ApprovalDecided(at=self._now(), call_id=CallId(call), decision=decision, by="ada", note=note)
        self.events.append(decided)
        return self

    def ends(self, outcome: Outcome = Outcome.DONE, answer: str = "", reason: str = "") -> Story:
        self.events.append(RunFinished(at=self._now(), outcome=outcome, answer=answer, reason=reason))
        return self

    def again(self) -> Story:
        self.events.append(RunRetried(at=self._now(), attempt=self.state.attempt + 1, by="ada"))
        self._acquire()
        return self

    def begins_again(self, not_before: datetime, reason: str = "busy") -> Story:
        """End an attempt as the policy covers; the next is waited for."""
        attempt = {"attempt": self.state.attempt + 1, "by": BY_POLICY, "not_before": not_before}
        ended = {"ended": Outcome.FAILED, "reason": reason}
        self.events.append(RunRetried.model_validate({"at": self._now(), **attempt, **ended}))
        return self

    def delivers(self, status: str, next_at: datetime | None = None) -> Story:
        key, owed = next(iter(self.state.deliveries.items()))
        attempt = owed.attempts + 1
        self.events += [
            DeliveryStarted(at=self._now(), delivery_id=key, attempt=attempt),
            DeliveryFinished(
                at=self._now(),
                delivery_id=key,
                attempt=attempt,
                result="delivered" if status == "delivered" else "server_error",
                status=status,
                detail="the receiver answered",
                next_at=next_at,
            ),
        ]
        return self

    def states(self) -> Iterator[tuple[Event, RunState]]:
        """Yield each fact with what the facts so far add up to."""
        for number, event in enumerate(self.events, 1):
            yield event, fold(self.events[:number])
