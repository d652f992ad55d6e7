"""What is found out about a call before it is judged; judging looks at nothing else.

A path's zone is where it lies. `CONTROL` and `GUARDED` are for paths that are written; a tool that keeps files of its
own (memory, plan, subagents) names the zone itself: of a memory, `INSIDE` is the workspace's or the job's layer,
`ELSEWHERE` the global one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kova_auto.core.approval.levels import Effect
from kova_auto.core.message import ToolCall


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
        tainted_by: Untrusted text that the run has read, as `the web page https://…`; empty where it has read none.
        own: Key of the job file that names this very command, as `output.checks`; empty where the model asks for it.
        unagreed: A person at hand has not agreed yet by what the run's goal is judged.
        narrowed_by: Loaded skills that leave this tool out, with those that they leave; empty where none does.
        changing: Tools that change things, of the subagent that would be dispatched.
    """

    call: ToolCall
    effect: Effect | None
    problem: str = ""
    paths: tuple[PathFact, ...] = ()
    command: str | None = None
    host: str | None = None
    confinable: frozenset[str] = frozenset()
    no_confinement: str = ""
    tainted_by: str = ""
    own: str = ""
    unagreed: bool = False
    narrowed_by: str = ""
    changing: tuple[str, ...] = ()
