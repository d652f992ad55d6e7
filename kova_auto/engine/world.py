"""Everything outside that performing a step may touch, built once by `app`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from kova_auto.core.approval.policy import Policy
from kova_auto.core.ports import Journal, Model, SteadyClock, Toolbox, Views
from kova_auto.core.run import RunState


@dataclass(frozen=True, slots=True)
class World:
    """Hold the adapters of one worker.

    Attributes:
        models: Returns a model of a run's chain, by its name; raises ModelError or ConfigError where there is none.
        policies: Returns the policy that a run is under.
        learn: Gets to know the secrets that a run's job names, before anything of the run is read or written.
        redact: Takes the secrets that are known out of text, before it is written or shown to a model.
        hindrance: Says why a run must not begin here, as its job wants what this machine lacks; empty where it may.
        prepare: Makes the workspace of a run that works in a copy; raises ConfigError.
        tidy: Removes what a run alone used, as the copy of a staged one's workspace; safe to call twice.
        worker: Name of this process in leases.
        system: The operating system, as the model is told.
    """

    clock: SteadyClock
    journal: Journal
    views: Views
    toolbox: Toolbox
    models: Callable[[RunState, str], Model]
    policies: Callable[[RunState], Policy]
    learn: Callable[[RunState], None]
    redact: Callable[[str], str]
    zone: Callable[[RunState], ZoneInfo]
    hindrance: Callable[[RunState], Awaitable[str]]
    prepare: Callable[[RunState], Awaitable[None]]
    tidy: Callable[[RunState], Awaitable[None]]
    worker: str
    system: str
