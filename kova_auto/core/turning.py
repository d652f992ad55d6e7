"""Find the tools that a job's earlier runs were allowed to use, and its next one would not be.

One call that still passes keeps its tool: a run may do without another, but not without any.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from kova_auto.core.approval.levels import Verdict
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Job
from kova_auto.core.policy import policy_of

_NAMED: Final = 3
_TURNED: Final = "{tool}, which run {run} was allowed to use, is not allowed any more ({how}): {reason}"
_WHAT_NOW: Final = (
    "The job says what it said then, so a server, a permission file or the settings have changed. Allow it again and "
    "say kova-auto jobs resume {job}, or take the change as it is by a run that you start: kova-auto run {job}"
)


@dataclass(frozen=True, slots=True)
class Turned:
    """Hold a call that passed in an earlier run and would be refused now.

    Attributes:
        tool: Its full name.
    """

    tool: str
    run_id: RunId
    then: Verdict
    now: Verdict


def say_the_same(one: Job, other: Job) -> bool:
    """Say whether two versions of a job grant the same: what differs then between their runs, others have changed."""
    return policy_of(one) == policy_of(other) and one.mcp == other.mcp


def said_turned(job: JobName, found: Iterable[Turned]) -> str:
    """Return why a run must not begin, and what a person does about it; empty where no tool has turned."""
    clauses = [_clause(one) for one in found]
    if not clauses:
        return ""
    more = [f"and {len(clauses) - _NAMED} more tools"] if len(clauses) > _NAMED else []
    return " ".join((*clauses[:_NAMED], *more, _WHAT_NOW.format(job=job)))


def for_a_person(verdict: Verdict) -> str:
    """Return why a call is not allowed, without what a model may do instead: the first sentence of the reason."""
    first, _, rest = verdict.reason.partition(". ")
    return f"{first}." if rest else first


def _clause(one: Turned) -> str:
    then, now = one.then, one.now
    how = f"then {then.ruling} by {then.rule}, now {now.ruling} by {now.rule}"
    return _TURNED.format(tool=one.tool, run=one.run_id, how=how, reason=for_a_person(now))
