"""The facts about one tool call: judged, begun, ended."""

from __future__ import annotations

from typing import Literal

from kova_auto.core.approval.levels import Verdict
from kova_auto.core.fact import Fact
from kova_auto.core.ids import CallId
from kova_auto.core.message import FileChange, ToolResult


class CallAdjudicated(Fact):
    """Hold what may happen to a call, written before anything does."""

    kind: Literal["call_adjudicated"] = "call_adjudicated"
    call_id: CallId
    verdict: Verdict


class CallStarted(Fact):
    """Announce a call's effect."""

    kind: Literal["call_started"] = "call_started"
    call_id: CallId


class ProcessStarted(Fact):
    """Say which process group a call owns; the command runs only after this is written.

    Attributes:
        started: The kernel's start time of the leader, so that a reused pid is not taken for it.
        background: It goes on after its call has ended, at most until the run ends.
    """

    kind: Literal["process_started"] = "process_started"
    call_id: CallId
    pid: int
    started: str
    background: bool = False


class WritePlanned(Fact):
    """Announce what a write will do to a file; both contents are blobs already."""

    kind: Literal["write_planned"] = "write_planned"
    call_id: CallId
    change: FileChange


class CallFinished(Fact):
    """Hold the one result of a call, whether it was executed, refused, or cut off."""

    kind: Literal["call_finished"] = "call_finished"
    call_id: CallId
    result: ToolResult
