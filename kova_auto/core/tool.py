"""What the engine and the tools say to each other.

A tool is a generator: it announces what it is about to do, goes on once that is written down, and ends with one
`ToolOutput`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue

from kova_auto.core.approval.facts import CallFacts, PathFact, Zone
from kova_auto.core.approval.levels import Mode
from kova_auto.core.child import ChildState
from kova_auto.core.event import ProcessStarted
from kova_auto.core.goal.pursuit import Pursuit
from kova_auto.core.ids import BlobHash, CallId, RunId
from kova_auto.core.job import Job
from kova_auto.core.message import FileChange, ToolResult
from kova_auto.core.skill_facts import OfferedSkill

__all__ = [
    "CallFacts",
    "PathFact",
    "ProcessAnnounced",
    "Scene",
    "ToolFact",
    "ToolOutput",
    "ToolRun",
    "WriteAnnounced",
    "Zone",
]


@dataclass(frozen=True, slots=True)
class Scene:
    """Hold what a tool may know of the run that calls it.

    Attributes:
        workspace: Absolute; the copy, where the run is staged or isolated.
        seen: Content hash of each file as the model last read or wrote it, by absolute path.
        processes: Background processes of this attempt, by the call that started them.
        left_s: Seconds until the run's own limit.
        level: The level's name, attended or not.
        write_roots: Directories that count as inside, of the job, the user and this machine.
        mode: That the run is in.
        plan_file: Where its plan is; empty where it has none.
        answers: What a person answered to the questions of this call; empty where nobody did.
        tainted_by: Untrusted text that the run has read; empty where it has read none.
        children: Runs that it has dispatched, by the call that did, oldest first.
        granted: Tools that it may use; None for all that there are.
        goal: How far the run has come with its goal, for a goal tool; None for any other.
        staged: Nothing is to be written but in the workspace, which is a copy.
        rests: Blobs with what this run's prompt and results had to leave out: no other blob may be read.
        skills: That the run may load, and whose folders it may read.
    """

    run_id: RunId
    call_id: CallId
    job: Job
    workspace: str
    now: datetime
    left_s: float
    level: str
    seen: Mapping[str, BlobHash] = field(default_factory=dict)
    todo: tuple[dict[str, JsonValue], ...] = ()
    processes: Mapping[CallId, ProcessStarted] = field(default_factory=dict)
    rests: frozenset[BlobHash] = frozenset()
    write_roots: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    mode: Mode = Mode.AGENT
    plan_file: str = ""
    tainted_by: str = ""
    staged: bool = False
    goal: Pursuit | None = None
    skills: tuple[OfferedSkill, ...] = ()
    children: Mapping[CallId, ChildState] = field(default_factory=dict)
    granted: tuple[str, ...] | None = None

    @property
    def read_roots(self) -> tuple[str, ...]:
        """Return the directories that may be read besides the workspace and the write roots."""
        own = self.job.permissions.read_roots
        return (*own, *(skill.folder for skill in self.skills)) if self.skills else own


@dataclass(frozen=True, slots=True)
class ProcessAnnounced:
    """Say which process is about to run the command; it waits until the generator is resumed."""

    pid: int
    started: str
    background: bool = False


@dataclass(frozen=True, slots=True)
class WriteAnnounced:
    """Say what is about to be written; `blobs` hold the contents before and after."""

    change: FileChange
    blobs: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """End a tool's work; `blobs` hold what the result points to."""

    result: ToolResult
    blobs: tuple[bytes, ...] = ()


ToolFact = ProcessAnnounced | WriteAnnounced | ToolOutput
ToolRun = AsyncGenerator[ToolFact, None]
