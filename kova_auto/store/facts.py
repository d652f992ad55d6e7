"""Read and write a run's facts inside a transaction that somebody else begins and ends.

A writer whose state is up to date costs one `UPDATE` of the run's row, which is fence, lock and view at once, and one
`INSERT` of the fact. Where that row has moved on, what others wrote is folded in first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache

from sqlalchemy import Connection, bindparam, func, insert, select, update

from kova_auto.core.children.reports import told_parent
from kova_auto.core.errors import IllegalEventError, JournalError, UnknownEventError, UnknownRunError
from kova_auto.core.event import Event, RunAcquired, WorkspaceAwaited, dump, load
from kova_auto.core.holding import Hold, rival, wants_workspace, workspace_wanted
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.ports import Unavailable
from kova_auto.core.run import RunState, apply, fold
from kova_auto.core.view import approval_rows, delivery_rows, run_columns, usage_columns
from kova_auto.store.drafts import Draft, Drafts, Facts
from kova_auto.store.prepared import Prepared
from kova_auto.store.rows import inserting, plain, save
from kova_auto.store.tables import APPROVAL, DELIVERY, EVENT, HOLDING, RUN, USAGE

_MOVE = Prepared(
    update(RUN).where(
        RUN.c.run_id == bindparam("was_run_id"),
        RUN.c.head_seq == bindparam("was_head_seq"),
        RUN.c.epoch == bindparam("was_epoch"),
    )
)
_WRITE = Prepared(insert(EVENT))
_USE = Prepared(insert(USAGE))
_EVENTS = Prepared(
    select(EVENT.c.seq, EVENT.c.body)
    .where(EVENT.c.run_id == bindparam("id"), EVENT.c.seq > bindparam("after"))
    .order_by(EVENT.c.seq)
)
_FIRST = Prepared(select(EVENT.c.body).where(EVENT.c.run_id == bindparam("id"), EVENT.c.seq == 1))
_LOCKED = Prepared(
    select(RUN.c.lease_owner, RUN.c.lease_until).where(RUN.c.run_id == bindparam("id")).with_for_update()
)  # SQLite has no such lock, and needs none: nobody else writes.
_HOLDS = Prepared(select(RUN.c.run_id, RUN.c.job, RUN.c.holds).where(HOLDING).order_by(RUN.c.run_id))
_TAKING = 0x6B6F7662  # "kovb": on PostgreSQL, runs that want a workspace are taken one after the other.
_NO_LEASE = {"lease_owner": None, "lease_until": None}


def events(connection: Connection, run_id: RunId, after: int = 0) -> list[tuple[int, Event]]:
    """Return the facts behind a position, oldest first.

    Raises:
        UnknownEventError: One of them is of a newer program, or none at all.
        JournalError: One is missing.
    """
    rows = _EVENTS.rows(connection, {"id": run_id, "after": after})
    return [(seq, _parse(run_id, seq, expected, body)) for expected, (seq, body) in enumerate(rows, after + 1)]


def _parse(run_id: RunId, seq: int, expected: int, body: str) -> Event:
    if seq != expected:
        msg = f"the journal of run {run_id} has a gap: fact {expected} is missing"
        raise JournalError(msg)
    try:
        return load(body)
    except UnknownEventError as exc:
        msg = f"run {run_id}, fact {seq}: {exc}"
        raise UnknownEventError(msg) from exc


def newer(connection: Connection, state: RunState, text: str) -> list[Event] | None:
    """Return the facts behind the one that opened a run, whose JSON this is; None where that is not what is there."""
    first = list(_FIRST.rows(connection, {"id": state.run_id}))
    if not first or first[0][0] != text:
        return None
    return [event for _, event in events(connection, state.run_id, state.seq)]


def state_of(connection: Connection, run_id: RunId) -> RunState:
    """Fold a run.

    Raises:
        UnknownRunError: There is none of this id.
    """
    facts = events(connection, run_id)
    if not facts:
        raise _unknown(run_id)
    return fold(event for _, event in facts)


def _unknown(run_id: RunId) -> UnknownRunError:
    return UnknownRunError(f"the journal holds no run {run_id}")


def append(connection: Connection, state: RunState, draft: Callable[[RunState], Draft], early: Draft | None) -> Draft:
    """Write facts; `draft` works out what they change, `early` did so for `state` (None: refused there)."""
    if early is not None and _write(connection, early):
        return early
    caught_up, *_ = _caught_up(connection, state)
    return _write_locked(connection, draft(caught_up))


def _write_locked(connection: Connection, draft: Draft, lease: Mapping[str, object] | None = None) -> Draft:
    if not _write(connection, draft, lease):
        msg = f"the journal of run {draft.before.run_id} and its row disagree; rebuild the views"
        raise JournalError(msg)
    return draft


def _write(connection: Connection, draft: Draft, lease: Mapping[str, object] | None = None) -> bool:
    """Write a draft; say False, with nothing written, where the run is no longer where the draft begins."""
    before, after = draft.before, draft.after
    move = {
        "was_run_id": before.run_id,
        "was_head_seq": before.seq,
        "was_epoch": before.epoch,
        "head_seq": after.seq,
        "epoch": after.epoch,
        **draft.columns,
        **(_NO_LEASE if after.finished and not before.finished else {}),
        **(lease or {}),
    }
    if _MOVE.change(connection, move) != 1:
        return False
    _write_events(connection, before.run_id, before.seq + 1, draft.facts)
    if after.calls is not before.calls:
        was = approval_rows(before)
        save(connection, APPROVAL, (row for row in approval_rows(after) if row not in was))
    if after.deliveries is not before.deliveries:
        had = delivery_rows(before)
        save(connection, DELIVERY, (row for row in delivery_rows(after) if row not in had))
    if after.spent is not before.spent:
        _USE.change_each(connection, usage_columns(after, len(before.spent)))
    return True


def _write_events(connection: Connection, run_id: RunId, first: int, written: Facts) -> None:
    rows = [
        {"run_id": run_id, "seq": seq, "kind": event.kind, "v": event.v, "at": event.at, "body": text}
        for seq, (event, text) in enumerate(written, first)
    ]
    _WRITE.change_each(connection, rows)


def _caught_up(connection: Connection, state: RunState) -> tuple[RunState, str | None, datetime | None]:
    """Lock the run's row, fold in what others wrote, and say whose the lease is and until when."""
    found = list(_LOCKED.rows(connection, {"id": state.run_id}))
    if not found:
        raise _unknown(state.run_id)
    for _, event in events(connection, state.run_id, state.seq):
        state = apply(state, event)
    owner, until = found[0]
    return state, owner, until


