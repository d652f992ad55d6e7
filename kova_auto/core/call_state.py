"""The state of one tool call: what its facts add up to; `core/run_calls.py` adds them up."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from kova_auto.core.approval.levels import Decision, Ruling, Verdict
from kova_auto.core.event import ApprovalDecided, ApprovalRequested, CallStarted, ProcessStarted, WritePlanned
from kova_auto.core.message import ToolCall, ToolResult


class CallState(NamedTuple):
    """Hold what is known of one tool call.

    Attributes:
        judged_seq: Position of the fact that holds the verdict.
        judged_at: When that was.
        asked_seq: Position of the fact that asks a person.
        started_seq: Position of the fact that it was started.
        in_doubt: It was started and its worker is gone: it may or may not have happened.
    """

    call: ToolCall
    verdict: Verdict | None = None
    judged_seq: int = 0
    judged_at: datetime | None = None
    approval: ApprovalRequested | None = None
    asked_seq: int = 0
    decision: ApprovalDecided | None = None
    started: CallStarted | None = None
    started_seq: int = 0
    in_doubt: bool = False
    process: ProcessStarted | None = None
    planned: tuple[WritePlanned, ...] = ()
    result: ToolResult | None = None

    @property
    def awaits_person(self) -> bool:
        """Say whether somebody was asked and has not answered."""
        return self.approval is not None and self.decision is None and self.result is None

    @property
    def is_under_way(self) -> bool:
        """Say whether it was started, and whoever started it may still bring it to its end."""
        return self.started is not None and self.result is None and not self.in_doubt

    @property
    def permitted(self) -> bool:
        """Say whether its verdict lets it run, or leaves it to a person who lets it run.

        What a person changed is judged anew: a refusal stands whatever that person said.
        """
        match self.verdict.ruling if self.verdict else Ruling.DENY:
            case Ruling.ALLOW:
                return self.decision is None or self.decision.decision is not Decision.DENY
            case Ruling.ASK:
                return self.decision is not None and self.decision.decision is not Decision.DENY
            case Ruling.DENY:
                return False
