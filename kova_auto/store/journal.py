"""The journal: facts in, states out; each write is one transaction of the database underneath."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial, reduce
from operator import is_
from typing import TypeVar, cast

from pydantic import ValidationError
from sqlalchemy import Connection

from kova_auto.core.errors import JournalError
from kova_auto.core.event import Event, RunFinished, RunRequested, dump
from kova_auto.core.ids import BlobHash, RunId
from kova_auto.core.job import Job
from kova_auto.core.ports import Renewal, Unavailable
from kova_auto.core.run import RunState, apply, opened
from kova_auto.core.state import replace
from kova_auto.store import blobs as contents
from kova_auto.store import facts, leases
from kova_auto.store.blobs import Blob
from kova_auto.store.database import Database
from kova_auto.store.drafts import Draft, Drafts, Facts

_JOBS, _OPENED = 256, 1024
_SMALL = 64 * 1024
"""Characters and bytes up to which facts and blobs may be written on the loop."""
Guard = Callable[[str], str]
E = TypeVar("E", bound=Event)


class SqlJournal:
    """Keep the facts of runs in a database; see `core/ports.py` for what each method promises."""

    def __init__(self, database: Database, guard: Guard) -> None:
        """Take the guard: the last look at an event's JSON, which returns it without what must not be written."""
        self._database, self._guard, self._drafts = database, guard, Drafts()
        self._jobs: dict[str, Job] = {}
        self._opened: dict[RunId, tuple[RunState, str]] = {}

    async def open(self, event: RunRequested) -> tuple[RunState, bool]:
        """Open a run, or return the one of this id that is there already (then with False)."""
        event, text = guarded(event, self._guard)
        if len(self._opened) >= _OPENED:
            self._opened.clear()
        state = self._sharing(opened(event))
        self._opened[event.run_id] = state, text  # Whoever looks for work may see it before it is answered here.
        try:
            is_new = await self._database.jot(partial(facts.open_run, state=state, text=text))
        except BaseException:
            self._opened.pop(event.run_id, None)
            raise
        return (state, True) if is_new else (await self.load(event.run_id), False)

    async def load(self, run_id: RunId) -> RunState:
        """Fold a run; of one that was opened here and is loaded for the first time, only what is newer is read."""
        if known := self._opened.pop(run_id, None):
            state, text = known
            since = await self._database.look(partial(facts.newer, state=state, text=text))
            if since is not None:
                return reduce(apply, since, state)
        return self._sharing(await self._database.read(partial(facts.state_of, run_id=run_id)))

    def _sharing(self, state: RunState) -> RunState:
        """Have all runs of a job that has not changed share it: it is most of what a run holds."""
        job, known = state.job, self._jobs.get(state.job.name)
        if known is job:
            return state
        if known == job:
            return replace(state, request=state.request.but(job=known))
        if len(self._jobs) >= _JOBS:
            self._jobs.clear()
        self._jobs[job.name] = job
        return state

    async def events(self, run_id: RunId, after: int = 0) -> Sequence[tuple[int, Event]]:
        """Return the facts behind position `after`, with their positions, oldest first."""
        return await self._database.read(partial(facts.events, run_id=run_id, after=after))

    async def append(
        self,
        state: RunState,
        event: Event,
        *,
        first: Sequence[Event] = (),
        epoch: int | None = None,
        blobs: Sequence[bytes] = (),
        reached: RunState | None = None,
    ) -> RunState:
        """Write a fact, those that come before it, and the blobs they point to; fold in what others wrote."""
        self._opened.pop(state.run_id, None)
        written = tuple([guarded(one, self._guard) for one in (*first, event)])
        kept = [await Blob.of(data) for data in blobs]
        is_as_said = _are_as_said(written, (*first, event))
        early = self._drafts.early(state, written, epoch, reached if is_as_said else None)

        def work(connection: Connection) -> Draft:
            contents.keep(connection, kept)
            draft = facts.append(connection, state, lambda now: self._drafts.draft(now, written, epoch), early)
            if isinstance(event, RunFinished) and draft.after.request.child_of:
                facts.tell_parent(connection, draft.after, self._drafts, self._guard)
            return draft

        is_small = sum(map(len, blobs), sum(len(text) for _, text in written)) <= _SMALL
        return self._drafts.written(await (self._database.jot if is_small else self._database.write)(work))

    async def acquire(
        self,
        run_id: RunId,
        *,
        worker: str,
        now: datetime,
        lease: timedelta,
        known: RunState | None = None,
        then: Sequence[Event] = (),
        reached: RunState | None = None,
    ) -> RunState | Unavailable:
        """Take a run whose lease is free or has run out: raises its epoch, writes `RunAcquired`, and what follows."""
        state = known or await self.load(run_id)
        self._opened.pop(run_id, None)

        def work(connection: Connection) -> Draft | Unavailable:
            # In words only now: where many runs begin at once, each would hold its own while it waits for its turn.
            written = tuple([guarded(one, self._guard) for one in then])
            ahead = reached if known and _are_as_said(written, then) else None
            taken = facts.acquire(connection, state, self._drafts, facts.Wanted(worker, now, lease, written, ahead))
            return taken if isinstance(taken, Unavailable) else taken.outcome

        taken = await self._database.jot(work)
        return taken if isinstance(taken, Unavailable) else self._drafts.written(taken)

    async def renew(self, run_id: RunId, *, epoch: int, now: datetime, lease: timedelta) -> Renewal:
        """Extend the lease, if the epoch still holds it."""
        return await self._database.jot(partial(leases.renew, run_id=run_id, epoch=epoch, until=now + lease))

    async def release(self, run_id: RunId, *, epoch: int) -> None:
        """Give the lease back; does nothing where the epoch does not hold it."""
        await self._database.jot(partial(leases.release, run_id=run_id, epoch=epoch))

    async def keep(self, data: bytes) -> BlobHash:
        """Keep a blob; twice is once."""
        blob = await Blob.of(data)
        await self._database.write(partial(contents.keep, blobs=[blob]))
        return blob.key

    async def blob(self, key: BlobHash) -> bytes:
        """Return a blob."""
        return await self._database.read(partial(contents.data_of, key=key))


def _are_as_said(written: Facts, said: Sequence[Event]) -> bool:
    """Say whether the guard has left facts as they were."""
    return all(map(is_, [fact for fact, _ in written], said))


def guarded(event: E, guard: Guard) -> tuple[E, str]:
    """Return a fact and its JSON as the guard leaves it, the two of them equal.

    Raises:
        JournalError: What the guard took out was no text: what is left is no fact.
    """
    text = dump(event)
    clean = guard(text)
    if clean == text:
        return event, text
    try:
        return cast("E", type(event).model_validate_json(clean)), clean
    except ValidationError:  # Not chained: it would show what the guard took out.
        msg = f"{event.kind} was not written: it held something secret where no text can take its place"
        raise JournalError(msg) from None
