"""The tables, one set for SQLite and PostgreSQL.

`event`, `alert` and `blob` are the journal. `run`, `approval`, `delivery` and `usage` hold rows of `core/view.py`,
folded from it, and a few *operational* columns that no fold gives: who holds a lease, and where the journal ends.
`occurrence`, `schedule_cursor`, `schedule_version`, `service_start` and `job_mark` are the ledger. `endpoint` holds how
deliveries have gone. Closed sets are kept as plain text: they are checked when a row is read, and a new member needs no
migration.
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from sqlalchemy import BigInteger, Index, LargeBinary, MetaData, Table, Text, false, text
from sqlmodel import Field, SQLModel

from kova_auto.store.columns import Id, Instant

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


# What is still to be done is little among all that was, and so are the runs that let their jobs rest, or have a
# workspace to themselves: they have indexes of their own, and a query finds them only where it says the same words.
# `schema.py` says these to PostgreSQL: to name that here would load all its drivers for every command.
UNFINISHED = text("execution <> 'finished'")
UNANSWERED = text("open")
PAUSING = text("pauses <> ''")
HOLDING = text("holds <> ''")
DISPATCHED = text("root <> ''")
OWED = text("status IN ('pending', 'waiting')")
PENDING = text("status = 'pending'")
WAITING = text("status = 'waiting'")
ACCEPTED = text("status = 'accepted'")
EXPECTED = text("expect_at IS NOT NULL AND late_at IS NULL")
OVERDUE = text("expect_at IS NOT NULL AND late_at IS NOT NULL AND recovered_at IS NULL")

# A column that an older database is given later has a default: SQLite adds it no other way.
EMPTY = {"server_default": text("''")}
NOTHING = {"server_default": text("0")}


class Record(SQLModel):
    """Be the root of every table; a record never leaves the store.

    Rows are written and read through the tables alone: the validators of these models are never built.
    """

    model_config = {"defer_build": True}
    metadata: ClassVar[MetaData] = METADATA


class EventRecord(Record, table=True):
    """Hold one fact; `body` is its whole JSON, the other columns repeat what is looked for."""

    __tablename__ = "event"

    run_id: str = Field(sa_type=Id, primary_key=True)
    seq: int = Field(sa_type=BigInteger, primary_key=True)
    kind: str = Field(sa_type=Text)
    v: int
    at: datetime = Field(sa_type=Instant)
    body: str = Field(sa_type=Text)


class BlobRecord(Record, table=True):
    """Hold one content under its SHA-256."""

    __tablename__ = "blob"

    hash: str = Field(sa_type=Id, primary_key=True)
    size: int = Field(sa_type=BigInteger)
    data: bytes = Field(sa_type=LargeBinary)


class RunRecord(Record, table=True):
    """Hold a `RunRow` and where its run stands.

    Attributes:
        head_seq: Operational: position of the run's last fact; a writer whose state is older is told so by it.
        epoch: Operational: of the last `RunAcquired`; a worker of an older one writes nothing.
        lease_owner: Operational: who performs the run's steps now.
        lease_until: Operational: until when nobody else may.
    """

    __tablename__ = "run"
    __table_args__ = (
        Index("ix_run_job_requested_at", "job", "requested_at"),
        Index("ix_run_job_finished_at", "job", "finished_at"),
        Index("ix_run_requested_at", "requested_at"),
        Index("ix_run_finished_at", "finished_at"),
        Index("ix_run_pausing", "job", sqlite_where=PAUSING),
        Index("ix_run_holding", "run_id", sqlite_where=HOLDING),
        Index("ix_run_root", "root", sqlite_where=DISPATCHED),
        Index("ix_run_unfinished", "requested_at", sqlite_where=UNFINISHED),
    )

    run_id: str = Field(sa_type=Id, primary_key=True)
    job: str = Field(sa_type=Id)
    origin: str = Field(sa_type=Text)
    nominal_at: datetime | None = Field(sa_type=Instant)
    requested_at: datetime = Field(sa_type=Instant)
    started_at: datetime | None = Field(sa_type=Instant)
    finished_at: datetime | None = Field(sa_type=Instant)
    execution: str = Field(sa_type=Text)
    outcome: str | None = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    partial: bool
    scripted: bool
    staged: bool
    model: str = Field(sa_type=Text)
    mode: str = Field(sa_type=Text)
    level: str = Field(sa_type=Text)
    workspace: str = Field(sa_type=Text)
    attempt: int
    iterations: int
    calls: int
    denied: int
    unknown: int
    tokens: int = Field(sa_type=BigInteger)
    cost_usd: float | None
    answer_excerpt: str = Field(sa_type=Text)
    answer_hash: str = Field(sa_type=Text)
    wake_at: datetime | None = Field(sa_type=Instant)
    resting: bool
    head_seq: int = Field(sa_type=BigInteger)
    epoch: int = Field(sa_type=BigInteger)
    lease_owner: str | None = Field(sa_type=Text)
    lease_until: datetime | None = Field(sa_type=Instant)
    fault: str = Field(sa_type=Text, sa_column_kwargs=EMPTY)
    pauses: str = Field(sa_type=Text, sa_column_kwargs=EMPTY)
    holds: str = Field(sa_type=Text, sa_column_kwargs=EMPTY)
    waits_for: str = Field(sa_type=Text, sa_column_kwargs=EMPTY)
    kept: str = Field(sa_type=Text, sa_column_kwargs=EMPTY)
    parent: str = Field(sa_type=Id, sa_column_kwargs=EMPTY)
    root: str = Field(sa_type=Id, sa_column_kwargs=EMPTY)
    agent: str = Field(sa_type=Text, sa_column_kwargs=EMPTY)
    reserved_tokens: int = Field(sa_type=BigInteger, sa_column_kwargs=NOTHING)
    reserved_usd: float = Field(sa_column_kwargs=NOTHING)


class ApprovalRecord(Record, table=True):
    """Hold an `ApprovalRow`."""

    __tablename__ = "approval"
    __table_args__ = (
        Index("ix_approval_requested_at", "requested_at"),
        Index("ix_approval_open", "requested_at", sqlite_where=UNANSWERED),
    )

    run_id: str = Field(sa_type=Id, primary_key=True)
    call_id: str = Field(sa_type=Id, primary_key=True)
    job: str = Field(sa_type=Id)
    tool: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    requested_at: datetime = Field(sa_type=Instant)
    expires_at: datetime | None = Field(sa_type=Instant)
    decision: str | None = Field(sa_type=Text)
    decided_by: str | None = Field(sa_type=Text)
    decided_at: datetime | None = Field(sa_type=Instant)
    open: bool


class AlertRecord(Record, table=True):
    """Hold one fact of an alert; `body` is its whole JSON."""

    __tablename__ = "alert"

    alert_id: str = Field(sa_type=Id, primary_key=True)
    seq: int = Field(sa_type=BigInteger, primary_key=True)
    kind: str = Field(sa_type=Text)
    at: datetime = Field(sa_type=Instant)
    body: str = Field(sa_type=Text)


class DeliveryRecord(Record, table=True):
    """Hold a `DeliveryRow`, and (operational) which courier is at it and until when."""

    __tablename__ = "delivery"
    __table_args__ = (
        Index("ix_delivery_run_id", "run_id"),
        Index("ix_delivery_owed_at", "owed_at"),
        Index("ix_delivery_owed", "owed_at", sqlite_where=OWED),
    )

    delivery_id: str = Field(sa_type=Id, primary_key=True)
    run_id: str = Field(sa_type=Id)
    job: str = Field(sa_type=Id)
    endpoint: str = Field(sa_type=Id)
    cause: str = Field(sa_type=Text)
    cause_seq: int = Field(sa_type=BigInteger)
    owed_at: datetime = Field(sa_type=Instant)
    status: str = Field(sa_type=Text)
    attempts: int
    in_flight: bool
    next_at: datetime | None = Field(sa_type=Instant)
    expires_at: datetime | None = Field(sa_type=Instant)
    http_status: int | None
    result: str = Field(sa_type=Text)
    detail: str = Field(sa_type=Text)
    lease_owner: str | None = Field(sa_type=Text)
    lease_until: datetime | None = Field(sa_type=Instant)


class UsageRecord(Record, table=True):
    """Hold a `UsageRow`."""

    __tablename__ = "usage"
    __table_args__ = (Index("ix_usage_job_at", "job", "at", "cost_usd"), Index("ix_usage_at", "at"))

    run_id: str = Field(sa_type=Id, primary_key=True)
    seq: int = Field(sa_type=BigInteger, primary_key=True)
    job: str = Field(sa_type=Id)
    at: datetime = Field(sa_type=Instant)
    model: str = Field(sa_type=Text)
    attempt: int
    iteration: int
    failed: bool
    input_tokens: int = Field(sa_type=BigInteger)
    output_tokens: int = Field(sa_type=BigInteger)
    cache_read_tokens: int = Field(sa_type=BigInteger)
    cache_write_tokens: int = Field(sa_type=BigInteger)
    reasoning_tokens: int = Field(sa_type=BigInteger)
    cost_usd: float | None
    agent: str = Field(sa_type=Text, sa_column_kwargs=EMPTY)


class OccurrenceRecord(Record, table=True):
    """Hold one row of the ledger: a job's instant is accounted for once."""

    __tablename__ = "occurrence"
    __table_args__ = (
        Index("ix_occurrence_nominal_at", "nominal_at"),
        Index("ix_occurrence_pending", "nominal_at", sqlite_where=PENDING),
        Index("ix_occurrence_expected", "expect_at", sqlite_where=EXPECTED),
        Index("ix_occurrence_overdue", "job", "nominal_at", sqlite_where=OVERDUE),
    )

    job: str = Field(sa_type=Id, primary_key=True)
    nominal_at: datetime = Field(sa_type=Instant, primary_key=True)
    schedule: str = Field(sa_type=Text)
    due_at: datetime = Field(sa_type=Instant)
    status: str = Field(sa_type=Text)
    why: str = Field(sa_type=Text)
    until_at: datetime | None = Field(sa_type=Instant)
    count: int = Field(sa_type=BigInteger)
    run_id: str | None = Field(sa_type=Id)
    settled_at: datetime | None = Field(sa_type=Instant)
    expect_at: datetime | None = Field(sa_type=Instant)
    late_at: datetime | None = Field(sa_type=Instant)
    recovered_at: datetime | None = Field(sa_type=Instant)


