"""What commands and pages ask of a service; the same whether it lives in this process or behind the socket."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from pydantic import ConfigDict, Field, JsonValue

from kova_auto.app.asked import Asked
from kova_auto.core.approval.levels import ApprovalLevel, Decision
from kova_auto.core.backfill import Backfill
from kova_auto.core.delivery.health import Health
from kova_auto.core.delivery.story import Story
from kova_auto.core.event import Event
from kova_auto.core.ids import BlobHash, CallId, DeliveryId, RunId
from kova_auto.core.inbound.hook import HookRow
from kova_auto.core.job import Outcome
from kova_auto.core.ledger import Occurrence, ScheduleVersion, Standing
from kova_auto.core.parked import Parked
from kova_auto.core.pausing import Pause
from kova_auto.core.usage import UsageReport
from kova_auto.core.value import Value
from kova_auto.core.view import DeliveryRow, RunRow


class Listener(Value):
    """Name the receiver that a command started on loopback: it takes the place of the job's endpoints."""

    name: str
    url: str
    secret: str = Field(repr=False)


class RunAsk(Value):
    """Ask for one run now.

    Attributes:
        job: Path of the job file, absolute; empty where a run is continued.
        key: Tells this request from every other; made where it was asked.
        level: Approval level of an attended run; None for an unattended one.
        staged: Writes go to a copy of the workspace, and nothing is delivered.
        continues: The finished run whose session this one goes on with, under the job as that run had it.
        prompt: What is asked in place of that job's prompt, word for word.
    """

    job: str = ""
    key: str
    asked_at: datetime
    inputs: dict[str, str] = Field(default_factory=dict)
    level: ApprovalLevel | None = None
    staged: bool = False
    listener: Listener | None = None
    continues: RunId | None = None
    prompt: str = ""


class Said(Value):
    """Hold what a person says about a call.

    Attributes:
        note: Why; for the record, and for the model.
        args: Other arguments to execute it with; None leaves it as it is.
        answers: To the questions of a call that asks, in their order.
    """

    decision: Decision
    by: str
    note: str = ""
    args: dict[str, JsonValue] | None = None
    answers: tuple[str, ...] = ()


class Placed(Value):
    """Hold one fact with its position in its run's journal."""

    seq: int
    event: Event = Field(discriminator="kind")


