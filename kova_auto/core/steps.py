"""The steps that a run may take, and those in which it rests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from kova_auto.core.approval.levels import Mode
from kova_auto.core.fault import Fault
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import ResultStatus

TOGETHER: Final = 8
"""So many calls that only look are executed at the same time."""


@dataclass(frozen=True, slots=True)
class AssembleContext:
    """Put together what the model is given first."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Ask a model (`provider/model`) for the reply of an iteration (from 1)."""

    iteration: int
    model: str
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Compact:
    """Put one text in the place of the older iterations.

    Attributes:
        through: The last of them that is folded; that before the attempt where only the history is.
        tokens: Of the request that would be made without it, roughly.
        model: Who is asked to sum them up; empty: nobody is, and the window begins afresh.
        words: So many words the summary is to have at most.
        shown_from: The first iteration that the model is shown; 0 where nothing at all is left out.
        trimmed: Long results are cut, for want of room.
    """

    through: int
    reason: Literal["threshold", "overflow"]
    tokens: int
    model: str = ""
    words: int = 0
    shown_from: int = 0
    trimmed: bool = False
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Adjudicate:
    """Decide what may happen to a call."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class AskPerson:
    """Ask a person about a call."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class AnswerForNobody:
    """Answer for the person who did not in time, or could not be asked; `by` stands for the name.

    Attributes:
        goes_on: The call asks something: its answer is that nobody is there.
    """

    call_id: CallId
    by: str
    note: str
    goes_on: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    """Tell the model that a call is not executed, and why; `concludes` is the outcome that this gives the run."""

    call_id: CallId
    reason: str
    status: ResultStatus = ResultStatus.DENIED
    concludes: Outcome | None = None


@dataclass(frozen=True, slots=True)
class Execute:
    """Do what a call asks."""

    call_id: CallId


@dataclass(frozen=True, slots=True)
class ExecuteTogether:
    """Do what several calls ask that only look, at most `TOGETHER` at the same time; two or more, in the model's order.

    Once one has brought what may change verdicts, none begins any more: those that are left are judged anew.
    """

    call_ids: tuple[CallId, ...]


@dataclass(frozen=True, slots=True)
class Recover:
    """Settle a call that was cut off half-way; `replay` lets a tool that is safe to repeat run again."""

    call_id: CallId
    replay: bool = True


@dataclass(frozen=True, slots=True)
class EnterMode:
    """Go on in another mode, as a call was let through to."""

    mode: Mode
    call_id: CallId


@dataclass(frozen=True, slots=True)
class RunChecks:
    """Run the commands that check the answer which an iteration ended with."""

    iteration: int


@dataclass(frozen=True, slots=True)
class CountFamily:
    """Find out what the other runs of the family have used, before a model is asked again."""


@dataclass(frozen=True, slots=True)
class StopChildren:
    """Ask children to end, because their parent does."""

    call_ids: tuple[CallId, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """End the run."""

    outcome: Outcome
    answer: str = ""
    reason: str = ""
    partial: bool = False
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class BeginAgain:
    """End this attempt, and have the run begin anew: the job's policy covers what it comes to.

    Attributes:
        end: What would end the run otherwise.
        not_before: When the next attempt may begin.
    """

    end: Finish
    not_before: datetime


@dataclass(frozen=True, slots=True)
class AwaitApproval:
    """Rest until a person answers, or until the instant."""

    call_id: CallId
    until: datetime | None


@dataclass(frozen=True, slots=True)
class AwaitUntil:
    """Rest until an instant."""

    until: datetime


@dataclass(frozen=True, slots=True)
class AwaitWorkspace:
    """Rest until the run that has the workspace has finished."""

    holder: RunId


@dataclass(frozen=True, slots=True)
class AwaitChildren:
    """Rest until children have finished, or until the instant."""

    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Rest:
    """Rest for good: the run has finished."""


Resting = AwaitApproval | AwaitUntil | AwaitWorkspace | AwaitChildren | Rest
Ending = Finish | BeginAgain
Judging = Adjudicate | AskPerson | AnswerForNobody | Refuse | Execute | Recover
Acting = (
    AssembleContext
    | CallModel
    | Compact
    | Judging
    | ExecuteTogether
    | EnterMode
    | RunChecks
    | CountFamily
    | StopChildren
    | Ending
)
Step = Acting | Resting


def settles(step: Acting) -> bool:
    """Say whether a step only brings to its end what is there: neither a ceiling nor a wish to stop cuts it off."""
    return isinstance(step, Refuse | StopChildren | Ending) or (isinstance(step, Recover) and not step.replay)