class ScheduleCursorRecord(Record, table=True):
    """Hold how far a job's schedule is accounted for; `schedule` is its hash."""

    __tablename__ = "schedule_cursor"

    job: str = Field(sa_type=Id, primary_key=True)
    schedule: str = Field(sa_type=Id, primary_key=True)
    at: datetime = Field(sa_type=Instant)


class ScheduleVersionRecord(Record, table=True):
    """Hold a `ScheduleVersion`: which schedule a job has since when."""

    __tablename__ = "schedule_version"

    job: str = Field(sa_type=Id, primary_key=True)
    begun_at: datetime = Field(sa_type=Instant, primary_key=True)
    schedule: str = Field(sa_type=Id)
    body: str = Field(sa_type=Text)


class ServiceStartRecord(Record, table=True):
    """Hold when a service has started, as long as that is the last time one did."""

    __tablename__ = "service_start"

    at: datetime = Field(sa_type=Instant, primary_key=True)


class JobMarkRecord(Record, table=True):
    """Hold the `JobMark` that was written last of each job."""

    __tablename__ = "job_mark"

    job: str = Field(sa_type=Id, primary_key=True)
    at: datetime = Field(sa_type=Instant)
    paused: bool
    by: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    catch_up: bool = Field(sa_column_kwargs={"server_default": false()})