class Content(Value):
    """Hold a blob's content."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    data: bytes


class Undone(Value):
    """Say what undoing a run did: `refused` names each file that has changed since, and then nothing was touched."""

    restored: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()


class Applied(Value):
    """Say what applying a run's changes did, or would do: where a file is `refused`, nothing was touched.

    Attributes:
        files: Written or removed in the workspace, relative to it.
        same: Were so already.
        refused: A sentence for each.
        branch: Stays because of its commits; empty where none does.
        before: Who applied them earlier, where somebody has; then nothing was done.
    """

    files: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    branch: str = ""
    before: str = ""


class Annals(Value):
    """Hold what is on record of the schedules of one job, or of all, for a stretch of time.

    Attributes:
        versions: Which schedules they had, whenever that was.
        standings: How far each is accounted for.
        rows: Of which an instant lies in the stretch, oldest first.
        runs: That were meant for an instant of the stretch, oldest first.
        ends_at: Rows and runs from here on were left out, because they were too many; None where none were.
    """

    versions: tuple[ScheduleVersion, ...]
    standings: tuple[Standing, ...]
    rows: tuple[Occurrence, ...]
    runs: tuple[RunRow, ...]
    ends_at: datetime | None = None


class Told(Value):
    """Say what an endpoint answered to a test."""

    delivered: bool
    result: str
    http_status: int | None
    detail: str


class Status(Value):
    """Describe a live service.

    Attributes:
        parked: The jobs whose files are broken, as it has read them.
    """

    pid: int
    version: str
    started_at: datetime
    running: int
    database: str
    parked: tuple[Parked, ...] = ()


class Answers(Protocol):
    """Ask what is there, changing nothing; every method raises KovaError with a sentence for a person."""

    async def runs(self, job: str | None, *, unfinished: bool, limit: int) -> tuple[RunRow, ...]:
        """Return runs, newest first."""

    async def find(self, text: str) -> RunRow:
        """Return the one run whose id begins with the text; `last` is the newest, `last~1.2` a subagent of it."""

    async def family(self, run_id: RunId) -> tuple[RunRow, ...]:
        """Return the runs that one has dispatched, itself or through others, oldest first."""

    async def events(self, run_id: RunId, after: int, wait_s: float, limit: int | None = None) -> tuple[Placed, ...]:
        """Return facts behind a position, all of them or the first few; where there are none yet, wait for one."""

    async def approvals(self, *, open_only: bool) -> tuple[Asked, ...]:
        """Return calls that need a person, newest first."""

    async def deliveries(self, status: str | None, endpoint: str | None, limit: int) -> tuple[DeliveryRow, ...]:
        """Return duties to tell, newest first."""

    async def delivery(self, delivery_id: DeliveryId) -> Story:
        """Return all that is on record of one duty."""

    async def healths(self) -> tuple[Health, ...]:
        """Return how endpoints are doing, by name; those that nothing was ever sent to are left out."""

    async def occurrences(self, job: str | None, limit: int) -> tuple[Occurrence, ...]:
        """Return rows of the ledger, newest first."""

    async def hooks(self, job: str | None, like: str, limit: int) -> tuple[HookRow, ...]:
        """Return requests of webhooks with what became of them, newest first; `like` begins an id."""

    async def annals(self, job: str | None, since: datetime, until: datetime) -> Annals:
        """Return what is on record of schedules for a stretch, `until` excluded."""

    async def blob(self, key: BlobHash) -> Content:
        """Return a blob."""

    async def usage(
        self, by: str, zone: str, *, job: str | None, run_id: RunId | None, since: datetime | None
    ) -> UsageReport:
        """Return what calls of models have used.

        Args:
            by: What parts it, as names of `By` with commas between them.
            zone: IANA name of the zone whose days count.
            job: Of this job alone.
            run_id: Of this run alone.
            since: Included.
        """

    async def pauses(self) -> tuple[Pause, ...]:
        """Return the jobs whose schedules rest."""


class Control(Answers, Protocol):
    """Ask a service for anything."""

    async def status(self) -> Status:
        """Describe the service."""

    async def request(self, ask: RunAsk) -> RunRow:
        """Open a run; the same key twice is one run."""

    async def cancel(self, run_id: RunId, by: str, reason: str) -> RunRow:
        """Ask a run to end."""

    async def retry(self, run_id: RunId, by: str) -> RunRow:
        """Begin a further attempt of a finished run."""

    async def decide(self, run_id: RunId, call_id: CallId, said: Said) -> RunRow:
        """Answer for a call; the first answer counts."""

    async def requeue(self, delivery_id: DeliveryId, by: str) -> DeliveryRow:
        """Take up a duty at once."""

    async def pause_job(self, job: str, by: str, reason: str) -> Pause:
        """Let a job's schedule rest until it is resumed."""

    async def resume_job(self, job: str, by: str, *, catch_up: bool = False) -> Pause | None:
        """Let a job's schedule go on; return what it had rested for, None where it did not.

        Args:
            job: Its name.
            by: Who says so.
            catch_up: What was skipped meanwhile is caught up with, as far as `policy.missed` says so.
        """

    async def backfill(self, items: tuple[Backfill, ...]) -> tuple[Backfill, ...]:
        """Have instants filled in, and return those; what waits already is left out."""

    async def backfills(self, job: str) -> tuple[Backfill, ...]:
        """Return what of a job waits to be filled in, in its order."""

    async def drop_backfills(self, job: str) -> int:
        """Let what waits to be filled in be; return how much that was."""

    async def enable_endpoint(self, name: str) -> Health:
        """Let things be sent to an endpoint again; return how it was before."""

    async def test_endpoint(self, name: str, outcome: Outcome | None) -> Told:
        """Send an endpoint a test message; with an outcome, as the report of a run that ended so."""

    async def diff(self, run_id: RunId) -> str:
        """Return what a run's writes changed, as a unified diff."""

    async def undo(self, run_id: RunId) -> Undone:
        """Take a run's writes back, unless a file has changed since."""

    async def apply(self, run_id: RunId, by: str, *, control: bool, check: bool) -> Applied:
        """Bring what a run changed in a workspace of its own into the real one, unless a file has changed there.

        Args:
            run_id: Of a finished run.
            by: Who asks.
            control: Write control files too.
            check: Only say what would be done.
        """

    async def discard(self, run_id: RunId, by: str) -> RunRow:
        """Throw away what a run changed in a workspace of its own."""
