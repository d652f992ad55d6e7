"""Turn "run this job" into the event that opens the run, with everything that must not change later in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from kova_auto.app.control import RunAsk
from kova_auto.app.past import Past
from kova_auto.app.permissions import Permissions, Standings
from kova_auto.app.pinning import Chain, Pinning
from kova_auto.app.staging import Copies
from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.approval.policy import policy_hash
from kova_auto.core.backfill import Backfill
from kova_auto.core.continuing import continued_job
from kova_auto.core.day import day_is_spent, say_spent
from kova_auto.core.errors import ConfigError, IllegalEventError
from kova_auto.core.event import Origin, RunRequested
from kova_auto.core.ids import JobName, RunId, requested_run_id, run_id
from kova_auto.core.inputs import misfit
from kova_auto.core.job import Job, Notify
from kova_auto.core.policy import policy_of
from kova_auto.core.ports import Clock
from kova_auto.core.secret import SecretRef
from kova_auto.llm.choice import PLAYED
from kova_auto.llm.script import scripted_name
from kova_auto.scheduling.means import TAINTED
from kova_auto.scheduling.triggers import timetable_of
from kova_auto.threads import aside

_UNASKED = "no provider is configured, and the job's script is not played unless it says allow_scripted = true"


@dataclass(frozen=True, slots=True)
class _Found:
    """Hold what this machine has for a run.

    Attributes:
        chain: Models of its job, or why there are none; None where that depends on what this machine serves.
        workspace: Where it is to work.
        standings: What is allowed there for good.
    """

    run_id: RunId
    chain: Chain | ConfigError | None
    workspace: Path
    standings: Standings


@dataclass(frozen=True, slots=True)
class Opening:
    """Open runs with what the settings say.

    Attributes:
        pinning: Finds the models of a run.
        past: Says what a job's earlier runs mean for the next.
        permissions: Say what people and this machine allowed for good.
        loader: Reads a job file with the settings' zone and endpoints.
        learn: Fetches secrets, so that they are known before a word of the run is written down.
        at_hand: Every secret that the settings name is in the environment: to fetch one takes no time.
    """

    clock: Clock
    pinning: Pinning
    past: Past
    copies: Copies
    permissions: Permissions
    loader: Callable[[Path], Job]
    learn: Callable[[Iterable[SecretRef]], None]
    at_hand: bool = False
    _seen: set[str] = field(default_factory=set)

    async def of_occurrence(
        self,
        job: Job,
        nominal_at: datetime,
        due_at: datetime | None = None,
        given: Mapping[str, str] = MappingProxyType({}),
    ) -> RunRequested:
        """Return what opens the run of a job for an instant of its schedule.

        What it lacks blocks the run and is told like any result. A job whose script would have to be played lacks a
        model, unless it says that it may: nobody asked for it.

        Args:
            job: The job.
            nominal_at: The instant.
            due_at: When the run was to begin, if that is another.
            given: Values of inputs that the job may declare; each is cut to what it may hold.
        """
        now, key = self.clock.now(), run_id(JobName(job.name), nominal_at)
        found = await self._found(key, job, now)
        try:
            inputs, means = inputs_of(job, _fitting(job, given)), await self._chain(found, job, now)
            chain = await self.past.chain(job, now, self.pinning, means)
        except ConfigError as exc:
            inputs, chain = {}, Chain(lacks=str(exc))
        if chain.scripted and not job.allow_scripted:
            chain = Chain(lacks=_UNASKED)
        is_hook = job.schedule is not None and job.schedule.webhook is not None
        origin = Origin.WEBHOOK if is_hook else Origin.SCHEDULE
        spent = await self.past.spent_usd(job, now)
        instants = {"nominal_at": nominal_at, "due_at": due_at or nominal_at, "next_at": _next_at(job, nominal_at)}
        tainted_by = given.get(TAINTED, "") if "parent_answer" in job.inputs else ""
        tainted_by = f"webhook {job.name}" if is_hook else tainted_by
        besides: dict[str, Any] = {**instants, "day_spent_usd": spent, "tainted_by": tainted_by}
        return self._event(found, job, chain, inputs, origin, **besides)

    async def of_request(self, ask: RunAsk) -> RunRequested:
        """Return what opens a run that somebody asked for.

        Raises:
            ConfigError: The job file is broken, an input does not fit, there is neither model nor script, a price is
                not known that a ceiling wants, or the job has spent what it may on this day.
            IllegalEventError: The run that is to be continued cannot be.
            UnknownRunError: It is not there.
        """
        if ask.continues:
            return await self._of_continuation(ask, ask.continues)
        job = await asyncio.to_thread(self.loader, Path(ask.job))
        return await self._asked_for(ask, job, inputs_of(job, ask.inputs))

    async def _of_continuation(self, ask: RunAsk, run_id: RunId) -> RunRequested:
        """Return what opens a run that goes on with the session of another, under the job as that one had it.

        What the other had read stays read, so that its taint does; a run that was only tried out is only tried out.
        """
        before = await self.past.journal.load(run_id)
        if by := before.request.child_of:
            msg = f"run {run_id} is a subagent of {by.root}: it reports to that run, which is the one to go on with"
            raise IllegalEventError(msg)
        job = continued_job(before, ask.prompt)
        opened = await self._asked_for(ask.model_copy(update={"staged": ask.staged or before.request.staged}), job, {})
        return opened.model_copy(update={"continues": run_id, "tainted_by": before.tainted_by})

    async def _asked_for(self, ask: RunAsk, job: Job, inputs: dict[str, str]) -> RunRequested:
        now = self.clock.now()
        if ask.listener:
            job = job.model_copy(update={"notify": (Notify(endpoint=ask.listener.name),)})
        key = requested_run_id(JobName(job.name), ask.asked_at, ask.key)
        found = await self._found(key, job, now)
        chain = await self._chain(found, job, now)
        if chain.lacks:
            raise ConfigError(chain.lacks, path=job.path, key=chain.key)
        opened = self._event(found, job, chain, inputs, Origin.REQUEST, level=ask.level)
        opened = opened.model_copy(update={"day_spent_usd": await self.past.spent_usd(job, now)})
        if day_is_spent(opened):
            hint = f"raise it, or ask again after midnight in {self.past.zone(job)}"
            raise ConfigError(say_spent(opened), path=job.path, hint=hint)
        if not ask.staged:
            return opened
        return opened.model_copy(
            update={"staged": True, "workspace": str(self.copies.target(key, Path(job.workspace)))}
        )

    async def of_backfill(self, item: Backfill) -> RunRequested:
        """Return what opens the run that fills an instant in: as somebody's request, with that instant as its date.

        Raises:
            ConfigError: As for a request.
        """
        opened = await self.of_request(RunAsk(job=item.path, key=item.key, asked_at=item.asked_at))
        return opened.model_copy(update={"nominal_at": item.nominal_at, "due_at": item.nominal_at})

    async def _found(self, key: RunId, job: Job, now: datetime) -> _Found:
        """Look up all that a run needs of this machine; on a thread where secrets and files may take a while.

        So they do where a job is looked at for the first time: what knows prices is loaded then.
        """
        is_at_hand = self.at_hand and job.name in self._seen and all(ref.env for ref in job.env.values())
        standings = self.permissions.at_once(job) if is_at_hand and job.isolation == "in-place" else None
        if standings:
            return self._look(key, job, now, standings)
        self._seen.add(job.name)
        return await aside(partial(self._look, key, job, now))

    def _look(self, key: RunId, job: Job, now: datetime, standings: Standings | None = None) -> _Found:
        self.learn(job.env.values())
        chain: Chain | ConfigError | None
        try:
            chain = self.pinning.without_server(job, now)
        except ConfigError as exc:
            chain = exc
        return _Found(key, chain, self.copies.workspace(key, job), standings or self.permissions.of_job(job))

    async def _chain(self, found: _Found, job: Job, now: datetime) -> Chain:
        if isinstance(found.chain, ConfigError):
            raise found.chain
        return found.chain or await self.pinning.with_server(job, now)

    def _event(
        self,
        found: _Found,
        job: Job,
        chain: Chain,
        inputs: dict[str, str],
        origin: Origin,
        *,
        level: ApprovalLevel | None = None,
        **besides: Any,  # noqa: ANN401  # checked by the fact itself
    ) -> RunRequested:
        """Return the fact; what is as it would be anyway is not said, for a run holds what is said of it."""
        user, remembered, _, _ = found.standings
        said: dict[str, Any] = {"level": level, "blocked": chain.lacks, "scripted": chain.scripted, **besides}
        return RunRequested(
            at=self.clock.now(),
            run_id=found.run_id,
            job=job,
            policy_hash=policy_hash(policy_of(job, level, user=user, remembered=remembered)),
            user=user,
            remembered=remembered,
            origin=origin,
            inputs=inputs,
            model=_model_name(job, chain),
            pins=chain.pins,
            workspace=str(found.workspace),
            **{name: value for name, value in said.items() if value},
        )


def _next_at(job: Job, nominal_at: datetime) -> datetime | None:
    """Return when the schedule's next instant is due; only further attempts want to know, and looking takes time."""
    timetable = timetable_of(job, nominal_at) if job.policy.retry.attempts else None  # On the grid of any `every`.
    return timetable.next_due(nominal_at) if timetable else None


