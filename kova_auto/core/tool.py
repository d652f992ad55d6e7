"""What the engine and the tools say to each other.

A tool is a generator: it announces what it is about to do, goes on once that is written down, and ends with one
`ToolOutput`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from kova_auto.core.approval.levels import Effect
from kova_auto.core.event import ProcessStarted
from kova_auto.core.ids import BlobHash, CallId, RunId
from kova_auto.core.job import Job
from kova_auto.core.message import FileChange, ToolCall, ToolResult


@dataclass(frozen=True, slots=True)
class Scene:
    """Hold what a tool may know of the run that calls it.

    Attributes:
        workspace: Absolute; the copy, where the run is staged or isolated.
        seen: Content hash of each file as the model last read or wrote it, by absolute path.
        processes: Background processes of this attempt, by the call that started them.
        left_s: Seconds until the run's own limit.
        level: The level's name, attended or not.
        rests: Blobs with what this run's results had to leave out: no other blob may be read.
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


class Zone(StrEnum):
    """Say where a path lies, for adjudication; the floor's zones come first."""

    CONTROL = "control"  # files that steer us or run code later: never written by a tool
    GUARDED = "guarded"  # the same, where a person at hand may let it through: `floor.Control.ASKED`
    SECRET = "secret"  # the user's keys and our own state: never read
    INSIDE = "inside"  # workspace
    WRITE_ROOT = "write_root"
    READ_ROOT = "read_root"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class PathFact:
    """Say which file a call touches, and where it lies; `path` is absolute and canonical."""

    path: str
    zone: Zone
    writes: bool


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Hold what was found out about a call before it is judged; judging itself looks at nothing else.

    Attributes:
        effect: What the tool declares; None for a tool that nobody knows.
        problem: Arguments that do not fit the schema: the call is answered, not judged.
        command: The very string that would be executed.
        host: That a web tool would ask.
        confinable: Confinements that are proven on this machine, as `reading`, `workspace`.
        no_confinement: Why none is proven: one sentence that a person can act on.
    """

    call: ToolCall
    effect: Effect | None
    problem: str = ""
    paths: tuple[PathFact, ...] = ()
    command: str | None = None
    host: str | None = None
    confinable: frozenset[str] = frozenset()
    no_confinement: str = ""


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
