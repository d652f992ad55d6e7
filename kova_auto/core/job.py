"""What a job file declares, and the frozen job that a run carries.

Keys are the file's own. Every limit has a default; the dangerous choices never are one.
"""

from __future__ import annotations

from datetime import date, time, timedelta
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StringConstraints,
    field_validator,
    model_validator,
)

from kova_auto.core.approval.levels import AutomationLevel, Mode
from kova_auto.core.approval.network import Network
from kova_auto.core.duration import Duration
from kova_auto.core.secret import SecretRef
from kova_auto.core.value import Value
from kova_auto.core.webhook_source import WebhookSource

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
SkillName = Annotated[str, StringConstraints(min_length=1, max_length=64)]


def render_moment(value: object) -> object:
    """Write a TOML date, or date with time, as the text it stood for; leave to the type's own check what is neither."""
    return value.isoformat() if isinstance(value, date) else value


Moment = Annotated[str, BeforeValidator(render_moment)]
"""A date, or a date with its time; without an offset it is what the schedule's zone shows."""


class Table(Value):
    """Be one table of a job file; its validator is built when it is first needed, for a quick command line."""

    model_config = ConfigDict(defer_build=True)


class Outcome(StrEnum):
    """Say what came of a finished run."""

    DONE = "done"
    NOTHING_TO_REPORT = "nothing_to_report"
    NEEDS_INPUT = "needs_input"
    BLOCKED = "blocked"
    FAILED = "failed"
    CONTRACT_FAILED = "contract_failed"
    TIMED_OUT = "timed_out"
    BUDGET_EXCEEDED = "budget_exceeded"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"


class After(Table):
    """Start when another job has ended."""

    job: Name
    on: Literal["success", "failure", "any"] = "success"
    within: Duration | None = None


class Exclude(Table):
    """Name local dates, weekdays and hours on which nothing runs."""

    dates: tuple[Moment, ...] = ()
    weekdays: tuple[str, ...] = ()
    hours: tuple[str, ...] = ()
    calendars: tuple[str, ...] = ()


class WebhookTable(Table):
    """Say whose requests start a job, and what of them it is given.

    Attributes:
        secret: Proves who sent a request; several while one takes the place of another.
        events: What must have happened, as the sender calls it; empty for anything.
        actors: Who must have done it; empty for anybody.
        event: JSON pointer to what happened; None where the source says it of itself.
        actor: JSON pointer to who did it; likewise.
        header: Of `token`: holds the token; None for `Authorization: Bearer`.
        map: JSON pointers into the body, by the input that each fills.
        max_bytes: Of a body.
    """

    source: WebhookSource
    secret: SecretRef | tuple[SecretRef, ...]
    events: tuple[str, ...] = ()
    actors: tuple[str, ...] = ()
    event: str | None = None
    actor: str | None = None
    header: str | None = None
    map: dict[str, str] = Field(default_factory=dict)
    max_bytes: StrictInt = Field(default=1_048_576, ge=1024, le=26_214_400)

    @property
    def secrets(self) -> tuple[SecretRef, ...]:
        """Return the references, the newest first."""
        return (self.secret,) if isinstance(self.secret, SecretRef) else self.secret


class ScheduleTable(Table):
    """Say when a job runs: exactly one of `cron`, `every`, `at`, `on`, `after`, `webhook`."""

    cron: str | tuple[str, ...] | None = None
    every: Duration | None = None
    at: Moment | tuple[Moment, ...] | None = None
    on: Literal["startup"] | None = None
    after: tuple[After, ...] | None = None
    webhook: WebhookTable | None = None
    timezone: str | None = None
    anchor: Moment | None = None
    start: Moment | None = None
    end: Moment | None = None
    exclude: Exclude | None = None
    jitter: Duration = timedelta(0)

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        kinds = ("cron", "every", "at", "on", "after", "webhook")
        found = [kind for kind in kinds if getattr(self, kind) is not None]
        if len(found) != 1:
            msg = f"wanted exactly one of {', '.join(kinds)}, found {' and '.join(found) or 'none'}"
            raise ValueError(msg)
        if self.every is not None and self.every < timedelta(seconds=5):
            msg = "every: wanted at least 5s"
            raise ValueError(msg)
        return self


