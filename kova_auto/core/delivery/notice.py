"""What an endpoint is told: a run that ended, a call that needs a person, a success that is late, or a mere test.

A notice is a frozen value. Its texts are cleaned as it is made, and secrets were taken out before they got here.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BeforeValidator, Field, FiniteFloat, TypeAdapter

from kova_auto.core.approval.levels import Mode
from kova_auto.core.delivery.text import clean
from kova_auto.core.job import Outcome
from kova_auto.core.value import Value

SCRIPTED = "scripted: no model was called"


def _clean(value: object) -> object:
    return clean(value) if isinstance(value, str) else value


Text = Annotated[str, BeforeValidator(_clean)]


class Denial(Value):
    """Name a tool call that was not allowed, and why."""

    tool: Text
    reason: Text


class Change(Value):
    """Name a file that a run left different from what it found; relative to the workspace where it lies inside."""

    path: Text
    what: Literal["created", "modified", "deleted"]


class RunReport(Value):
    """Tell what came of a finished run.

    Attributes:
        level: What judged its calls: an automation level, or the approval level of an attended run.
        duration_s: Running time; suspended stretches do not count.
        attempts: How many the run took; what is told is of the last, the tokens and their price are of all.
        tool_calls: All of them, the denied ones included.
        cost_usd: None where a price is not known.
        answer: The final answer in Markdown, or the last text before a limit.
        reason: Why it ended, where the outcome alone does not say.
        partial: A limit cut the work short.
        pauses: Why the job's schedule rests from here on; empty where it goes on.
        nominal_at: The instant that the schedule meant; None for a run that somebody asked for.
        inputs: What the run was given by name; it may come from outside.
    """

    kind: Literal["run_report"] = "run_report"
    run_id: Text
    job: Text
    description: Text = ""
    outcome: Outcome
    execution: Literal["finished"] = "finished"
    scripted: bool = False
    model: Text
    mode: Mode = Mode.AGENT
    level: Text
    workspace: Text
    nominal_at: AwareDatetime | None = None
    started_at: AwareDatetime | None = None
    finished_at: AwareDatetime
    duration_s: FiniteFloat = Field(default=0.0, ge=0)
    attempts: int = Field(default=1, ge=1)
    iterations: int = 0
    tool_calls: int = 0
    denied: tuple[Denial, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: FiniteFloat | None = None
    answer: Text = ""
    reason: Text = ""
    partial: bool = False
    pauses: Text = ""
    changes: tuple[Change, ...] = ()
    inputs: dict[str, Text] = Field(default_factory=dict)

    @property
    def at(self) -> datetime:
        """Return when what is told happened."""
        return self.finished_at

    @property
    def type(self) -> str:
        """Return the dotted name that a receiver selects by."""
        match self.outcome:
            case Outcome.DONE | Outcome.NOTHING_TO_REPORT:
                return "kova.run.completed"
            case Outcome.CANCELLED:
                return "kova.run.cancelled"
            case Outcome.TIMED_OUT:
                return "kova.run.timed_out"
            case _:
                return "kova.run.failed"


class ApprovalNotice(Value):
    """Tell that a call waits for a person, or that nobody could be asked about one.

    Attributes:
        arguments: The call's arguments as text, for a person to judge.
        reason: Why it is not simply allowed.
        rule: The rule that says so.
        asks: The call asks a question: an answer is what it wants.
        remembers: What "allow and remember" would keep, each as a person reads it.
        no_offer: Why nothing can be remembered; empty where something can.
        proposes: What the workspace's own permission file proposes of it; it grants nothing.
        overwrites: Files that the call would write over.
        unreached: Which endpoint could not be asked, and what it answered; empty where this is the request itself.
        settled: What has become of the call since; empty where it still waits.
        answer_url: Leads to a page where it can be answered once; a credential. Empty where there is none.
        answer_token: What a button of a chat stands for, where presses of buttons are taken.
        subagent: The definition of the subagent that makes the call; empty for a run that nobody dispatched.
        parent: The run that dispatched it; likewise.
        root: The first run of its line; likewise.
    """

    kind: Literal["approval_notice"] = "approval_notice"
    run_id: Text
    job: Text
    call_id: Text
    tool: Text
    arguments: Text = ""
    reason: Text = ""
    rule: Text = ""
    asks: bool = False
    remembers: tuple[Text, ...] = ()
    no_offer: Text = ""
    proposes: tuple[Text, ...] = ()
    overwrites: tuple[Text, ...] = ()
    unreached: Text = ""
    settled: Text = ""
    answer_url: Text = ""
    answer_token: Text = ""
    subagent: Text = ""
    parent: Text = ""
    root: Text = ""
    scripted: bool = False
    requested_at: AwareDatetime
    expires_at: AwareDatetime | None = None

    @property
    def at(self) -> datetime:
        """Return when what is told happened."""
        return self.requested_at

    @property
    def type(self) -> str:
        """Return the dotted name that a receiver selects by."""
        return "kova.approval.unreachable" if self.unreached else "kova.approval.requested"


# What breaks receivers: line ends, quotes, characters of several bytes, glyphs of several characters, markup, mentions.
_NASTY = """Line one
Line two: "quotes", ümläut, 日本語, 👩‍👩‍👧, `code`, **bold**, <b>no markup</b> & @channel
- [a link](https://example.org/a?b=c&d)"""


class EndpointTest(Value):
    """Tell that an endpoint can be reached, with a text that breaks what a plain hello would not."""

    kind: Literal["endpoint_test"] = "endpoint_test"
    endpoint: Text
    sent_at: AwareDatetime
    text: Text = _NASTY

    @property
    def at(self) -> datetime:
        """Return when what is told happened."""
        return self.sent_at

    @property
    def type(self) -> str:
        """Return the dotted name that a receiver selects by."""
        return "kova.test"


class ScheduleNotice(Value):
    """Tell that a success which was expected by an instant has not come, or that it has come after all.

    Attributes:
        what: `late`, or `recovered` once a success has ended it.
        nominal_at: The instant that the schedule meant; the first of them where there are several.
        count: For how many instants the success was missing.
        expected_at: By when it should have been there.
        noticed_at: When it was noticed that it was not, or when it came.
        late_s: From `expected_at` to `noticed_at`.
        became: What has become of the instant, as `missed (outside_window)`.
        run_id: Its run, or the run whose success has ended it; empty where there is none.
        reason: What a person should know besides; empty where that is nothing.
    """

    kind: Literal["schedule_notice"] = "schedule_notice"
    what: Literal["late", "recovered"]
    job: Text
    description: Text = ""
    nominal_at: AwareDatetime
    count: int = Field(default=1, ge=1)
    expected_at: AwareDatetime
    noticed_at: AwareDatetime
    late_s: FiniteFloat = Field(ge=0)
    became: Text = ""
    run_id: Text = ""
    reason: Text = ""
    scripted: bool = False

    @property
    def at(self) -> datetime:
        """Return when what is told happened."""
        return self.noticed_at

    @property
    def type(self) -> str:
        """Return the dotted name that a receiver selects by."""
        return f"kova.schedule.{self.what}"


class EndpointNotice(Value):
    """Tell other endpoints that one of them is in trouble, or that it takes things again.

    Attributes:
        what: `disabled`: nothing is sent there any more; `undelivered`: something was given up; `untrusted`: its
            certificate is not to be believed, so that nothing is sent; `recovered`: it has taken something since.
        since: When the first of the attempts failed that have failed in a row; None where its last one was good.
        failures: How many they are.
        reason: What it did last.
        delivery_id: What was being delivered.
        run_id: Of the run that owes it, or of the alert.
        job: Of the run.
        probe_at: When one delivery tries whether it is back; None where none does.
    """

    kind: Literal["endpoint_notice"] = "endpoint_notice"
    what: Literal["disabled", "undelivered", "untrusted", "recovered"]
    endpoint: Text
    happened_at: AwareDatetime
    since: AwareDatetime | None = None
    failures: int = 0
    reason: Text = ""
    delivery_id: Text = ""
    run_id: Text = ""
    job: Text = ""
    probe_at: AwareDatetime | None = None

    @property
    def scripted(self) -> bool:
        """Say that no script has anything to do with it."""
        return False

    @property
    def at(self) -> datetime:
        """Return when what is told happened."""
        return self.happened_at

    @property
    def type(self) -> str:
        """Return the dotted name that a receiver selects by."""
        return f"kova.endpoint.{self.what}"


class Digest(Value):
    """Tell of many results in one message: each of its own would have been too many at once.

    Attributes:
        count: How many runs have ended.
        since: When the first of them did.
        until: When the last did.
        text: A line of Markdown for each, as far as there is room; what did not go well comes first.
        scripted: A script was played in all of them.
    """

    kind: Literal["digest"] = "digest"
    endpoint: Text
    count: int
    since: AwareDatetime
    until: AwareDatetime
    outcomes: dict[Outcome, int]
    text: Text
    run_id: Text = ""
    job: Text = ""
    scripted: bool = False

    @property
    def at(self) -> datetime:
        """Return when what is told happened."""
        return self.until

    @property
    def type(self) -> str:
        """Return the dotted name that a receiver selects by."""
        return "kova.run.digest"


Notice = RunReport | ApprovalNotice | ScheduleNotice | EndpointNotice | Digest | EndpointTest
NOTICE: TypeAdapter[Notice] = TypeAdapter(Annotated[Notice, Field(discriminator="kind")])
