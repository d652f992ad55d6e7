"""The facts of a run: a closed union, written once and never changed.

An event carries its version; `upgrade` turns an older body into today's. A new kind must be handled by
`core/run.py` (the type checker says so) and by the views.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache, lru_cache
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, JsonValue, TypeAdapter, ValidationError
from pydantic_core import from_json

from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.call_facts import CallAdjudicated, CallFinished, CallStarted, ProcessStarted, WritePlanned
from kova_auto.core.child import ChildOf
from kova_auto.core.child_facts import ChildFinished, ChildrenStopped, FamilyCounted
from kova_auto.core.consent import ApprovalDecided, ApprovalRequested, Standing
from kova_auto.core.errors import UnknownEventError
from kova_auto.core.fact import Fact
from kova_auto.core.fault import Fault
from kova_auto.core.ids import BlobHash, RunId, blob_hash
from kova_auto.core.job import Job, Outcome
from kova_auto.core.model_facts import (
    CompactionFailed,
    CompactionStarted,
    ContextAssembled,
    ContextCompacted,
    ModelCallFailed,
    ModelCallStarted,
    ModelReplied,
)
from kova_auto.core.pin import ModelPin
from kova_auto.core.telling import DeliveryFinished, DeliveryRequeued, DeliveryStarted
from kova_auto.core.turn_facts import CheckResult, ChecksFinished, ChecksStarted, ModeEntered
from kova_auto.core.value import Value
from kova_auto.core.workspace import ChangesSettled, WorkspaceAwaited

__all__ = [
    "CURRENT",
    "ApprovalDecided",
    "ApprovalRequested",
    "CallAdjudicated",
    "CallFinished",
    "CallStarted",
    "ChangesSettled",
    "CheckResult",
    "ChecksFinished",
    "ChecksStarted",
    "ChildFinished",
    "ChildOf",
    "ChildrenStopped",
    "ClockMoved",
    "CompactionFailed",
    "CompactionStarted",
    "ContextAssembled",
    "ContextCompacted",
    "DeliveryFinished",
    "DeliveryRequeued",
    "DeliveryStarted",
    "Event",
    "Fact",
    "FamilyCounted",
    "ModeEntered",
    "ModelCallFailed",
    "ModelCallStarted",
    "ModelReplied",
    "Origin",
    "Previous",
    "ProcessStarted",
    "RunAcquired",
    "RunFinished",
    "RunRequested",
    "RunRetried",
    "StopRequested",
    "WorkspaceAwaited",
    "WritePlanned",
    "dump",
    "load",
    "upgrade",
]


class Origin(StrEnum):
    """Say what made a run begin."""

    SCHEDULE = "schedule"
    REQUEST = "request"
    WEBHOOK = "webhook"
    AFTER = "after"
    PARENT = "parent"


class RunRequested(Fact):
    """Open a run: the whole job, and what this run was given.

    Attributes:
        inputs: Values of the job's declared inputs.
        level: Approval level of an attended run; None for an unattended one.
        staged: Writes go to a copy, and nothing is delivered.
        scripted: The model is played from the job's script: no model is called.
        model: `provider/model` that the run is pinned to; the first of `pins`.
        pins: The models that are tried, in order; empty where a script is played, or in an old journal.
        day_spent_usd: What the job's earlier runs have cost on this day, in the schedule's zone.
        blocked: Why the run must not begin, as no model or no sandbox; empty where it may.
        workspace: Where the run works: the job's workspace, or the copy.
        next_at: When the schedule fires next after `nominal_at`; None where it does not, or no attempt could meet it.
        user: Standing decisions of the user's own permission file, as they were then.
        remembered: The same of this machine, for this workspace.
        tainted_by: Untrusted text behind what the run was given; empty where there is none.
        continues: The run whose session goes on with this one; None where it begins one.
        child_of: By whom the run was dispatched; None where no run did.
    """

    kind: Literal["run_requested"] = "run_requested"
    run_id: RunId
    job: Job
    policy_hash: str
    origin: Origin
    nominal_at: AwareDatetime | None = None
    due_at: AwareDatetime | None = None
    next_at: AwareDatetime | None = None
    inputs: dict[str, str] = Field(default_factory=dict)
    level: ApprovalLevel | None = None
    staged: bool = False
    scripted: bool = False
    model: str
    workspace: str
    blocked: str = ""
    pins: tuple[ModelPin, ...] = ()
    day_spent_usd: float = 0.0
    user: Standing = Standing()
    remembered: Standing = Standing()
    tainted_by: str = ""
    continues: RunId | None = None
    child_of: ChildOf | None = None


class RunAcquired(Fact):
    """Say that a worker took the run; what an earlier one had started and not finished is in doubt from here on.

    Attributes:
        lease_broken: The earlier worker did not give the run back: it died, or it is out of reach.
    """

    kind: Literal["run_acquired"] = "run_acquired"
    epoch: int
    worker: str
    lease_broken: bool = False


class ClockMoved(Fact):
    """Say that the clock was set, or the machine slept: how long the worker really ran is said here.

    Attributes:
        at: What the clock shows since.
        ran_s: Running time since the worker's last fact, by a clock that nobody sets.
    """

    kind: Literal["clock_moved"] = "clock_moved"
    ran_s: float


class StopRequested(Fact):
    """Ask a run to end with an outcome that nobody's reply gave: cancelled, timed out and the like.

    Attributes:
        pauses: Every later run of the job would meet the same: its schedule is to rest.
    """

    kind: Literal["stop_requested"] = "stop_requested"
    outcome: Outcome
    reason: str
    by: str
    pauses: bool = False


class Previous(Value):
    """Hold what came of the job's last finished run before this one."""

    outcome: Outcome
    answer_hash: BlobHash


