"""Say of calls that need a person which subagent makes them."""

from __future__ import annotations

from collections.abc import Sequence

from kova_auto.core.ids import DISPATCHED, RunId, root_of
from kova_auto.core.ports import Views
from kova_auto.core.run import RunState
from kova_auto.core.view import ApprovalRow, approval_rows


class Asked(ApprovalRow):
    """Show one call that needed a person, and whose it is.

    Attributes:
        parent: The run that dispatched the one that makes it; empty where nobody did.
        agent: The definition of that subagent; likewise.
    """

    parent: str = ""
    agent: str = ""


async def asked(rows: Sequence[ApprovalRow], views: Views) -> tuple[Asked, ...]:
    """Return calls with their subagents."""
    found = []
    for row in rows:
        run = await views.run(row.run_id) if root_of(row.run_id) != row.run_id else None
        found.append(_of(row, run.parent if run else "", run.agent if run else ""))
    return tuple(found)


async def told_beneath(run_id: RunId, views: Views) -> str:
    """Return which calls wait in the subagents of a run, as the end of a sentence; empty where none does."""
    rows = [row for row in await views.approvals() if row.run_id.startswith(f"{run_id}{DISPATCHED}")]
    calls = ", ".join(f"{row.run_id} {row.call_id}" for row in rows)
    return f"; what waits in its subagents: {calls}" if calls else ""


def asked_in(state: RunState) -> tuple[Asked, ...]:
    """Return the calls of one run that needed a person."""
    by = state.request.child_of
    return tuple(_of(row, by.run_id if by else "", by.agent if by else "") for row in approval_rows(state))


def _of(row: ApprovalRow, parent: str, agent: str) -> Asked:
    return Asked(**row.model_dump(), parent=parent, agent=agent)
