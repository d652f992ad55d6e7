"""Runs in memory: their facts as JSON, which alone are folded whenever somebody asks, with blobs and leases."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, reduce
from typing import TypeVar

from kova_auto.core.children.reports import told_parent
from kova_auto.core.errors import FencedError, IllegalEventError, JournalError, UnknownRunError
from kova_auto.core.event import (
    Event,
    RunAcquired,
    RunFinished,
    RunRequested,
    WorkspaceAwaited,
    dump,
    load,
)
from kova_auto.core.holding import Hold, rival, wants_workspace, workspace_held, workspace_wanted
from kova_auto.core.ids import BlobHash, JobName, RunId, blob_hash
from kova_auto.core.ports import Renewal, Unavailable
from kova_auto.core.run import RunState, apply, fold, opened

R = TypeVar("R")
Hook = Callable[[RunId, Event], None]


@dataclass(frozen=True, slots=True)
class Lease:
    """Hold who has a run or a delivery, and until when."""

    owner: str
    until: datetime


@lru_cache(maxsize=4096)  # Every question folds every run: a test that goes on for days would do nothing else.
def _folded(texts: tuple[str, ...]) -> RunState:
    return fold(map(load, texts))


class MemoryFacts:
    """Keep facts, blobs and leases; `Journal`."""

    def __init__(self, *, before_append: Hook | None = None, after_append: Hook | None = None) -> None:
        """Take what is called just before and just after each fact is kept.

        A hook that raises plays a crash: before, nothing was kept; after, it was, and the writer never hears of it.
        """
        self.before_append, self.after_append = before_append, after_append
        self._texts: dict[RunId, list[str]] = {}
        self._alerts: dict[RunId, list[str]] = {}
        self._blobs: dict[BlobHash, bytes] = {}
        self._leases: dict[str, Lease] = {}

    async def open(self, event: RunRequested) -> tuple[RunState, bool]:
        """Open a run, or return the one of this id that is there already (then with False)."""
        if event.run_id in self._texts:
            return self._state(event.run_id), False
        self._keep(event.run_id, event)
        return opened(event), True

    async def load(self, run_id: RunId) -> RunState:
        """Fold a run."""
        return self._state(run_id)

    async def events(self, run_id: RunId, after: int = 0) -> Sequence[tuple[int, Event]]:
        """Return the facts behind position `after`, with their positions, oldest first."""
        texts = self._texts.get(run_id, [])[after:]
        return [(seq, load(text)) for seq, text in enumerate(texts, after + 1)]

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
        del reached  # It is worked out here anyway.
        await asyncio.sleep(0)  # Others get their turn here, as they do in a real journal.
        current = self._state(state.run_id)
        if epoch is not None and epoch != current.epoch:
            msg = f"run {state.run_id} was taken by another worker (epoch {current.epoch}, this one has {epoch})"
            raise FencedError(msg)
        after = reduce(apply, (*first, event), current)
        self._blobs.update((blob_hash(data), data) for data in blobs)
        for one in (*first, event):
            self._keep(state.run_id, one)
        return after

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
        del reached  # It is worked out here anyway.
        state, held = self._state(run_id), self._leases.get(run_id)
        if state.finished:
            return Unavailable.FINISHED
        if held and held.until > now:
            return Unavailable.HELD
        if wants_workspace(state) and (found := rival(self._holds(), workspace_wanted(state), run_id)):
            if state.awaited is None or state.awaited.holder != found.run_id:
                self._keep(run_id, WorkspaceAwaited(at=now, holder=found.run_id, job=found.job))
            return Unavailable.WORKSPACE
        event = RunAcquired(at=now, epoch=state.epoch + 1, worker=worker, lease_broken=held is not None)
        written = [event, *then] if known and known.seq == state.seq and not held else [event]
        after = reduce(apply, written, state)
        for one in written:
            self._keep(run_id, one, Lease(worker, now + lease))
        return after

    async def renew(self, run_id: RunId, *, epoch: int, now: datetime, lease: timedelta) -> Renewal:
        """Extend the lease, if the epoch still holds it."""
        held = self._leases.get(run_id)
        if run_id not in self._texts:
            return Renewal(held=False, seq=0)
        state = self._state(run_id)
        if held is None or state.epoch != epoch:
            return Renewal(held=False, seq=state.seq)
        self._leases[run_id] = Lease(held.owner, now + lease)
        return Renewal(held=True, seq=state.seq)

    async def release(self, run_id: RunId, *, epoch: int) -> None:
        """Give the lease back; does nothing where the epoch does not hold it."""
        if run_id in self._texts and self._state(run_id).epoch == epoch:
            self._leases.pop(run_id, None)

    async def keep(self, data: bytes) -> BlobHash:
        """Keep a blob; twice is once."""
        key = blob_hash(data)
        self._blobs[key] = data
        return key

    async def blob(self, key: BlobHash) -> bytes:
        """Return a blob."""
        if key not in self._blobs:
            msg = f"the journal holds no blob {key}"
            raise JournalError(msg)
        return self._blobs[key]

    def _keep(self, run_id: RunId, event: Event, lease: Lease | None = None) -> None:
        if self.before_append:
            self.before_append(run_id, event)
        self._texts.setdefault(run_id, []).append(dump(event))
        if lease:
            self._leases[run_id] = lease
        if isinstance(event, RunFinished):
            self._leases.pop(run_id, None)
            self._tell_parent(run_id, event)
        if self.after_append:
            self.after_append(run_id, event)

    def _tell_parent(self, run_id: RunId, event: RunFinished) -> None:
        by = self._state(run_id).request.child_of
        told = told_parent(self._state(run_id), event)
        if by is None or told is None or by.run_id not in self._texts:
            return
        with suppress(IllegalEventError):
            apply(self._state(by.run_id), told)
            self._texts[by.run_id].append(dump(told))

    def _state(self, run_id: RunId) -> RunState:
        if run_id not in self._texts:
            msg = f"the journal holds no run {run_id}"
            raise UnknownRunError(msg)
        return _folded(tuple(self._texts[run_id]))

    def _states(self) -> Iterable[RunState]:
        return map(self._state, list(self._texts))

    def _holds(self) -> list[Hold]:
        return [
            Hold(run_id=state.run_id, job=JobName(state.job.name), workspace=workspace_held(state))
            for state in self._states()
            if workspace_held(state)
        ]

    def _free(self, key: str, now: datetime) -> bool:
        held = self._leases.get(key)
        return held is None or held.until <= now
