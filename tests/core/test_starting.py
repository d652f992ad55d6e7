"""Until when a run that a schedule has opened may begin, and what it does where that is over."""

from __future__ import annotations

import pytest

from kova_auto.core.event import Event, Origin, RunAcquired, RunRetried, WorkspaceAwaited
from kova_auto.core.ids import JobName, RunId
from kova_auto.core.job import Outcome
from kova_auto.core.run import apply
from kova_auto.core.starting import TOO_LATE, last_start
from kova_auto.core.step import next_step
from kova_auto.core.steps import AssembleContext, AwaitWorkspace, Finish, Step
from tests.core.facts import ended, run_of
from tests.support import a_job, at

JOB = a_job(policy={"start_deadline": "10m"})
MISSED = Finish(Outcome.CANCELLED, reason=f"{TOO_LATE} (policy.start_deadline = 10m)")
DUE = {"job": JOB, "at": at("07:00:00"), "nominal_at": at("07:00:00"), "due_at": at("07:00:00")}


def taken(clock: str, epoch: int = 1) -> RunAcquired:
    return RunAcquired(at=at(clock), epoch=epoch, worker="one")


def awaits() -> WorkspaceAwaited:
    return WorkspaceAwaited(at=at("07:00:01"), holder=RunId("other@1"), job=JobName("other"))


def again() -> RunRetried:
    return RunRetried(at=at("07:30:00"), attempt=2, by="ada")


@pytest.mark.parametrize(
    ("facts", "now", "step"),
    [
        pytest.param([], "07:10:00", AssembleContext(), id="in time"),
        pytest.param([], "07:10:01", MISSED, id="too late"),
        pytest.param([taken("07:10:00")], "07:20:00", AssembleContext(), id="taken in time"),
        pytest.param([taken("07:10:01")], "07:10:02", MISSED, id="taken too late"),
        pytest.param([taken("07:05:00"), taken("08:00:00", 2)], "08:00:01", AssembleContext(), id="taken again"),
        pytest.param([awaits()], "07:10:00", AwaitWorkspace(RunId("other@1")), id="waits for its workspace"),
        pytest.param([awaits()], "07:10:01", MISSED, id="has waited for its workspace too long"),
        pytest.param([ended(Outcome.CANCELLED), again()], "07:30:00", AssembleContext(), id="asked for again"),
    ],
)
def test_a_run_begins_by_its_start_deadline_or_never(facts: list[Event], now: str, step: Step) -> None:
    job = a_job(policy={"start_deadline": "10m"}, automation="workspace-write")
    state = run_of(**{**DUE, "job": job})
    for fact in facts:
        state = apply(state, fact)

    assert next_step(state, at(now)) == step


@pytest.mark.parametrize(
    ("changes", "last"),
    [
        ({}, "07:10:00"),
        ({"due_at": at("07:03:00")}, "07:13:00"),
        ({"at": at("07:09:00")}, "07:10:00"),
        ({"at": at("07:30:00")}, "07:40:00"),
        ({"job": a_job()}, None),
        ({"due_at": None}, None),
        ({"origin": Origin.REQUEST}, None),
    ],
)
def test_the_deadline_counts_from_when_it_was_due_or_was_caught_up_with(
    changes: dict[str, object], last: str | None
) -> None:
    assert last_start(run_of(**{**DUE, **changes}).request) == (at(last) if last else None)
