"""What a run looks like as a loop: its iterations, what each was trying to do, and what came of it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from kova_auto.core.approval.levels import Decision, Ruling
from kova_auto.core.goal.view import GoalView
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus
from kova_auto.core.state import Execution
from kova_auto.core.stop_reason import StopReason
from kova_auto.core.value import Value


class LoopApproval(Value):
    """Show that a person was asked about a call, and what was said.

    Attributes:
        decision: None while nobody has answered.
        by: Who; `timeout` where the time was over, `unreachable` where nobody could be asked.
        changed: The call has the arguments of the answer, not the model's.
    """

    asked_at: datetime
    expires_at: datetime | None
    decided_at: datetime | None = None
    decision: Decision | None = None
    by: str = ""
    note: str = ""
    changed: bool = False


class LoopCall(Value):
    """Show one tool call: what was asked, what was ruled and why, what came back, and how long each took.

    Attributes:
        arguments: Those that it was executed with, or was to be; the text itself where they were no JSON object.
        ruling: None until it was adjudicated.
        reason: Why, as a sentence.
        decided_by: Who answered for it; None where nobody did.
        approval: None where nobody was asked.
        took_s: Running time from its start to its result, seconds; None where it was never started, or has no result.
        beside: Calls that were being executed at the same time, in the model's order; then `took_s` overlaps theirs.
        waited_s: From the request to the answer, by the clock; None where nobody was asked, or has answered.
        status: None until it has its result.
        exit_code: Of a command.
        changed: Files that it wrote.
        awaited_s: How long it waited for subagents before it was executed, by the clock, seconds; None where it did
            not, or still does.
        child: The run that it dispatched; None where it dispatched none.
        subagent: The loop of that run; None where that is not known here.
    """

    call_id: CallId
    tool: str
    arguments: dict[str, JsonValue] | str
    ruling: Ruling | None = None
    reason: str = ""
    rule: str = ""
    decided_by: str | None = None
    approval: LoopApproval | None = None
    took_s: float | None = None
    beside: tuple[CallId, ...] = ()
    waited_s: float | None = None
    status: ResultStatus | None = None
    exit_code: int | None = None
    result: str = ""
    changed: tuple[str, ...] = ()
    awaited_s: float | None = None
    child: RunId | None = None
    subagent: LoopView | None = None


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
        took_s: Running time from the first call of the model to the last result, seconds: no waiting is in it.
        first_token_s: From the request that was answered to the first piece of the answer, by the clock, seconds; None
            where it came whole.
        model: That was asked last: the one that replied, where one did.
        intent: What it was trying to do, in the model's words; its calls' names where it said nothing.
        replied: False while the model has not answered.
        stop: Why the reply ended; None where there is none.
        asides: What we told the model besides, before it replied.
        context_tokens: Of the request that was answered, as the provider counted them.
        context_estimated: They were counted by nobody: it is our estimate.
        tokens_in: Of all its calls of the model, those that gave no reply included.
        tokens_out: As `tokens_in`.
        tokens_cached: How many of `tokens_in` a cache served.
        cost_usd: As `tokens_in`; None where a price is not known.
    """

    number: int
    attempt: int
    began_at: datetime
    took_s: float
    first_token_s: float | None = None
    model: str
    intent: str
    replied: bool
    stop: StopReason | None = None
    asides: tuple[str, ...] = ()
    context_tokens: int = 0
    context_estimated: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost_usd: float | None = 0.0
    failures: tuple[LoopFailure, ...] = ()
    calls: tuple[LoopCall, ...] = ()


class InterludeKind(StrEnum):
    """Say what kind of thing happened between two iterations."""

    TAKEN_UP = "taken_up"
    CLOCK = "clock"
    WORKSPACE = "workspace"
    STOP = "stop"
    CHANGES = "changes"
    CONTEXT = "context"
    COMPACTION = "compaction"
    MODE = "mode"
    CHECKS = "checks"
    GOAL = "goal"
    SUBAGENT = "subagent"


class Interlude(Value):
    """Show what happened to a run between two of its iterations, or behind the last.

    Attributes:
        before: Number of the iteration that follows, whether it came or not.
        text: What it was, as a sentence.
        tokens: Read and written for it, as by a summary.
        cost_usd: None where the price is not known.
    """

    at: datetime
    attempt: int
    before: int
    kind: InterludeKind
    text: str
    tokens: int = 0
    cost_usd: float | None = 0.0


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
        cost_usd: None where a price is not known.
        attempts: The further ones.
        interludes: Oldest first.
        goal: How far it has come with its goal; None where it has none.
        continues: The run whose session goes on with this one; None where it begins one.
        parent: The run that dispatched this one; None where nobody did.
        agent: The definition of that subagent; empty where nobody dispatched it.
        title: What it is to do, in a few words; likewise.
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
    interludes: tuple[Interlude, ...] = ()
    goal: GoalView | None = None
    continues: RunId | None = None
    parent: RunId | None = None
    agent: str = ""
    title: str = ""


for _nested in (LoopCall, Iteration):  # A call may hold the loop of a run, and that holds calls.
    _nested.model_rebuild()
