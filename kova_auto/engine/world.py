"""Everything outside that performing a step may touch, built once by `app`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Protocol
from zoneinfo import ZoneInfo

from kova_auto.core.approval.policy import Policy
from kova_auto.core.consent import Offer, Target
from kova_auto.core.context.briefing import Briefing
from kova_auto.core.ids import BlobHash, RunId
from kova_auto.core.message import ToolCall
from kova_auto.core.ports import Checks, Clock, Journal, Model, SteadyClock, Toolbox, Views
from kova_auto.core.run import RunState
from kova_auto.core.tool import CallFacts, Scene


class Blobs(Protocol):
    """Give the content of what facts point to."""

    async def blob(self, key: BlobHash) -> bytes:
        """Return a blob."""


class Enquiry(Protocol):
    """Find out about calls."""

    async def facts(self, call: ToolCall, scene: Scene) -> CallFacts:
        """Find out what a call would touch; changes nothing."""

    async def targets(self, call: ToolCall, scene: Scene) -> tuple[Target, ...]:
        """Return what lies where a call would write, as it is now; empty where it writes no file of its own."""


@dataclass(frozen=True, slots=True)
class Senses:
    """Hold what asking a model and judging its calls needs: nothing in it writes, executes or tells anybody.

    Attributes:
        models: Returns a model of a run's chain, by its name; raises ModelError or ConfigError where there is none.
        policies: Returns the policy that a run is under.
        offers: Returns what "allow and remember" would keep of a call that needs a person.
        redact: Takes the secrets that are known out of text, before it is written or shown to a model.
    """

    clock: Clock
    journal: Blobs
    toolbox: Enquiry
    models: Callable[[RunState, str], Model]
    policies: Callable[[RunState], Policy]
    offers: Callable[[RunState, CallFacts], Awaitable[Offer]]
    redact: Callable[[str], str]


@dataclass(frozen=True, slots=True)
class World(Senses):
    """Hold the adapters of one worker.

    Attributes:
        learn: Gets to know the secrets that a run's job names, before anything of the run is read or written.
        hindrance: Says why a run must not begin here, as its job wants what this machine lacks; empty where it may.
        refused: Says which tools a run would be refused that its job cannot do without, or that its earlier runs were
            allowed; empty where it may begin.
        prepare: Makes the workspace of a run that works in its own, and says what the run is to know of it; raises
            ConfigError.
        stop: Asks runs that others have dispatched to end, and says why; does nothing to those that have ended.
        brief: Gathers what a run is shown besides its prompt, once its workspace is there; changes nothing.
        tidy: Removes that workspace, unless a person is to see what is in it: then it says what that is. Safe to call
            twice.
        worker: Name of this process in leases.
        system: The operating system, as the model is told.
        moment_s: Seconds after which what may wait to be written waits no longer.
    """

    clock: SteadyClock
    journal: Journal
    views: Views
    toolbox: Toolbox
    checks: Checks
    learn: Callable[[RunState], None]
    zone: Callable[[RunState], ZoneInfo]
    hindrance: Callable[[RunState], Awaitable[str]]
    refused: Callable[[RunState], Awaitable[str]]
    prepare: Callable[[RunState], Awaitable[tuple[str, ...]]]
    brief: Callable[[RunState], Awaitable[Briefing]]
    tidy: Callable[[RunState], Awaitable[str]]
    stop: Callable[[Sequence[RunId], str], Awaitable[None]]
    worker: str
    system: str
    moment_s: float = 0.05
