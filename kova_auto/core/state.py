"""The state of a run: what its facts add up to; `core/run.py` adds them up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from pydantic import JsonValue

from kova_auto.core.approval.levels import Decision, Mode
from kova_auto.core.call_state import CallState
from kova_auto.core.child import ChildState
from kova_auto.core.consent import Standing
from kova_auto.core.errors import IllegalEventError
from kova_auto.core.event import (
    ChangesSettled,
    ChecksFinished,
    ChecksStarted,
    CompactionFailed,
    CompactionStarted,
    ContextAssembled,
    ContextCompacted,
    Event,
    FamilyCounted,
    ModeEntered,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
    Origin,
    ProcessStarted,
    RunFinished,
    RunRequested,
    RunRetried,
    StopRequested,
    WorkspaceAwaited,
)
from kova_auto.core.ids import BlobHash, CallId, DeliveryId, RunId
from kova_auto.core.job import Job
from kova_auto.core.message import Usage
from kova_auto.core.owed import Owed, undelivered
from kova_auto.core.pin import ModelPin
from kova_auto.core.skill_facts import UsedSkill
from kova_auto.core.tool_names import PLAN_EXIT
from kova_auto.core.wording import Wording

NO_USAGE = Usage(cost_usd=0.0)
NOTHING_REMEMBERED = Standing()
_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})


class Execution(StrEnum):
    """Say where a run is, whatever came of it."""

    QUEUED = "queued"
    RUNNING = "running"
    SUSPENDED = "suspended"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Spent:
    """Hold what one call of a model has used.

    Attributes:
        seq: Position of the fact that says so.
        failed: The call gave no reply.
    """

    seq: int
    at: datetime
    attempt: int
    iteration: int
    model: str
    usage: Usage
    failed: bool = False


class RunState(NamedTuple):
    """Hold everything that a run's facts say; every field is computed from them.

    Attributes:
        seq: Position of the last fact, from 1.
        attempt: From 1; a retry starts the next.
        retried: What began each attempt but the first.
        first_reply: Index in `replies` where this attempt begins.
        open_calls: Calls of the newest reply, in the model's order.
        settled_seq: Position of the newest result of a call behind which others are to be judged anew: not that of one
            that only looked, brought nothing untrusted, and needed no person.
        asked: Name of the model that was called last in this attempt; empty before the first call.
        failures: Calls of that model that failed since the last reply.
        failed: Model calls of this attempt that failed, by whether the provider was too busy.
        asides: What the model was told before replies of this attempt, by the iteration that follows.
        hurried: In this attempt it was told to come to an end.
        spent: What every call of a model has used, those that failed included.
        wordings: How requests to each model are put into its provider's words, as far as that is known.
        day_before_usd: What the job had cost on its day before all that is `charged`.
        deaths: Workers lost in a row without a call having been finished; one that was cut off is not.
        ran_s: Running time of this attempt, seconds; suspended and dead stretches do not count.
        taken_s: How much of that was over when a worker took the run last.
        set_up_s: How much of that went by before its context was assembled; `limits.timeout` begins behind it.
        remembered: What people allowed for good in this run.
        tainted_by: The first untrusted text that the model has read; empty where there is none.
        refused: How often each call was refused in this attempt, by its tool and arguments.
        seen: Content hash of each file as the model last read or wrote it.
        compacting: A summary is being asked for.
        compactions: Of this attempt, oldest first; the newest says what the model is shown in place of older replies.
        unsummed: Attempts at a summary that failed since the last compaction, oldest first.
        entered: The mode that the run went on in, where that is not its job's.
        plan: As it was last written; empty where there is none.
        plan_file: Where it is.
        criteria: By which the goal is judged, as the model proposed them; None where it proposed none.
        skills: That this attempt has loaded, each once, the newest last; of a child, those of its parent before.
        checking: Its answer is being checked.
        checked: What the newest checks came to.
        repaired: What of its answer the model was told to put right.
        holds: It has its workspace to itself, until it has finished.
        awaited: Who has that workspace instead, while this run waits for it.
        children: Runs that it dispatched, by the call that did, oldest first.
        family: What the other runs of its family have used, as it was last counted.
        counted_seq: Position of the fact that says so; 0 where that is to be counted again.
        settled: What became of what it left in a copy or a worktree, once somebody has decided.
    """

    request: RunRequested
    seq: int = 1
    epoch: int = 0
    attempt: int = 1
    retried: tuple[RunRetried, ...] = ()
    started_at: datetime | None = None
    last_at: datetime | None = None
    ran_s: float = 0.0
    taken_s: float = 0.0
    set_up_s: float = 0.0
    context: ContextAssembled | None = None
    replies: tuple[ModelReplied, ...] = ()
    first_reply: int = 0
    calls: Mapping[CallId, CallState] = _NOTHING
    open_calls: tuple[CallId, ...] = ()
    settled_seq: int = 0
    calling: ModelCallStarted | None = None
    model_calls: int = 0
    asked: str = ""
    failures: int = 0
    failed: Mapping[bool, int] = _NOTHING
    deaths: int = 0
    failure: ModelCallFailed | None = None
    usage: Usage = NO_USAGE
    asides: Mapping[int, tuple[str, ...]] = _NOTHING
    hurried: bool = False
    spent: tuple[Spent, ...] = ()
    wordings: Mapping[str, Wording] = _NOTHING
    day_before_usd: float = 0.0
    denials: int = 0
    refused: Mapping[str, int] = _NOTHING
    remembered: Standing = NOTHING_REMEMBERED
    tainted_by: str = ""
    concludes: str | None = None
    seen: Mapping[str, BlobHash] = _NOTHING
    todo: tuple[dict[str, JsonValue], ...] = ()
    compacting: CompactionStarted | None = None
    compactions: tuple[ContextCompacted, ...] = ()
    unsummed: tuple[CompactionFailed, ...] = ()
    entered: ModeEntered | None = None
    plan: str = ""
    plan_file: str = ""
    criteria: tuple[str, ...] | None = None
    skills: tuple[UsedSkill, ...] = ()
    checking: ChecksStarted | None = None
    checked: ChecksFinished | None = None
    repaired: frozenset[str] = frozenset()
    stop: StopRequested | None = None
    finished: RunFinished | None = None
    finished_at: datetime | None = None
    not_before: datetime | None = None
    holds: bool = False
    awaited: WorkspaceAwaited | None = None
    children: Mapping[CallId, ChildState] = _NOTHING
    family: FamilyCounted | None = None
    counted_seq: int = 0
    settled: ChangesSettled | None = None
    deliveries: Mapping[DeliveryId, Owed] = _NOTHING

    @property
    def run_id(self) -> RunId:
        """Return the run's id."""
        return self.request.run_id

    @property
    def job(self) -> Job:
        """Return the job as it was when the run was opened."""
        return self.request.job

    @property
    def mode(self) -> Mode:
        """Return the mode that the run is in."""
        return self.entered.mode if self.entered else self.request.job.mode

    @property
    def heading_for(self) -> Mode:
        """Return the mode that the run is in, or is about to enter: somebody has let its plan be carried out."""
        for call in map(self.call, self.open_calls):
            if call.call.tool == PLAN_EXIT and call.decision and call.decision.decision is not Decision.DENY:
                return Mode.AGENT
        return self.mode

    @property
    def shown(self) -> tuple[ModelReplied, ...]:
        """Return the replies of this attempt that the model is shown as they were."""
        first = self.compactions[-1].through if self.compactions else self.first_reply
        return self.replies[max(first, self.first_reply) :]

    @property
    def iteration(self) -> int:
        """Return how many replies this run has had, over all its attempts."""
        return len(self.replies)

    @property
    def execution(self) -> Execution:
        """Return where the run is."""
        if self.finished:
            return Execution.FINISHED
        if (call := self.unsettled) and call.awaits_person:
            return Execution.SUSPENDED
        return Execution.RUNNING if self.epoch and self.started_at and not self.awaited else Execution.QUEUED

    @property
    def pin(self) -> ModelPin:
        """Return the model that is asked now: the first of the chain, or the one that had to take over."""
        pins = self.request.pins
        found = (pin for pin in pins if pin.name == self.asked)
        return next(found, pins[0] if pins else ModelPin(name=self.request.model))

    @property
    def attempt_spent(self) -> tuple[Spent, ...]:
        """Return what this attempt's calls of models have used, oldest first."""
        if self.attempt == 1:
            return self.spent
        return tuple(spent for spent in self.spent if spent.attempt == self.attempt)

    @property
    def retries(self) -> int:
        """Return how many attempts in a row, up to this one, nobody asked for: the policy began them."""
        return sum(1 for _ in takewhile(lambda retried: retried.ended, reversed(self.retried)))

    @property
    def charged(self) -> tuple[Spent, ...]:
        """Return what counts against the ceilings in tokens and money, oldest first.

        That is what was used since the run, or the last attempt that somebody asked for, began.
        """
        if not self.retried:
            return self.spent
        first = self.attempt - self.retries
        return tuple(spent for spent in self.spent if spent.attempt >= first)

    @property
    def charged_since(self) -> datetime | None:
        """Return since when what its family uses counts against the ceilings; None where all of it does."""
        return next((retried.at for retried in reversed(self.retried) if retried.ended is None), None)

    @property
    def charged_usd(self) -> float:
        """Return what that has cost; what was used at an unknown price counts nothing."""
        return sum(spent.usage.cost_usd or 0.0 for spent in self.charged)

    @property
    def used_in_all(self) -> Usage:
        """Return what its models have used, and those of its children that have finished."""
        used = self.usage
        for child in self.children.values():
            used = used.plus(child.finished.usage) if child.finished else used
        return used

    @property
    def unsettled(self) -> CallState | None:
        """Return the open call that is settled next, in the model's order."""
        for call_id in self.open_calls:
            if (call := self.calls[call_id]).result is None:
                return call
        return None

    @property
    def pending(self) -> tuple[CallState, ...]:
        """Return the open calls that wait for a person, in the model's order."""
        return tuple(call for call in map(self.call, self.open_calls) if call.awaits_person)

    @property
    def under_way(self) -> tuple[CallState, ...]:
        """Return the open calls that are being executed, in the model's order."""
        return tuple(call for call in map(self.call, self.open_calls) if call.is_under_way)

    def overtaken(self, call: CallState) -> bool:
        """Say whether a call was judged before another had such a result: it is judged again where nobody was asked."""
        return call.judged_seq < self.settled_seq and call.approval is None and call.started is None

    def unreached(self, call: CallState) -> Owed | None:
        """Return a request about a call that could not be delivered, where no endpoint has taken one; else None."""
        return undelivered(self.deliveries, call.asked_seq) if call.awaits_person else None

    @property
    def background(self) -> tuple[ProcessStarted, ...]:
        """Return the processes of this attempt that outlive their calls."""
        return tuple(c.process for c in self.calls.values() if c.process is not None and c.process.background)

    def call(self, call_id: CallId) -> CallState:
        """Return what is known of a call.

        Raises:
            IllegalEventError: The run has no such call.
        """
        if call_id not in self.calls:
            msg = f"run {self.run_id} has no call {call_id}"
            raise IllegalEventError(msg)
        return self.calls[call_id]

    def changing(self, call_id: CallId, **changes: object) -> RunState:
        """Return this state with one call changed."""
        changed = replace(self.call(call_id), **changes)
        return replace(self, calls={**self.calls, call_id: changed})


