"""What the loops ask of the outside, each with the real adapter and the double that tests use."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from kova_auto.core.approval.levels import Mode, Verdict
from kova_auto.core.consent import Target
from kova_auto.core.event import CheckResult, Event, Previous, RunRequested
from kova_auto.core.holding import Hold
from kova_auto.core.ids import BlobHash, DeliveryId, JobName, RunId
from kova_auto.core.message import ModelChunk, ModelRequest, ToolCall, ToolResult, ToolSpec
from kova_auto.core.pausing import Pause
from kova_auto.core.run import CallState, RunState
from kova_auto.core.tool import CallFacts, Scene, ToolRun
from kova_auto.core.view import ApprovalRow, DeliveryRow, DueEndpoint, FamilyUse, RunRow, UsageRow


class Clock(Protocol):
    """Tell the time."""

    def now(self) -> datetime:
        """Return the present instant, aware UTC."""


class SteadyClock(Clock, Protocol):
    """Tell the time, and besides how much of it has gone by while the machine was awake."""

    def steady_s(self) -> float:
        """Return seconds of a clock that nobody sets; only differences mean anything."""


class Unavailable(StrEnum):
    """Say why a run or a delivery could not be taken."""

    HELD = "held"  # somebody else's lease has not run out
    FINISHED = "finished"
    WORKSPACE = "workspace"  # another run has it to itself; that is on record


@dataclass(frozen=True, slots=True)
class Renewal:
    """Hold what a worker learns when it extends its lease: whether it still has the run; the last fact's place."""

    held: bool
    seq: int


@dataclass(frozen=True, slots=True)
class Agenda:
    """Hold what there is to do.

    Attributes:
        ready: Unfinished runs that can go on now and are not leased, oldest first.
        wake_at: The next instant at which a resting run goes on; None where none will by itself.
    """

    ready: tuple[RunId, ...]
    wake_at: datetime | None


class Journal(Protocol):
    """Keep the facts of runs.

    Every write is one transaction, refused whole where a fact cannot follow. Methods may be called from one event
    loop at the same time.
    """

    async def open(self, event: RunRequested) -> tuple[RunState, bool]:
        """Open a run, or return the one of this id that is there already (then with False)."""

    async def load(self, run_id: RunId) -> RunState:
        """Fold a run.

        Raises:
            UnknownRunError: There is none of this id.
        """

    async def events(self, run_id: RunId, after: int = 0) -> Sequence[tuple[int, Event]]:
        """Return the facts behind position `after`, with their positions, oldest first."""

    async def append(
        self,
        state: RunState,
        event: Event,
        *,
        first: Sequence[Event] = (),
        epoch: int | None = None,
        blobs: Sequence[bytes] = (),
        reached: RunState | None = None,
    ) -> RunState:
        """Write a fact and the blobs it points to; fold in what others wrote since `state`.

        Args:
            state: As this writer last saw it; it may be out of date.
            event: The fact.
            first: Facts that come before it and are written with it: all of them, or none.
            epoch: Of the worker that holds the run; None for a person, the courier, a clock.
            blobs: Contents to be kept in the same transaction.
            reached: What the first of these facts make of `state`, as far as this writer has worked that out.

        Raises:
            FencedError: Another worker has taken the run since `epoch`.
            IllegalEventError: The fact cannot follow.
        """

    async def acquire(
        self,
        run_id: RunId,
        *,
        worker: str,
        now: datetime,
        lease: timedelta,
        known: RunState | None = None,
        then: Sequence[Event] = (),
        reached: RunState | None = None,
    ) -> RunState | Unavailable:
        """Take a run whose lease is free or has run out: raises its epoch, writes `RunAcquired`.

        A run that wants its workspace to itself is not taken while another has that, or one that overlaps it: then
        `WorkspaceAwaited` is written instead, unless it says so already.

        Args:
            run_id: Of the run.
            worker: Who takes it.
            now: UTC.
            lease: For how long, unless it is extended; it ends with the run at the latest.
            known: The run as this worker last saw it, if it did: then only what is newer is read.
            then: Facts that follow and are written with it; left out where somebody has written or had the run since
                `known`, for they may not be true any more.
            reached: What taking `known` and the first of these make of it, if that is worked out; it saves time and
                nothing else.
        """

    async def renew(self, run_id: RunId, *, epoch: int, now: datetime, lease: timedelta) -> Renewal:
        """Extend the lease, if the epoch still holds it."""

    async def release(self, run_id: RunId, *, epoch: int) -> None:
        """Give the lease back; does nothing where the epoch does not hold it."""

    async def keep(self, data: bytes) -> BlobHash:
        """Keep a blob; twice is once."""

    async def blob(self, key: BlobHash) -> bytes:
        """Return a blob.

        Raises:
            JournalError: There is none of this hash.
        """


