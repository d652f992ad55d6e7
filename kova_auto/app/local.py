"""Answer questions in the process that owns the database (or, on PostgreSQL, in any)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pydantic_core import PydanticSerializationError

from kova_auto.app.annals import annals
from kova_auto.app.asked import Asked, asked, told_beneath
from kova_auto.app.control import Annals, Applied, Content, Placed, RunAsk, Said, Status, Told, Undone
from kova_auto.app.deciding import decided
from kova_auto.app.naming import run_named
from kova_auto.app.past import Past
from kova_auto.app.post import Post
from kova_auto.core.backfill import Backfill, Backfills
from kova_auto.core.consent import Standing
from kova_auto.core.day import day_is_spent, say_spent
from kova_auto.core.delivery.health import Health
from kova_auto.core.delivery.story import Story
from kova_auto.core.errors import ConfigError, IllegalEventError
from kova_auto.core.event import (
    ChangesSettled,
    DeliveryRequeued,
    Event,
    RunRequested,
    RunRetried,
    StopRequested,
    dump,
)
from kova_auto.core.holding import rival, unsettleable
from kova_auto.core.ids import DISPATCHED, BlobHash, CallId, DeliveryId, EndpointName, JobName, RunId, root_of
from kova_auto.core.inbound.hook import HookRow, Hooks
from kova_auto.core.job import Outcome
from kova_auto.core.ledger import Ledger, Occurrence
from kova_auto.core.owed import Cause
from kova_auto.core.pausing import JobMark, Pause, pauses
from kova_auto.core.ports import Clock, Journal, Views
from kova_auto.core.run import RunState
from kova_auto.core.schedule.zone import parse_zone
from kova_auto.core.usage import UsageReport, parse_by, report
from kova_auto.core.view import DeliveryRow, RunRow, run_row
from kova_auto.engine.bells import Bells, Ear, heard

LONGEST_WAIT_S = 30.0
_LISTED = 1000


class Checkpoints(Protocol):
    """Show and take back what a run wrote."""

    async def diff(self, state: RunState) -> str:
        """Return a unified diff of everything the run wrote."""

    async def undo(self, state: RunState) -> Undone:
        """Restore every file, or none where one has changed since."""

    async def apply(self, state: RunState, *, control: bool, check: bool) -> Applied:
        """Bring what the run changed in its own workspace into the real one, all of it or nothing."""

    async def settle(self, state: RunState) -> str:
        """Remove the workspace of a run whose changes are settled; say which branch stays."""


@dataclass(frozen=True, slots=True)
class LocalAnswers:
    """Say what is there, from the journal and its views."""

    journal: Journal
    views: Views
    ledger: Ledger
    bells: Bells
    requests: Hooks
    post: Post

    async def runs(self, job: str | None, *, unfinished: bool, limit: int) -> tuple[RunRow, ...]:
        """Return runs, newest first."""
        name = JobName(job) if job else None
        return tuple(await self.views.runs(job=name, unfinished=unfinished, limit=limit))

    async def find(self, text: str) -> RunRow:
        """Return the one run whose id begins with the text; `last` is the newest, `last~1.2` a subagent of it.

        Raises:
            UnknownRunError: There is none, or more than one.
        """
        return run_row(await self.journal.load(await run_named(text, self.views)))

    async def family(self, run_id: RunId) -> tuple[RunRow, ...]:
        """Return the runs that one has dispatched, itself or through others, oldest first."""
        rows = await self.views.descendants(root_of(run_id))
        return tuple(row for row in rows if row.run_id.startswith(f"{run_id}{DISPATCHED}"))

    async def events(self, run_id: RunId, after: int, wait_s: float, limit: int | None = None) -> tuple[Placed, ...]:
        """Return facts behind a position, all of them or the first few; where there are none yet, wait for one."""
        with self.bells.hung(Ear.FOLLOW, run_id) as bell:
            found = await self.journal.events(run_id, after)
            if not found and wait_s > 0:
                await heard(bell, min(wait_s, LONGEST_WAIT_S))
                found = await self.journal.events(run_id, after)
        return tuple(Placed(seq=seq, event=event) for seq, event in found[:limit])

    async def approvals(self, *, open_only: bool) -> tuple[Asked, ...]:
        """Return calls that need a person, newest first."""
        return await asked(await self.views.approvals(open_only=open_only), self.views)

    async def deliveries(self, status: str | None, endpoint: str | None, limit: int) -> tuple[DeliveryRow, ...]:
        """Return duties to tell, newest first."""
        return tuple(await self.views.deliveries(status=status, endpoint=endpoint, limit=limit))

    async def delivery(self, delivery_id: DeliveryId) -> Story:
        """Return all that is on record of one duty."""
        return await self.post.story(delivery_id)

    async def healths(self) -> tuple[Health, ...]:
        """Return how endpoints are doing, by name."""
        return await self.post.every()

    async def occurrences(self, job: str | None, limit: int) -> tuple[Occurrence, ...]:
        """Return rows of the ledger, newest first."""
        return tuple(await self.ledger.occurrences(JobName(job) if job else None, limit=limit))

    async def hooks(self, job: str | None, like: str, limit: int) -> tuple[HookRow, ...]:
        """Return requests of webhooks with what became of them, newest first; `like` begins an id."""
        return tuple(await self.requests.rows(JobName(job) if job else None, like=like, limit=limit))

    async def annals(self, job: str | None, since: datetime, until: datetime) -> Annals:
        """Return what is on record of schedules for a stretch, `until` excluded."""
        name = JobName(job) if job else None
        return await annals(self.ledger, self.views, name, since, until)

    async def blob(self, key: BlobHash) -> Content:
        """Return a blob."""
        return Content(data=await self.journal.blob(key))

    async def usage(
        self, by: str, zone: str, *, job: str | None, run_id: RunId | None, since: datetime | None
    ) -> UsageReport:
        """Return what calls of models have used.

        Raises:
            ConfigError: There is no such part, or no such zone.
        """
        parts, days = parse_by(by), parse_zone(zone)
        rows = list(await self.views.usage(job=JobName(job) if job else None, run_id=run_id, since=since))
        for child in await self.family(run_id) if run_id else ():
            rows += await self.views.usage(run_id=child.run_id, since=since)
        rows.sort(key=lambda row: (row.at, row.run_id, row.seq))
        return await asyncio.to_thread(report, rows, parts, days)

    async def pauses(self) -> tuple[Pause, ...]:
        """Return the jobs whose schedules rest."""
        return tuple(pauses(await self.ledger.marks(), await self.views.pausing()).values())


@dataclass(frozen=True, slots=True)
class LocalControl(LocalAnswers):
    """Do what is asked as well.

    Attributes:
        filling: Keeps what is to be filled in.
        past: Says what a job has spent.
        opening: Turns a request into the event that opens its run.
        testing: Sends one endpoint a test message.
        describe: Describes the service.
        redact: Takes secrets out of text.
        remember: Keeps what was allowed for good, for later runs in a workspace; what goes wrong is logged.
        resume: Lets an endpoint be tried that is paused or disabled.
    """

    clock: Clock
    filling: Backfills
    checkpoints: Checkpoints
    past: Past
    opening: Callable[[RunAsk], Awaitable[RunRequested]]
    testing: Callable[[str, Outcome | None], Awaitable[Told]]
    describe: Callable[[], Status]
    redact: Callable[[str], str]
    remember: Callable[[str, Standing], Awaitable[None]]
    resume: Callable[[EndpointName], Awaitable[None]]

    async def status(self) -> Status:
        """Describe the service."""
        return self.describe()

    async def request(self, ask: RunAsk) -> RunRow:
        """Open a run; the same key twice is one run."""
        state, _ = await self.journal.open(await self.opening(ask))
        self.bells.asked(state.run_id)
        return run_row(state)

    async def cancel(self, run_id: RunId, by: str, reason: str) -> RunRow:
        """Ask a run to end, and its subagents: it could not ask them itself where they have every slot."""
        event = StopRequested(at=self.clock.now(), outcome=Outcome.CANCELLED, reason=reason, by=by)
        row = run_row(await self._append(run_id, event))
        for child in await self.family(run_id):
            if not child.finished_at:
                with suppress(IllegalEventError):  # It has just ended, or is ending.
                    await self._append(child.run_id, event)
        return row

    async def retry(self, run_id: RunId, by: str) -> RunRow:
        """Begin a further attempt of a finished run.

        Raises:
            IllegalEventError: The run has not finished, or was opened without what it needs, or it has left changes
                that nobody has decided about, or its job has spent what it may on this day.
        """
        state = await self.journal.load(run_id)
        if above := state.request.child_of:
            msg = f"run {run_id} is a subagent of {above.run_id}: only a run that nobody dispatched can be begun again"
            raise IllegalEventError(msg)
        if not state.finished:
            msg = f"run {run_id} has not finished; cancel it first (kova-auto runs cancel)"
            raise IllegalEventError(msg)
        if lacks := state.request.blocked:
            msg = f"run {run_id} was opened without what it needs: {lacks}; a new one: kova-auto run {state.job.name}"
            raise IllegalEventError(msg)
        if run_row(state).kept:
            msg = f"run {run_id} has left changes, and would begin anew: apply or discard them first (kova-auto runs)"
            raise IllegalEventError(msg)
        now = self.clock.now()
        spent = await self.past.spent_usd(state.job, now)
        today = state.request.model_copy(update={"day_spent_usd": spent})
        if day_is_spent(today):
            raise IllegalEventError(say_spent(today))
        again = RunRetried(at=now, attempt=state.attempt + 1, by=by, day_spent_usd=spent)
        return run_row(await self._append(run_id, again))

    async def decide(self, run_id: RunId, call_id: CallId, said: Said) -> RunRow:
        """Answer for a call; the first answer counts. What cannot be remembered for good stops no call.

        Raises:
            IllegalEventError: Somebody has answered already, or nobody was asked.
            ConfigError: The answer does not fit what was asked.
        """
        state = await self.journal.load(run_id)
        try:
            event = decided(state, call_id, said, self.clock.now(), self.redact)
        except IllegalEventError as exc:
            message = f"{exc}{await told_beneath(run_id, self.views)}"
            raise IllegalEventError(message) from exc
        state = await self._append(run_id, event)
        if event.remembered:
            await self.remember(state.job.workspace, event.remembered)
        return run_row(state)

    async def requeue(self, delivery_id: DeliveryId, by: str) -> DeliveryRow:
        """Take up a duty at once.

        Raises:
            ConfigError: There is none of this id.
            IllegalEventError: It was delivered.
        """
        row = await self.post.row(delivery_id)
        await self.resume(row.endpoint)
        again = DeliveryRequeued(at=self.clock.now(), delivery_id=delivery_id, by=by)
        if row.cause == Cause.ALERT:
            await self.post.alerts.tell(row.run_id, again)
            self.bells.asked(row.run_id)
        else:
            await self._append(row.run_id, again)
        return await self.views.delivery(delivery_id) or row

    async def pause_job(self, job: str, by: str, reason: str) -> Pause:
        """Let a job's schedule rest until it is resumed."""
        mark = JobMark(job=JobName(job), at=self.clock.now(), paused=True, by=by, reason=reason)
        await self.ledger.mark(mark)
        return Pause(job=mark.job, at=mark.at, by=by, reason=reason)

    async def resume_job(self, job: str, by: str, *, catch_up: bool = False) -> Pause | None:
        """Let a job's schedule go on; return what it had rested for, None where it did not."""
        rests = next((pause for pause in await self.pauses() if pause.job == job), None)
        if rests:  # Whatever the clock was set to since.
            at = max(self.clock.now(), rests.at)
            await self.ledger.mark(JobMark(job=rests.job, at=at, paused=False, by=by, catch_up=catch_up))
        return rests

    async def backfill(self, items: tuple[Backfill, ...]) -> tuple[Backfill, ...]:
        """Have instants filled in, and return those; what waits already is left out."""
        kept = tuple(await self.filling.ask(items))
        self.bells.work()
        return kept

    async def backfills(self, job: str) -> tuple[Backfill, ...]:
        """Return what of a job waits to be filled in, in its order."""
        return tuple(await self.filling.waiting(JobName(job)))

    async def drop_backfills(self, job: str) -> int:
        """Let what waits to be filled in be; return how much that was."""
        return await self.filling.drop(JobName(job))

    async def enable_endpoint(self, name: str) -> Health:
        """Let things be sent to an endpoint again; return how it was before."""
        before = await self.post.enable(EndpointName(name))
        self.bells.work()
        return before

    async def test_endpoint(self, name: str, outcome: Outcome | None) -> Told:
        """Send an endpoint a test message; with an outcome, as the report of a run that ended so."""
        told = await self.testing(name, outcome)
        self.bells.work()  # What waits for it may go on.
        return told

    async def diff(self, run_id: RunId) -> str:
        """Return what a run's writes changed, as a unified diff."""
        return await self.checkpoints.diff(await self.journal.load(run_id))

    async def undo(self, run_id: RunId) -> Undone:
        """Take a run's writes back, unless a file has changed since.

        Raises:
            IllegalEventError: The run has not finished.
        """
        state = await self.journal.load(run_id)
        if not state.finished:
            msg = f"run {run_id} has not finished; cancel it first (kova-auto runs cancel)"
            raise IllegalEventError(msg)
        if state.request.workspace != state.job.workspace:
            msg = f"run {run_id} worked in a workspace of its own: in the real one there is nothing to take back"
            raise IllegalEventError(msg)
        return await self.checkpoints.undo(state)

    async def apply(self, run_id: RunId, by: str, *, control: bool, check: bool) -> Applied:
        """Bring what a run changed in a workspace of its own into the real one, all of it or nothing.

        Raises:
            IllegalEventError: It has left nothing, or its changes were discarded, or a run has the workspace now.
            ToolFailedError: What it left is not there any more, or a file was changed just now.
        """
        state = await self.journal.load(run_id)
        if state.settled and state.settled.how == "applied":
            return Applied(before=state.settled.by)
        _wants_kept(state)
        if not check and (busy := rival(await self.views.holds(), state.job.workspace)):
            msg = f"run {busy.run_id} of {busy.job} has {busy.workspace} to itself; apply once it has ended"
            raise IllegalEventError(msg)
        applied = await self.checkpoints.apply(state, control=control, check=check)
        if check or applied.refused:
            return applied
        files = (*applied.files, *applied.same)[:_LISTED]
        state = await self._append(run_id, ChangesSettled(at=self.clock.now(), how="applied", by=by, files=files))
        return applied.model_copy(update={"branch": await self.checkpoints.settle(state)})

    async def discard(self, run_id: RunId, by: str) -> RunRow:
        """Throw away what a run changed in a workspace of its own.

        Raises:
            IllegalEventError: It has left nothing, or somebody has decided already.
        """
        _wants_kept(await self.journal.load(run_id))
        state = await self._append(run_id, ChangesSettled(at=self.clock.now(), how="discarded", by=by))
        await self.checkpoints.settle(state)
        return run_row(state)

    async def _append(self, run_id: RunId, event: Event) -> RunState:
        _wants_text(event)
        state = await self.journal.append(await self.journal.load(run_id), event)
        self.bells.asked(run_id)
        return state


def _wants_kept(state: RunState) -> None:
    if by := state.request.child_of:
        msg = f"run {state.run_id} is a subagent of {by.root}: what it changed is settled with that run's changes"
        raise IllegalEventError(msg)
    if not state.finished:
        msg = f"run {state.run_id} has not finished: what it changes is looked at with kova-auto runs diff"
        raise IllegalEventError(msg)
    if why := unsettleable(state):
        msg = f"run {state.run_id}: {why}"
        raise IllegalEventError(msg)


def _wants_text(event: Event) -> None:
    """Let only that into a fact which can be written down: what a person types may hold any byte.

    Raises:
        ConfigError: It holds what is no text.
    """
    try:
        dump(event)
    except PydanticSerializationError as exc:
        message = "wanted text in UTF-8, found half a character, or a byte that is none"
        raise ConfigError(message, hint="leave it out") from exc