S = TypeVar("S", CallState, RunState)
_PLACES: Final[Mapping[type, Mapping[str, int]]] = {
    kind: {name: place for place, name in enumerate(kind._fields)} for kind in (CallState, RunState)
}


def replace(state: S, **changes: object) -> S:
    """Return a state with some of its fields changed.

    A state has sixty fields and is copied for each fact of a run: a tuple is copied in no time.

    Raises:
        TypeError: There is no field of that name.
    """
    kind = type(state)
    values, places = [*state], _PLACES[kind]
    for name, value in changes.items():
        if name not in places:
            msg = f"{kind.__name__} has no field {name}"
            raise TypeError(msg)
        values[places[name]] = value
    return tuple.__new__(kind, values)


def opened(event: RunRequested) -> RunState:
    """Return the state of a run that has only been asked for; what a webhook brought is nobody's word."""
    is_outside = event.origin is Origin.WEBHOOK
    tainted_by = event.tainted_by or ("the webhook that began this run" if is_outside else "")
    skills = event.child_of.skills if event.child_of else ()
    return RunState(request=event, day_before_usd=event.day_spent_usd, tainted_by=tainted_by, skills=skills)


def refused(state: RunState, event: Event, why: str) -> IllegalEventError:
    """Return the error that says why a fact cannot follow."""
    return IllegalEventError(f"{event.kind} cannot follow in run {state.run_id}: {why}")
