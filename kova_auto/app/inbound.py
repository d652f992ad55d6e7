"""Take in requests that start jobs: believe them or not, keep them, and only then answer."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from kova_auto.app.vault import Vault
from kova_auto.core.errors import ConfigError, JournalError
from kova_auto.core.ids import JobName
from kova_auto.core.inbound import answer
from kova_auto.core.inbound.answer import Answer, in_slack
from kova_auto.core.inbound.body import FORM, BodyError
from kova_auto.core.inbound.given import meaning
from kova_auto.core.inbound.hook import HookRequest, Hooks, HookStatus, hook_id, safe_ids
from kova_auto.core.inbound.request import Inbound, Problem, Told
from kova_auto.core.inbound.schemes import scheme_of, weighed
from kova_auto.core.job import Job, WebhookTable
from kova_auto.core.ports import Clock
from kova_auto.core.webhook_source import WebhookSource
from kova_auto.scheduling.book import JobBook
from kova_auto.threads import aside

LOG = logging.getLogger(__name__)
LONG: Final = 65_536
"""Bytes of a body that take long enough to be weighed elsewhere."""

ONCE_IN: Final = timedelta(minutes=1)


@dataclass
class Grudges:
    """Say in the log what was refused, of each hook at most once a minute, and how much more there was."""

    said: dict[str, tuple[datetime, int]] = field(default_factory=dict)

    def bear(self, name: str, why: str, now: datetime) -> None:
        """Say it, or count it."""
        last, more = self.said.get(name, (None, 0))
        if last is not None and timedelta(0) <= now - last < ONCE_IN:
            self.said[name] = last, more + 1
            return
        LOG.warning("hook %s: a request was refused: %s%s", name, why, f" ({more} more before it)" if more else "")
        self.said[name] = now, 0


@dataclass(frozen=True, slots=True)
class InboundDesk:
    """Be the `Door` of a service.

    Attributes:
        book: Knows the jobs as they are now.
        ring: Wakes the schedule.
    """

    book: JobBook
    hooks: Hooks
    clock: Clock
    vault: Vault
    ring: Callable[[], None]
    grudges: Grudges = field(default_factory=Grudges)

    def hook(self, name: str) -> WebhookTable | None:
        """Return the hook of a job, None where there is no such job, or nothing outside starts it."""
        job = self._job(name)
        return job.schedule.webhook if job and job.schedule else None

    async def take(self, name: str, request: Inbound, kind: str) -> Answer:
        """Return what a request is answered; one that starts a run is kept by then."""
        job, table = self._job(name), self.hook(name)
        if job is None or table is None:
            return answer.NOT_FOUND
        said = await self._taken(job, table, request, kind)
        is_person = table.source is WebhookSource.SLACK and kind == FORM
        return in_slack(said) if is_person and said.status in {200, 202} else said

    async def _taken(self, job: Job, table: WebhookTable, request: Inbound, kind: str) -> Answer:
        now = self.clock.now()
        keys = await aside(partial(self._keys, job.name, table))
        if not keys:
            return answer.BUSY
        weigh = partial(weighed, table, keys, request, kind, now.timestamp())
        try:
            found = await aside(weigh) if len(request.body) > LONG else weigh()
        except BodyError as exc:
            self.grudges.bear(job.name, f"its body cannot be read: {exc}", now)
            return answer.unreadable(str(exc))
        if isinstance(found, Problem):
            self.grudges.bear(job.name, found.value, now)
            return answer.UNAUTHORIZED
        payload, told = found
        if told.greeting is not None:
            LOG.info("hook %s: the sender tried it out (%s)", job.name, table.source)
            return Answer(200, told.greeting)
        what = meaning(table, job.inputs, told, payload)
        ids = safe_ids(told.ids)
        kept = HookRequest(
            hook_id=hook_id(job.name, table.source, ids[0]),
            job=JobName(job.name),
            source=table.source.value,
            delivery_id=ids[0],
            digest=told.digest,
            received_at=now,
            event=what.event,
            actor=what.actor,
            status=HookStatus.IGNORED if what.ignored else HookStatus.ACCEPTED,
            why=what.ignored,
            inputs=json.dumps(dict(what.inputs)),
        )
        return await self._kept(kept, ids, told)

    async def _kept(self, request: HookRequest, ids: Sequence[str], told: Told) -> Answer:
        """Keep a request; return what its sender is told of it."""
        try:
            kept = await self.hooks.keep(request, ids, by_body=told.by_body)
        except JournalError as exc:
            LOG.warning("hook %s: a request could not be kept, and its sender is to try again: %s", request.job, exc)
            return answer.BUSY
        first = kept.request
        if not kept.is_new:
            return self._again(request, first)
        if first.status is HookStatus.IGNORED:
            LOG.info("hook %s: %s is ignored: %s", first.job, first.hook_id, first.why)
            return Answer(202, {"id": first.hook_id, "status": "ignored", "why": first.why})
        LOG.info("hook %s: %s is accepted%s", first.job, first.hook_id, f": {first.event}" if first.event else "")
        self.ring()
        return Answer(202, {"id": first.hook_id, "status": "accepted"})

    def _again(self, request: HookRequest, first: HookRequest) -> Answer:
        if first.delivery_id == request.delivery_id and first.digest != request.digest:
            LOG.warning("hook %s: %s came again with another body; nothing is started", first.job, first.hook_id)
            return answer.CONFLICT
        if first.delivery_id != request.delivery_id and not request.delivery_id.startswith("body-"):
            LOG.warning("hook %s: the body of %s came again under another id", first.job, first.hook_id)
        else:
            LOG.info("hook %s: %s came again", first.job, first.hook_id)
        return Answer(200, {"id": first.hook_id, "status": "duplicate"})

    def _keys(self, name: str, table: WebhookTable) -> list[bytes]:
        """Return the keys that can be had; whatever is wrong with another is said."""
        found: list[bytes] = []
        for reference in table.secrets:
            try:
                found.append(scheme_of(table).parse_key(self.vault.value(reference)))
            except ConfigError as exc:
                self.grudges.bear(name, f"a secret of it cannot be had: {exc}", self.clock.now())
        return found

    def _job(self, name: str) -> Job | None:
        entry = self.book.entries.get(JobName(name))
        return entry.job if entry else None