class Retry(Table):
    """Say how often a failed run is tried again, as further attempts inside the same run."""

    attempts: StrictInt = Field(default=0, ge=0, le=20)
    initial: Duration = timedelta(seconds=30)
    max: Duration = timedelta(minutes=10)
    on: tuple[Literal["rate_limit", "transient", "failed", "timed_out"], ...] = ("rate_limit", "transient")


class Policy(Table):
    """Say what happens to instants that were missed, that overlap, or that come too late."""

    missed: Literal["skip", "latest", "all"] = "latest"
    missed_window: Duration | None = None
    missed_max: StrictInt = Field(default=5, ge=1, le=1000)
    overlap: Literal["skip", "queue", "buffer_one", "cancel_previous", "allow"] = "skip"
    queue_limit: StrictInt = Field(default=10, ge=1, le=1000)
    max_parallel: StrictInt = Field(default=3, ge=1, le=100)
    start_deadline: Duration | None = None
    on_interrupt: Literal["resume", "fail"] = "resume"
    retry: Retry = Field(default_factory=Retry)
    max_runs: StrictInt = Field(default=0, ge=0)
    pause_after_failures: StrictInt = Field(default=0, ge=0)
    expect_within: Duration | None = None


class Limits(Table):
    """Bound what one run may use; all are on by default.

    Attributes:
        timeout: Running time; it does not count while the run is suspended.
        denials: This many refused calls end the run as blocked.
        required_tools: Without these the job is worth nothing: one refused call of them ends the run as blocked.
    """

    timeout: Duration = Field(default=timedelta(minutes=20), gt=timedelta(0))
    cancel_grace: Duration = Field(default=timedelta(seconds=30), ge=timedelta(0), le=timedelta(hours=1))
    iterations: StrictInt = Field(default=50, ge=1, le=10_000)
    tokens: StrictInt = Field(default=500_000, ge=1)
    cost_usd: StrictFloat = Field(default=1.00, gt=0, allow_inf_nan=False)
    cost_usd_per_day: StrictFloat = Field(default=5.00, gt=0, allow_inf_nan=False)
    denials: StrictInt = Field(default=5, ge=1)
    required_tools: tuple[str, ...] = ()


IN_MONEY = frozenset({"cost_usd", "cost_usd_per_day"})
"""The limits that only a known price can hold."""


class Permissions(Table):
    """Grant an unattended run what its level does not; the file's author wrote them."""

    allow_commands: tuple[str, ...] = ()
    allow_mcp_tools: tuple[str, ...] = ()
    write_roots: tuple[str, ...] = ()
    read_roots: tuple[str, ...] = ()
    web: tuple[str, ...] = ()
    sandbox: Literal["auto", "required", "off"] = "auto"
    commands: Literal["rules", "confined"] = "rules"
    network: Network = "off"


class Input(Table):
    """Declare one input of the prompt; without a default it must be given.

    Attributes:
        one_of: It must be one of these; empty for anything.
        pattern: Regular expression that the whole of it must match.
        min: Of an `int`.
        max: Of an `int`.
    """

    default: str | None = None
    type: Literal["text", "int"] = "text"
    max_length: StrictInt = Field(default=200, ge=1, le=100_000)
    one_of: tuple[str, ...] = ()
    pattern: str | None = None
    min: StrictInt | None = None
    max: StrictInt | None = None
    description: str = ""


class ApprovalTable(Table):
    """Say what becomes of a call that needs a person."""

    when_needed: Literal["deny", "suspend"] = "deny"
    timeout: Duration = timedelta(hours=12)
    on_timeout: Literal["deny", "stop", "keep"] = "deny"
    on_unreachable: Literal["deny", "keep"] = "deny"
    questions: Literal["assume", "suspend"] = "assume"
    notify: tuple[Name, ...] = ()


class Output(Table):
    """Say what the final answer must be.

    Attributes:
        checks: Commands that are run after it, each of which must end with exit code 0.
        check_timeout: Of each of them.
    """

    model_config = ConfigDict(serialize_by_alias=True)  # what an event holds must be read back

    schema_file: str | None = Field(default=None, alias="schema")
    checks: tuple[str, ...] = ()
    check_timeout: Duration = Field(default=timedelta(minutes=5), gt=timedelta(0), le=timedelta(hours=1))