def tell_parent(connection: Connection, child: RunState, drafts: Drafts, guard: Callable[[str], str]) -> RunId | None:
    """Write into a parent's journal that its child has ended; None where there is no parent that would hear of it."""
    ended = told_parent(child, child.finished) if child.finished else None
    by = child.request.child_of
    if ended is None or by is None:
        return None
    try:
        parent, *_ = _caught_up(connection, state_of(connection, by.run_id))
        draft = drafts.draft(parent, ((ended, guard(dump(ended))),))
    except (IllegalEventError, UnknownRunError):
        return None  # It broke, or is gone: nobody waits for the report any more.
    _write_locked(connection, draft)
    return by.run_id


@cache
def _opening(dialect: str) -> Prepared:
    return Prepared(inserting(dialect, RUN).on_conflict_do_nothing().returning(RUN.c.run_id))


def open_run(connection: Connection, state: RunState, text: str) -> bool:
    """Write the fact that opens a run, of which there is nothing else; False where the run is there already."""
    row = {**plain(run_columns(state)), "head_seq": state.seq, "epoch": state.epoch}
    if not list(_opening(connection.dialect.name).rows(connection, row)):
        return False
    _write_events(connection, state.run_id, state.seq, ((state.request, text),))
    return True


@dataclass(frozen=True, slots=True)
class Wanted:
    """Hold who wants a run, for how long, and what is to be written with it where nobody else was there.

    Attributes:
        reached: What the run is then; None: not worked out yet.
    """

    worker: str
    now: datetime
    lease: timedelta
    then: Facts
    reached: RunState | None = None


def acquire(connection: Connection, state: RunState, drafts: Drafts, wanted: Wanted) -> Draft | Unavailable:
    """Take a run: a new epoch and its fact in one; or write that it waits for its workspace."""
    known, now = state, wanted.now
    state, owner, until = _caught_up(connection, state)
    if state.finished:
        return Unavailable.FINISHED
    if until is not None and until > now:
        return Unavailable.HELD
    if wants_workspace(state) and (found := rival(_holds_alone(connection), workspace_wanted(state), state.run_id)):
        if state.awaited is None or state.awaited.holder != found.run_id:
            waits = WorkspaceAwaited(at=now, holder=found.run_id, job=found.job)
            _write_locked(connection, drafts.draft(state, ((waits, dump(waits)),)))
        return Unavailable.WORKSPACE
    event = RunAcquired(at=now, epoch=state.epoch + 1, worker=wanted.worker, lease_broken=owner is not None)
    is_first = state is known and owner is None
    then, reached = (wanted.then, wanted.reached) if is_first else ((), None)
    held = {"lease_owner": wanted.worker, "lease_until": now + wanted.lease}
    return _write_locked(connection, drafts.draft(state, ((event, dump(event)), *then), reached=reached), held)


def holds(connection: Connection) -> list[Hold]:
    """Return the runs that have a workspace to themselves, by id."""
    found = _HOLDS.rows(connection, {})
    return [Hold(run_id=RunId(run_id), job=JobName(job), workspace=workspace) for run_id, job, workspace in found]


def _holds_alone(connection: Connection) -> list[Hold]:
    """Return the same, and let nobody else take a workspace until this transaction has ended."""
    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_TAKING)))
    return holds(connection)