class BackfillRecord(Record, table=True):
    """Hold a `Backfill`: an instant that is to be filled in afterwards, because somebody asked for it."""

    __tablename__ = "backfill"
    __table_args__ = (Index("ix_backfill_waiting", "asked_at", sqlite_where=WAITING),)

    job: str = Field(sa_type=Id, primary_key=True)
    nominal_at: datetime = Field(sa_type=Instant, primary_key=True)
    asked_at: datetime = Field(sa_type=Instant, primary_key=True)
    path: str = Field(sa_type=Text)
    by: str = Field(sa_type=Text)
    overlap: str = Field(sa_type=Text)
    at_once: int
    status: str = Field(sa_type=Text)
    why: str = Field(sa_type=Text)
    run_id: str | None = Field(sa_type=Id)


class EndpointRecord(Record, table=True):
    """Hold the `Health` of an endpoint."""

    __tablename__ = "endpoint"

    endpoint: str = Field(sa_type=Id, primary_key=True)
    failures: int
    failing_since: datetime | None = Field(sa_type=Instant)
    last_failure: str = Field(sa_type=Text)
    last_success_at: datetime | None = Field(sa_type=Instant)
    paused_until: datetime | None = Field(sa_type=Instant)
    paused_why: str = Field(sa_type=Text)
    disabled_at: datetime | None = Field(sa_type=Instant)
    disabled_why: str = Field(sa_type=Text)
    gone: bool
    probe_at: datetime | None = Field(sa_type=Instant)
    told: str = Field(sa_type=Text)


class HookRequestRecord(Record, table=True):
    """Hold a `HookRequest`: of a sender's id there is one for each job, and one of each of a job's instants."""

    __tablename__ = "hook_request"
    __table_args__ = (
        Index("ix_hook_request_job_received_at", "job", "received_at", unique=True),
        Index("ix_hook_request_job_digest", "job", "digest"),
        Index("ix_hook_request_hook_id", "hook_id"),
        Index("ix_hook_request_received_at", "received_at"),
        Index("ix_hook_request_accepted", "received_at", sqlite_where=ACCEPTED),
    )

    job: str = Field(sa_type=Id, primary_key=True)
    source: str = Field(sa_type=Id, primary_key=True)
    delivery_id: str = Field(sa_type=Id, primary_key=True)
    hook_id: str = Field(sa_type=Id)
    digest: str = Field(sa_type=Id)
    received_at: datetime = Field(sa_type=Instant)
    event: str = Field(sa_type=Text)
    actor: str = Field(sa_type=Text)
    status: str = Field(sa_type=Text)
    why: str = Field(sa_type=Text)
    inputs: str = Field(sa_type=Text)


def _table(record: type[Record]) -> Table:
    return METADATA.tables[str(record.__tablename__)]


EVENT = _table(EventRecord)
BLOB = _table(BlobRecord)
RUN = _table(RunRecord)
ALERT = _table(AlertRecord)
APPROVAL = _table(ApprovalRecord)
DELIVERY = _table(DeliveryRecord)
USAGE = _table(UsageRecord)
OCCURRENCE = _table(OccurrenceRecord)
CURSOR = _table(ScheduleCursorRecord)
VERSION = _table(ScheduleVersionRecord)
START = _table(ServiceStartRecord)
MARK = _table(JobMarkRecord)
BACKFILL = _table(BackfillRecord)
ENDPOINT = _table(EndpointRecord)
HOOK = _table(HookRequestRecord)