class CommandCriterion(Table):
    """Judge a goal by a command's exit code."""

    command: str


class Goal(Table):
    """Say when a goal is reached."""

    criteria: tuple[str | CommandCriterion, ...] = ()
    turns: StrictInt = Field(default=30, ge=1, le=1000)


class Agents(Table):
    """Name the subagents that a run may dispatch."""

    allow: tuple[str, ...] = ()


class Mcp(Table):
    """Name the MCP servers that a run may use."""

    servers: tuple[str, ...] = ()


class Context(Table):
    """Say what a run is shown besides its prompt; `skills` None is all that a model may choose itself."""

    memory: tuple[Literal["workspace", "global", "job"], ...] = ("workspace", "global")
    skills: tuple[SkillName, ...] | None = None
    attachments: tuple[str, ...] = ()


class Notify(Table):
    """Promise an endpoint to be told; `when` lists outcomes, or says always, on a change, or on recovery."""

    endpoint: Name
    when: tuple[Outcome, ...] | Literal["always", "change", "recovery"] = "always"


class JobFile(Table):
    """Hold what a job file says, with every default filled in."""

    description: str = ""
    prompt: str | None = None
    prompt_file: str | None = None
    workspace: str | None = None
    model: str | tuple[str, ...] = "auto"
    script: str | None = None
    allow_scripted: StrictBool = False
    mode: Mode = Mode.AGENT
    automation: AutomationLevel = AutomationLevel.READ_ONLY
    isolation: Literal["in-place", "worktree", "copy"] = "in-place"
    schedule: ScheduleTable | None = None
    policy: Policy = Field(default_factory=Policy)
    limits: Limits = Field(default_factory=Limits)
    permissions: Permissions = Field(default_factory=Permissions)
    env: dict[str, SecretRef] = Field(default_factory=dict)
    inputs: dict[str, Input] = Field(default_factory=dict)
    approval: ApprovalTable = Field(default_factory=ApprovalTable)
    output: Output = Field(default_factory=Output)
    goal: Goal = Field(default_factory=Goal)
    agents: Agents = Field(default_factory=Agents)
    mcp: Mcp = Field(default_factory=Mcp)
    context: Context = Field(default_factory=Context)
    notify: tuple[Notify, ...] = ()

    @field_validator("inputs", mode="before")
    @classmethod
    def _a_bare_string_is_a_default(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        return {name: {"default": item} if isinstance(item, str) else item for name, item in value.items()}

    @property
    def secrets(self) -> tuple[SecretRef, ...]:
        """Return every reference to a secret: of its commands' variables, and of the webhook that starts it."""
        hook = self.schedule.webhook if self.schedule else None
        return (*self.env.values(), *(hook.secrets if hook else ()))

    @property
    def models(self) -> tuple[str, ...]:
        """Return the models in the order they are tried."""
        return (self.model,) if isinstance(self.model, str) else self.model


class Job(JobFile):
    """Hold one job, resolved and frozen: what the event that opens a run carries.

    Attributes:
        name: The file's stem.
        path: Where the file was.
        prompt: The prompt's text, from the file itself or from `prompt_file`; never None.
        workspace: Absolute and canonical.
        script_text: Content of `script`.
        schema_text: Content of the output schema.
        bounds_money: The file names a ceiling in money: it must hold, so that every price must be known.
    """

    name: Name
    path: str
    prompt: str
    workspace: str
    script_text: str | None = None
    schema_text: str | None = None
    bounds_money: bool = False


def hours_of(text: str) -> tuple[time, time]:
    """Return the two ends of an excluded stretch of local time, as `22:00-06:00`.

    Raises:
        ValueError: The text is no such stretch.
    """
    first, dash, last = text.partition("-")
    if not dash:
        msg = f'wanted hours as "22:00-06:00", found {text!r}'
        raise ValueError(msg)
    return time.fromisoformat(first.strip()), time.fromisoformat(last.strip())