class Views(Protocol):
    """Answer questions from the folded tables."""

    async def runs(self, *, job: JobName | None = None, unfinished: bool = False, limit: int = 50) -> Sequence[RunRow]:
        """Return the runs that no other has dispatched, newest first."""

    async def run(self, run_id: RunId) -> RunRow | None:
        """Return one run's row."""

    async def matching(self, prefix: str) -> Sequence[RunId]:
        """Return the ids that begin with a text, at most 20, newest first; of children where it names a parent."""

    async def agenda(self, now: datetime, limit: int = 1000) -> Agenda:
        """Return which runs can go on now, at most so many, and when the next will."""

    async def next_wake(self, now: datetime) -> datetime | None:
        """Return the next instant at which a resting run goes on or a delivery is tried again."""

    async def previous(self, job: JobName, before: RunId) -> Previous | None:
        """Return what came of the job's last finished, not staged run other than `before`."""

    async def last_runs(self, job: JobName, *, before: RunId | None = None, limit: int = 1) -> Sequence[RunRow]:
        """Return the job's finished, not staged runs other than `before`, newest end first."""

    async def ended(self, since: datetime, *, limit: int = 1000) -> Sequence[RunRow]:
        """Return the not staged runs that have ended since an instant, excluded: the newest `limit`, oldest first."""

    async def meant_for(
        self, job: JobName | None, since: datetime, until: datetime, *, limit: int = 10_000
    ) -> Sequence[RunRow]:
        """Return the not staged runs that were meant for an instant of a stretch, `until` excluded, oldest first."""

    async def descendants(self, root: RunId) -> Sequence[RunRow]:
        """Return the runs that a run, its children and so on have dispatched, oldest first."""

    async def family_use(self, root: RunId, besides: RunId, since: datetime | None) -> FamilyUse:
        """Return what the runs of a family, but one, have used since an instant, and how many have not finished.

        Args:
            root: The first of the line.
            besides: The one that is left out.
            since: None for all that was ever used.
        """

    async def holds(self) -> Sequence[Hold]:
        """Return the runs that have a workspace to themselves."""

    async def pausing(self) -> Sequence[Pause]:
        """Return, of each job whose schedule rests since a run ended, what that run says; the newest such run.

        A later, not staged run that ended otherwise than by a lasting fault of the provider lifts it.
        """

    async def usage(
        self, *, job: JobName | None = None, run_id: RunId | None = None, since: datetime | None = None
    ) -> Sequence[UsageRow]:
        """Return what calls of models have used, oldest first.

        Args:
            job: Of this job alone.
            run_id: Of this run alone.
            since: Included; UTC.
        """

    async def spent_usd(self, job: JobName, since: datetime) -> float:
        """Return what a job's calls of models have cost since an instant (included), as far as prices are known."""

    async def approvals(self, *, open_only: bool = True, limit: int = 100) -> Sequence[ApprovalRow]:
        """Return calls that need or needed a person, newest first."""

    async def deliveries(
        self, *, status: str | None = None, endpoint: str | None = None, run_id: RunId | None = None, limit: int = 100
    ) -> Sequence[DeliveryRow]:
        """Return duties to tell, newest first."""

    async def delivery(self, delivery_id: DeliveryId) -> DeliveryRow | None:
        """Return one duty."""

    async def due_endpoints(self, now: datetime, *, run_id: RunId | None = None) -> Sequence[DueEndpoint]:
        """Return the endpoints that are owed something now, or by one run alone, by name; what is leased counts not."""

    async def due_deliveries(
        self, now: datetime, *, run_id: RunId | None = None, endpoint: str | None = None, limit: int = 100
    ) -> Sequence[DeliveryRow]:
        """Return duties to be done now and not leased: what somebody waits for first, and then the oldest.

        Args:
            now: UTC.
            run_id: Those of one run alone.
            endpoint: Those to one endpoint alone.
            limit: How many.
        """

    async def lease_delivery(self, delivery_id: DeliveryId, *, owner: str, now: datetime, lease: timedelta) -> bool:
        """Take one duty; False where another has it."""

    async def release_delivery(self, delivery_id: DeliveryId, *, owner: str) -> None:
        """Give a duty back."""


class Model(Protocol):
    """Speak to one provider."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
        """Yield the reply as it arrives; the last chunk is `ReplyDone`. Whoever asks closes it, at the latest then.

        Raises:
            ModelError: There is no whole reply; `retryable` says whether to ask again.
        """


class Toolbox(Protocol):
    """Know the tools of one service."""

    def specs(self, scene: Scene, mode: Mode) -> tuple[ToolSpec, ...]:
        """Return what the model is told of, in a stable order."""

    def replay_safe(self, tool: str) -> bool:
        """Say whether a call that was cut off may simply be made again."""

    def only_looks(self, tool: str) -> bool:
        """Say whether a call changes nothing at all, here or elsewhere."""

    async def facts(self, call: ToolCall, scene: Scene) -> CallFacts:
        """Find out what a call would touch; changes nothing."""

    async def targets(self, call: ToolCall, scene: Scene) -> tuple[Target, ...]:
        """Return what lies where a call would write, as it is now; empty where it writes no file of its own."""

    def execute(self, call: ToolCall, verdict: Verdict, scene: Scene) -> ToolRun:
        """Do what the call asks; ends with exactly one `ToolOutput`, also where the tool fails."""

    async def recover(self, call: CallState, scene: Scene) -> ToolResult:
        """Kill what a cut-off call left running, and say what is known of it."""

    async def settle(self, scene: Scene) -> None:
        """End a run's background processes and remove its temporary files; safe to call twice."""


class Checks(Protocol):
    """Run the commands by which a job file judges its runs; the scene of each has a call of its own."""

    async def facts(self, command: str, scene: Scene) -> CallFacts:
        """Find out how a command could be confined; changes nothing."""

    async def check(self, command: str, verdict: Verdict, scene: Scene, timeout_s: float) -> CheckResult:
        """Run a command that the verdict allows; one that cannot be run, or takes too long, has failed."""

    async def clear(self, scene: Scene) -> None:
        """End what an earlier worker left of such commands; safe to call twice."""