def _fitting(job: Job, given: Mapping[str, str]) -> dict[str, str]:
    """Return the values that a job declares inputs for, none longer than it may be."""
    return {name: given[name][: declared.max_length] for name, declared in job.inputs.items() if name in given}


def _model_name(job: Job, chain: Chain) -> str:
    if chain.scripted:
        return scripted_name(job.script) if job.script else PLAYED.name
    return chain.pins[0].name if chain.pins else "none"


def inputs_of(job: Job, given: Mapping[str, str]) -> dict[str, str]:
    """Return the value of every input that the job declares.

    Raises:
        ConfigError: One is missing, does not fit, or is not declared.
    """
    if unknown := sorted(given.keys() - job.inputs.keys()):
        declared = ", ".join(sorted(job.inputs)) or "none"
        message = f"the job declares no input {', '.join(unknown)}; it declares {declared}"
        raise ConfigError(message, path=job.path, key="inputs")
    values: dict[str, str] = {}
    for name, declared_input in job.inputs.items():
        value = given.get(name, declared_input.default)
        if value is None:
            message = "it has no default and no value was given"
            raise ConfigError(message, path=job.path, key=f"inputs.{name}", hint=f"--input {name}=VALUE")
        if wrong := misfit(declared_input, value):
            raise ConfigError(wrong, path=job.path, key=f"inputs.{name}")
        values[name] = value
    return values
