"""The facts that a parent's journal holds of its children, and those about what a family of runs has used."""

from __future__ import annotations

from typing import Literal

from kova_auto.core.fact import Fact
from kova_auto.core.ids import CallId, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.message import FileChange, Usage


class ChildFinished(Fact):
    """Say how a child ended; written in the transaction that ends it.

    Attributes:
        call_id: Of the parent, that dispatched it.
        run_id: Of the child.
        report: Its final text, bounded: the head and the tail of what is longer.
        reason: Why it ended, where the outcome alone does not say.
        partial: A limit cut its work short, or made it hurry.
        usage: Of the child and of its own children.
        ran_s: How long it ran, seconds.
        stretch_s: How much of that since it rested last.
        tainted_by: Untrusted text that it has read; empty where it has read none.
        changes: Of files, by it and its own children: each file once, as it was found and as it was left.
    """

    kind: Literal["child_finished"] = "child_finished"
    call_id: CallId
    run_id: RunId
    outcome: Outcome
    report: str
    reason: str = ""
    partial: bool = False
    iterations: int = 0
    usage: Usage = Usage()
    ran_s: float = 0.0
    stretch_s: float = 0.0
    tainted_by: str = ""
    changes: tuple[FileChange, ...] = ()


class ChildrenStopped(Fact):
    """Say that children were asked to end, because their parent ends.

    Attributes:
        call_ids: That dispatched them.
    """

    kind: Literal["children_stopped"] = "children_stopped"
    call_ids: tuple[CallId, ...]
    reason: str


class FamilyCounted(Fact):
    """Say what the other runs of a family have used so far, just before this one asks its model again.

    Attributes:
        tokens: That count against `limits.tokens`.
        cost_usd: As far as prices are known.
        members: Runs of the family that have not finished, this one included.
        reserved_tokens: That the others set aside, for the reply that is under way or for their next.
        reserved_usd: Likewise.
    """

    kind: Literal["family_counted"] = "family_counted"
    tokens: int
    cost_usd: float
    members: int
    reserved_tokens: int = 0
    reserved_usd: float = 0.0
