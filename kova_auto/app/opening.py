"""Turn "run this job" into the event that opens the run, with everything that must not change later in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kova_auto.app.control import RunAsk
from kova_auto.app.staging import Copies
from kova_auto.core.approval.levels import ApprovalLevel
from kova_auto.core.approval.policy import policy_hash
from kova_auto.core.errors import ConfigError
from kova_auto.core.event import Origin, RunRequested
from kova_auto.core.ids import JobName, RunId, requested_run_id, run_id
from kova_auto.core.job import Job, Notify
from kova_auto.core.policy import policy_of
from kova_auto.core.ports import Clock
from kova_auto.core.provider import Provider
from kova_auto.llm.catalog import NoModel, Pin, pick
from kova_auto.llm.script import scripted_name


@dataclass(frozen=True, slots=True)
class Opening:
    """Open runs with what the settings say.

    Attributes:
        providers: Configured ones, by name.
        loader: Reads a job file with the settings' zone and endpoints.
    """

    clock: Clock
    providers: Mapping[str, Provider]
    copies: Copies
    loader: Callable[[Path], Job]

    async def of_occurrence(self, job: Job, nominal_at: datetime) -> RunRequested:
        """Return what opens the run of a job for an instant of its schedule.

        What it lacks blocks the run and is told like any result. A job whose script would have to be played lacks a
        model, unless it says that it may: nobody asked for it.
        """
        try:
            inputs, pin = inputs_of(job, {}), await self._pick(job)
        except ConfigError as exc:
            inputs, pin = {}, NoModel(str(exc))
        if isinstance(pin, Pin) and pin.scripted and not job.allow_scripted:
            pin = NoModel(
                "no provider is configured, and the job's script is not played unless it says allow_scripted = true"
            )
        opened = self._event(run_id(JobName(job.name), nominal_at), job, pin, inputs, Origin.SCHEDULE)
        return opened.model_copy(update={"nominal_at": nominal_at, "due_at": nominal_at})

    async def of_request(self, ask: RunAsk) -> RunRequested:
        """Return what opens a run that somebody asked for.

        Raises:
            ConfigError: The job file is broken, an input does not fit, or there is neither model nor script.
        """
        job = await asyncio.to_thread(self.loader, Path(ask.job))
        if ask.listener:
            job = job.model_copy(update={"notify": (Notify(endpoint=ask.listener.name),)})
        inputs = inputs_of(job, ask.inputs)
        pin = await self._pick(job)
        if isinstance(pin, NoModel):
            raise ConfigError(pin.reason, path=job.path, key="model")
        key = requested_run_id(JobName(job.name), ask.asked_at, ask.key)
        opened = self._event(key, job, pin, inputs, Origin.REQUEST, ask.level)
        if not ask.staged:
            return opened
        return opened.model_copy(
            update={"staged": True, "workspace": str(self.copies.target(key, Path(job.workspace)))}
        )

    async def _pick(self, job: Job) -> Pin | NoModel:
        return await asyncio.to_thread(pick, job.models, self.providers, has_script=job.script_text is not None)

    def _event(
        self,
        key: RunId,
        job: Job,
        pin: Pin | NoModel,
        inputs: dict[str, str],
        origin: Origin,
        level: ApprovalLevel | None = None,
    ) -> RunRequested:
        workspace = Path(job.workspace)
        return RunRequested(
            at=self.clock.now(),
            run_id=key,
            job=job,
            policy_hash=policy_hash(policy_of(job, level)),
            origin=origin,
            inputs=inputs,
            level=level,
            scripted=isinstance(pin, Pin) and pin.scripted,
            model=_model_name(job, pin),
            blocked=pin.reason if isinstance(pin, NoModel) else "",
            workspace=str(self.copies.target(key, workspace)) if job.isolation == "copy" else job.workspace,
        )


def _model_name(job: Job, pin: Pin | NoModel) -> str:
    if isinstance(pin, NoModel):
        return "none"
    return scripted_name(job.script) if pin.scripted and job.script else pin.name


def inputs_of(job: Job, given: Mapping[str, str]) -> dict[str, str]:
    """Return the value of every input that the job declares.

    Raises:
        ConfigError: One is missing, too long, or not declared.
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
        if len(value) > declared_input.max_length:
            message = f"wanted at most {declared_input.max_length} characters, found {len(value)}"
            raise ConfigError(message, path=job.path, key=f"inputs.{name}")
        values[name] = value
    return values
