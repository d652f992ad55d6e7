"""What a job's earlier runs mean for the next: the day's money, which model "auto" was, and what they reported."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from kova_auto.app.pinning import Chain, Pinning
from kova_auto.core.context.digest import EARLIER_RUNS, Digest, Earlier, digest
from kova_auto.core.day import day_began
from kova_auto.core.errors import ConfigError, UnknownRunError
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Job
from kova_auto.core.keeping import stays_with
from kova_auto.core.ports import Journal, Views
from kova_auto.llm.choice import AUTO

LOG = logging.getLogger(__name__)
_LOOKED_AT = 20


@dataclass(frozen=True, slots=True)
class Past:
    """Look back.

    Attributes:
        zone: Whose days count for a job: its schedule's zone, or that of the settings.
    """

    journal: Journal
    views: Views
    zone: Callable[[Job], ZoneInfo]

    async def spent_usd(self, job: Job, now: datetime) -> float:
        """Return what the job's runs have cost on the day that it is now."""
        return await self.views.spent_usd(JobName(job.name), day_began(now, self.zone(job)))

    async def digest(self, job: Job, before: RunId) -> Digest:
        """Return what a run is told of its job's earlier ones, and by what that taints it; staged runs do not count.

        Args:
            job: As the run carries it.
            before: The run that is to be told.
        """
        rows = await self.views.last_runs(JobName(job.name), before=before, limit=EARLIER_RUNS)
        found = [earlier for row in rows if (earlier := await self._earlier(row.run_id))]
        return digest(found, self.zone(job))

    async def _earlier(self, run_id: RunId) -> Earlier | None:
        """Return what came of a run; None where it is gone, or has just begun another attempt."""
        try:
            state = await self.journal.load(run_id)
        except UnknownRunError:
            return None
        if state.finished is None:
            return None
        ended = state.finished
        return Earlier(run_id, ended.at, ended.outcome, ended.answer, ended.reason, state.tainted_by)

    async def chain(self, job: Job, now: datetime, pinning: Pinning, means: Chain) -> Chain:
        """Return the models of a scheduled run: "auto" stays the model it was, as long as that can be asked.

        Args:
            job: The job.
            now: UTC.
            pinning: Finds the models of a run.
            means: What it finds for the job at present.
        """
        if job.models != (AUTO,) or not means.pins:
            return means
        name = means.pins[0].name
        was = await self._was(job, name)
        if not was or not (kept := await _asked_by_name(job, was, now, pinning)):
            return means
        LOG.info(
            "%s stays with %s; auto is %s now, and a run by hand (kova-auto run %s) moves it",
            job.name,
            was,
            name,
            job.name,
        )
        return kept

    async def _was(self, job: Job, means: str) -> str:
        """Return the model that the job's "auto" was, if it was another; empty where it was none, or named."""
        last = stays_with(means, await self.views.last_runs(JobName(job.name), limit=_LOOKED_AT))
        if last is None or (await self.journal.load(last.run_id)).job.models != (AUTO,):
            return ""
        return last.model


async def _asked_by_name(job: Job, model: str, now: datetime, pinning: Pinning) -> Chain | None:
    """Return the chain of this model alone; None where it cannot be asked any more."""
    try:
        chain = await pinning.chain(job.model_copy(update={"model": model}), now)
    except ConfigError as exc:
        LOG.info("%s leaves %s: %s", job.name, model, exc)
        return None
    if chain.lacks:
        LOG.info("%s leaves %s: %s", job.name, model, chain.lacks)
    return None if chain.lacks or chain.scripted else chain