class RunFinished(Fact):
    """End a run, or this attempt of it.

    Attributes:
        answer: The final answer, or the last text before a limit.
        reason: Why it ended, where the outcome alone does not say.
        partial: A limit cut the work short, or made it hurry.
        previous: Of the same job; None where there is none.
        fault: Of the model call that ended it; None where none did.
        pauses: Why the job's schedule rests from here on; empty where it goes on.
        kept: What the run left to be seen and applied, in a copy or a worktree; empty where that is nothing.
    """

    kind: Literal["run_finished"] = "run_finished"
    outcome: Outcome
    answer: str = ""
    reason: str = ""
    partial: bool = False
    previous: Previous | None = None
    fault: Fault | None = None
    pauses: str = ""
    kept: str = ""

    @property
    def answer_hash(self) -> BlobHash:
        """Return what tells two answers apart."""
        return blob_hash(self.answer.encode())


class RunRetried(Fact):
    """Begin a further attempt of a run, from its start: somebody asked for it, or the policy covers how this one ended.

    Attributes:
        by: A person, or `policy.retry`.
        not_before: The attempt waits until then; None begins at once.
        day_spent_usd: What the job has cost on this day, earlier attempts included; None in an old journal.
        ended: What the attempt before came to, where the run has not finished with it; None where it has.
        reason: Why that attempt ended.
    """

    kind: Literal["run_retried"] = "run_retried"
    attempt: int
    by: str
    not_before: AwareDatetime | None = None
    day_spent_usd: float | None = None
    ended: Outcome | None = None
    reason: str = ""


Event = (
    RunRequested
    | RunAcquired
    | ClockMoved
    | ContextAssembled
    | ModelCallStarted
    | ModelReplied
    | ModelCallFailed
    | CompactionStarted
    | CompactionFailed
    | ContextCompacted
    | ModeEntered
    | ChecksStarted
    | ChecksFinished
    | CallAdjudicated
    | ApprovalRequested
    | ApprovalDecided
    | CallStarted
    | ProcessStarted
    | WritePlanned
    | CallFinished
    | ChildFinished
    | ChildrenStopped
    | FamilyCounted
    | StopRequested
    | RunFinished
    | RunRetried
    | WorkspaceAwaited
    | ChangesSettled
    | DeliveryStarted
    | DeliveryFinished
    | DeliveryRequeued
)


@cache
def _adapter() -> TypeAdapter[Event]:
    """Return what reads any fact; made when the first one is read, which a command may never do."""
    return TypeAdapter(Annotated[Event, Field(discriminator="kind")])


CURRENT: dict[str, int] = {kind.model_fields["kind"].default: kind.model_fields["v"].default for kind in Event.__args__}


def upgrade(body: dict[str, Any]) -> dict[str, JsonValue]:
    """Turn an event's body of any version we ever wrote into today's.

    Raises:
        UnknownEventError: The kind or the version is newer than this program.
    """
    kind, version = body.get("kind"), body.get("v", 1)
    if not isinstance(kind, str) or kind not in CURRENT:
        msg = f"the journal holds an event of kind {kind!r}, which this version does not know; upgrade kova-auto"
        raise UnknownEventError(msg)
    if not isinstance(version, int) or version > CURRENT[kind]:
        msg = f"the journal holds {kind!r} in version {version}, this program reads up to {CURRENT[kind]}"
        raise UnknownEventError(msg)
    return body


_NO_TOOLS, _BEHIND_JOB = '"tools":[]', '"policy_hash":'


def dump(event: Event) -> str:
    """Return the event's JSON, as it is written to the journal.

    Tools are nearly all that a context is made of, and the same for nearly all runs: each knows its JSON. So is its job
    nearly all that opens a run.
    """
    if isinstance(event, RunRequested):
        return _opening(event)
    if not isinstance(event, ContextAssembled | ModeEntered):
        return event.model_dump_json(exclude_defaults=False)
    tools = ",".join([tool.json_text for tool in event.tools])
    bare = event.but(tools=()).model_dump_json(exclude_defaults=False)
    before, place, behind = bare.partition(_NO_TOOLS)  # No text holds it: what is quoted there is escaped.
    return f"{before}{place[:-1]}{tools}]{behind}"


class _Same:
    """Tell a job from others by what it is: to compare what it holds takes longer than to write it."""

    __slots__ = ("job",)

    def __init__(self, job: Job) -> None:
        self.job = job

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.job is self.job

    def __hash__(self) -> int:
        return id(self.job)


@lru_cache(maxsize=64)
def _json_of(same: _Same) -> str:
    return same.job.model_dump_json(exclude_defaults=False)


def _opening(event: RunRequested) -> str:
    """Return the JSON of what opens a run."""
    bare = event.model_dump_json(exclude={"job"}, exclude_defaults=False)
    before, place, behind = bare.partition(_BEHIND_JOB)  # As with tools: no text in front holds it.
    return f'{before}"job":{_json_of(_Same(event.job))},{place}{behind}'


def load(text: str | bytes) -> Event:
    """Return the event that a journal's row holds.

    Raises:
        UnknownEventError: The row is of a newer program, or no event at all.
    """
    try:
        event = _adapter().validate_json(text)
    except ValidationError as exc:
        return _load_older(text, exc.error_count())
    return event if event.v == CURRENT[event.kind] else _load_older(text)


def _load_older(text: str | bytes, problems: int = 1) -> Event:
    try:
        body = from_json(text)
        return _adapter().validate_python(upgrade(body if isinstance(body, dict) else {}))
    except ValueError as exc:
        msg = f"the journal holds a row that is no event: {problems} problem(s)"
        raise UnknownEventError(msg) from exc
